//! What everything that reads one source is given.

use super::assumed::{TypeSamples, Typing};
use super::decode::{DecodeOptions, Progress};
use super::notes::Notes;
use super::property_types::NumberedTypes;
use crate::rows::{PropertyNames, Rows};
use std::sync::Arc;

/// One source's reading.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) names: &'a Arc<PropertyNames>,
    pub(super) options: &'a DecodeOptions,
    pub(super) progress: &'a Progress,
    pub(super) notes: &'a Notes,
    /// Types that overrule what the source says.
    pub(super) types: NumberedTypes,
}

impl Reading<'_> {
    /// Notes what the values of a chunk look like, using the memory of `samples`.
    pub(super) fn look_at(&self, rows: &Rows, typing: Typing, samples: &mut TypeSamples) {
        samples.clear();
        samples.look_at(rows, typing, |id| self.types.get(id).is_some());
        self.notes.add_samples(samples);
    }
}
