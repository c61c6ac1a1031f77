//! What is noticed while a source is read, beside its entities.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::assumed::TypeSamples;

/// Most warnings of a source that are reported one by one.
pub const WARNINGS_LISTED_MAX: usize = 20;

/// Something about an input that its user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub input: Arc<str>,
    pub kind: WarningKind,
    pub reason: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningKind {
    /// Entities are probably missing.
    Truncated,
    /// Something was taken in a way that may not be what was meant.
    Lenient,
    /// Something was asked for that no input has.
    Unused,
    /// Entities were lost to different ones of their keys.
    Conflicting,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.input, self.reason)
    }
}

/// First and last lines of backups that have such.
#[derive(Debug, Default)]
struct Ends {
    begun: u64,
    ended: u64,
    /// Some entity is of a backup, be its first line there or not.
    awaited: bool,
}

/// Gathers them from the threads that read one source.
#[derive(Debug)]
pub(super) struct Notes {
    input: Arc<str>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    warnings: Vec<Warning>,
    /// Entities that the input says it holds, rejected ones counted.
    declared_entities: Option<u64>,
    ends: Ends,
    samples: TypeSamples,
}

impl Notes {
    pub(super) fn new(input: Arc<str>) -> Self {
        Self { input, inner: Mutex::default() }
    }

    /// Notes a warning, once, and not more than [`WARNINGS_LISTED_MAX`].
    pub(super) fn warn(&self, kind: WarningKind, reason: impl Into<String>) {
        let warning = Warning { input: Arc::clone(&self.input), kind, reason: reason.into() };
        let mut inner = self.lock();
        if inner.warnings.len() < WARNINGS_LISTED_MAX && !inner.warnings.contains(&warning) {
            inner.warnings.push(warning);
        }
    }

    /// Notes how many entities the input says it holds.
    pub(super) fn declare_entities(&self, entities: u64) {
        let declared = &mut self.lock().declared_entities;
        // Backups one behind the other hold the sum.
        *declared = Some(declared.unwrap_or(0).saturating_add(entities));
    }

    /// Notes the first line of a backup, which promises a last one.
    pub(super) fn begin_backup(&self) {
        self.lock().ends.begun += 1;
    }

    /// Notes the last line of a backup.
    pub(super) fn end_backup(&self) {
        self.lock().ends.ended += 1;
    }

    /// Notes an entity that a last line has to follow.
    pub(super) fn await_end(&self) {
        self.lock().ends.awaited = true;
    }

    pub(super) fn add_samples(&self, samples: &TypeSamples) {
        self.lock().samples.add(samples);
    }

    /// Ends the source, of which so many entities were found.
    pub(super) fn finish(self, found: u64) -> (Vec<Warning>, TypeSamples) {
        let (declared, is_cut) = {
            let inner = self.lock();
            let Ends { begun, ended, awaited } = inner.ends;
            (inner.declared_entities, ended < begun.max(u64::from(awaited)))
        };
        if is_cut {
            let reason = "the last line is missing, which says how many entities there are: the backup is incomplete";
            self.warn(WarningKind::Truncated, reason);
        } else if let Some(declared) = declared.filter(|declared| *declared != found) {
            let reason = format!("the last line says that there are {declared} entities, {found} were found");
            self.warn(WarningKind::Truncated, reason);
        }
        let inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        (inner.warnings, inner.samples.untyped())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
