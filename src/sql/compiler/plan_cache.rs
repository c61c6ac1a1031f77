//! Statements that were planned before, by their text: clients send the same ones again and again,
//! on one connection or on many.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::prepared::{Planned, Prepared};
use crate::planner::PlanningSettings;
use rowkey_postgres::syntax::Request;
use rowkey_postgres::types::PostgresType;
use rowkey_storage::{Catalog, Snapshot};

/// What the cache holds at most, in bytes.
const BYTES_MAX: u64 = 32 << 20;
/// Longer texts are not sent twice.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// What a statement takes with its plan, mostly.
const STATEMENT_BYTES: u64 = 16 << 10;

/// Statements with their plans: of the newest catalog, or of an older one, in which what they read
/// may still be as it is now. They keep no files from being removed.
#[derive(Debug)]
pub(crate) struct PlanCache {
    plans: Cache<Key, Kept, PlanWeight>,
    newest: Mutex<Newest>,
}

/// Everything that a plan depends on, beside the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    text: Box<str>,
    /// Oids of the declared types of parameters.
    types: Box<[Option<u32>]>,
    planning: PlanningSettings,
}

#[derive(Debug, Default)]
struct Newest {
    catalog: Weak<Catalog>,
    sequence: u64,
}

/// A statement, and how many bytes it takes.
#[derive(Debug, Clone)]
struct Kept {
    prepared: Arc<Prepared>,
    bytes: u64,
}

#[derive(Debug, Clone)]
struct PlanWeight;

impl Weighter<Key, Kept> for PlanWeight {
    fn weight(&self, _: &Key, kept: &Kept) -> u64 {
        kept.bytes
    }
}

impl PlanCache {
    pub(crate) fn new() -> Self {
        let plans = Cache::with_weighter((BYTES_MAX / STATEMENT_BYTES) as usize, BYTES_MAX, PlanWeight);
        Self { plans, newest: Mutex::default() }
    }

    /// What a text, with these types declared, was planned as.
    pub(crate) fn get(
        &self,
        text: &str,
        types: &[Option<&'static PostgresType>],
        snapshot: &Snapshot,
        planning: &PlanningSettings,
    ) -> Option<Arc<Prepared>> {
        if text.len() > TEXT_BYTES_MAX || !self.is_of_newest(snapshot) {
            return None;
        }
        let Kept { prepared, .. } = self.plans.get(&key(text, types, planning))?;
        // It may have been kept for the previous catalog, while that was replaced.
        let plan = prepared.plan.as_ref()?;
        plan.fits(snapshot, planning).then_some(prepared)
    }

    /// Keeps what the only statement of a text was planned as.
    pub(crate) fn keep(&self, text: &str, types: &[Option<&'static PostgresType>], prepared: &Arc<Prepared>) {
        let Some(plan) = &prepared.plan else { return };
        let is_query = matches!(prepared.statement.request, Request::Query(_));
        let is_short = text.len() <= TEXT_BYTES_MAX;
        if is_query && plan.lasts && is_short && self.has_newest(plan) && !names_moment(text) {
            let kept = Kept { prepared: Arc::clone(prepared), bytes: prepared.bytes() as u64 };
            self.plans.insert(key(text, types, &plan.planning), kept);
        }
    }

    /// Whether a plan was made for the newest catalog that was seen.
    fn has_newest(&self, plan: &Planned) -> bool {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.catalog.ptr_eq(&plan.catalog)
    }

    /// False for a snapshot from before the newest catalog.
    fn is_of_newest(&self, snapshot: &Snapshot) -> bool {
        if snapshot.is_private() {
            return false;
        }
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.catalog.as_ptr() == Arc::as_ptr(&snapshot.catalog) {
            return true;
        }
        // Any catalog is newer than none.
        if newest.catalog.as_ptr() != Weak::<Catalog>::new().as_ptr() && snapshot.sequence <= newest.sequence {
            return false;
        }
        *newest = Newest { catalog: Arc::downgrade(&snapshot.catalog), sequence: snapshot.sequence };
        true
    }
}

fn key(text: &str, types: &[Option<&'static PostgresType>], planning: &PlanningSettings) -> Key {
    let types = types.iter().map(|ty| ty.map(|ty| ty.oid)).collect();
    Key { text: text.into(), types, planning: planning.clone() }
}

/// Whether a literal may be read as the time of the statement: `'now()'`, `'today 10:00'`. Casts of
/// constants are computed while a statement is planned.
fn names_moment(text: &str) -> bool {
    let is_word =
        |word: &str| ["now", "today", "tomorrow", "yesterday"].iter().any(|moment| word.eq_ignore_ascii_case(moment));
    let mut quoted = text.split('\'').skip(1).step_by(2);
    quoted.any(|literal| literal.split(|char: char| !char.is_alphanumeric()).any(is_word))
}
