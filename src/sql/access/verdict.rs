//! Three-valued logic over sets of keys.

use super::key_region::{Bounded, KeyRegion};

/// The keys for which something may hold: no other key does, and when `exact`, all of them do,
/// whatever the rest of the entity is.
#[derive(Debug, Clone)]
pub(crate) struct Superset {
    pub region: KeyRegion,
    pub exact: bool,
}

/// For which keys an expression is TRUE and for which FALSE; for the rest it is UNKNOWN.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub truth: Superset,
    pub falsehood: Superset,
    /// Whether the expression reads nothing but the key columns.
    pub keys_only: bool,
}

impl Superset {
    pub(crate) fn exact(region: KeyRegion) -> Self {
        Self { region, exact: true }
    }

    /// An empty superset is exact: there is nothing that it could have too much.
    pub(crate) fn inexact(region: KeyRegion) -> Self {
        Self { exact: region.is_empty(), region }
    }

    pub(crate) fn all() -> Self {
        Self::exact(KeyRegion::all())
    }

    pub(crate) fn none() -> Self {
        Self::exact(KeyRegion::empty())
    }

    /// Nothing is known.
    pub(crate) fn any() -> Self {
        Self::inexact(KeyRegion::all())
    }

    pub(super) fn new(outcome: Bounded, exact: bool) -> Self {
        match outcome {
            Bounded::Exact(region) if exact => Self::exact(region),
            Bounded::Exact(region) | Bounded::Superset(region) => Self::inexact(region),
        }
    }

    fn is_exactly_all(&self) -> bool {
        self.exact && self.region.is_all()
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self::new(self.region.intersect(&other.region), self.exact && other.exact)
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        let exact = self.exact && other.exact || self.is_exactly_all() || other.is_exactly_all();
        Self::new(self.region.union(&other.region), exact)
    }

    /// What is outside a superset certainly does not hold; of what is inside, nothing is known
    /// unless it is exact.
    pub(crate) fn not(&self) -> Self {
        if self.exact { Self::new(self.region.complement(), true) } else { Self::any() }
    }

    pub(crate) fn intersection(sets: impl IntoIterator<Item = Self>) -> Self {
        reduce(sets, Self::and).unwrap_or_else(Self::all)
    }

    pub(crate) fn union(sets: impl IntoIterator<Item = Self>) -> Self {
        reduce(sets, Self::or).unwrap_or_else(Self::none)
    }
}

/// Combines neighbours until one is left, so that n operands cost n log n instead of n squared.
fn reduce(sets: impl IntoIterator<Item = Superset>, with: fn(&Superset, &Superset) -> Superset) -> Option<Superset> {
    let mut sets: Vec<Superset> = sets.into_iter().collect();
    while sets.len() > 1 {
        let pair = |pair: &[Superset]| match pair {
            [a, b] => Some(with(a, b)),
            [only] => Some(only.clone()),
            _ => None,
        };
        sets = sets.chunks(2).filter_map(pair).collect();
    }
    sets.pop()
}

impl Verdict {
    pub(crate) fn constant(value: Option<bool>) -> Self {
        let (truth, falsehood) = match value {
            Some(true) => (Superset::all(), Superset::none()),
            Some(false) => (Superset::none(), Superset::all()),
            None => (Superset::none(), Superset::none()),
        };
        Self { truth, falsehood, keys_only: true }
    }

    /// An expression that the keys do not decide.
    pub(crate) fn residual() -> Self {
        Self { truth: Superset::any(), falsehood: Superset::any(), keys_only: false }
    }

    pub(crate) fn not(self) -> Self {
        Self { truth: self.falsehood, falsehood: self.truth, keys_only: self.keys_only }
    }

    /// AND: true where all are, false where any is.
    pub(crate) fn all_of(parts: Vec<Self>) -> Self {
        let keys_only = parts.iter().all(|part| part.keys_only);
        let (truths, falsehoods) =
            parts.into_iter().map(|part| (part.truth, part.falsehood)).unzip::<_, _, Vec<_>, Vec<_>>();
        Self { truth: Superset::intersection(truths), falsehood: Superset::union(falsehoods), keys_only }
    }

    /// OR: true where any is, false where all are.
    pub(crate) fn any_of(parts: Vec<Self>) -> Self {
        Self::all_of(parts.into_iter().map(Self::not).collect()).not()
    }

    /// IS TRUE: never UNKNOWN itself.
    pub(crate) fn is_true(&self) -> Self {
        Self { truth: self.truth.clone(), falsehood: self.truth.not(), keys_only: self.keys_only }
    }

    /// IS UNKNOWN: neither TRUE nor FALSE.
    pub(crate) fn is_unknown(&self) -> Self {
        let known = self.truth.or(&self.falsehood);
        Self { truth: known.not(), falsehood: known, keys_only: self.keys_only }
    }
}
