//! The context in which a source is read.

use super::assumed::{TypeSamples, Typing};
use super::notes::Notes;
use super::options::DecodeOptions;
use super::place::Place;
use super::progress::Progress;
use super::property_types::NumberedTypes;
use rowkey_model::rows::{PropertyNames, Rows};
use std::sync::Arc;

/// What the readers of all formats use: names, options, progress, notes, types.
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
    /// Notes where the row appended last came from.
    pub(super) fn set_origin(&self, rows: &mut Rows, place: Place) {
        rows.set_last_origin(place.to_origin(self.options.source));
    }

    /// Notes what the values of a chunk look like; `samples` are of the thread's chunks before.
    pub(super) fn look_at(&self, rows: &Rows, typing: Typing, samples: &mut TypeSamples) {
        samples.look_at(rows, typing, |id| self.types.get(id).is_some());
        self.notes.add_samples(samples);
    }
}
