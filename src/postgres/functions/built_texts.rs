//! The texts that a function makes of a batch.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};
use arrow::buffer::Buffer;
use datafusion::common::Result;

use super::error::{SqlState, fail};
use super::scalar::Call;
use super::value_budget::Reserved;

/// Texts from this size on are taken over as they are.
pub(super) const SHARED_BYTES_MIN: usize = 64 << 10;

pub(super) fn too_long<T>() -> Result<T> {
    fail(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// Texts of a batch, as many as the budget allows.
pub(super) struct Texts {
    pub built: StringViewBuilder,
    reserved: Reserved,
}

impl Texts {
    pub(super) fn of(call: &Call) -> Self {
        Self { built: StringViewBuilder::with_capacity(call.rows), reserved: call.reserve() }
    }

    /// To be asked before a text is made.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.reserved.value(bytes)
    }

    /// Appends a text that has `most` bytes at most. It is counted before it is made where there
    /// may be no room for it; elsewhere it has the bytes that it was made with.
    pub(super) fn append_counted(
        &mut self,
        most: usize,
        count: impl FnOnce() -> Result<usize>,
        make: impl FnOnce() -> Result<String>,
    ) -> Result<()> {
        if !self.reserved.has(most) {
            self.reserve(count()?)?;
            return self.append(make()?);
        }
        let text = make()?;
        self.reserve(text.len())?;
        self.append(text)
    }

    pub(super) fn append(&mut self, text: String) -> Result<()> {
        if text.len() < SHARED_BYTES_MIN {
            self.built.append_value(text);
            return Ok(());
        }
        // Long ones are not copied, nor is room kept that they do not need.
        let text = text.into_boxed_str();
        let length = u32::try_from(text.len()).or_else(|_| too_long())?;
        let block = self.built.append_block(Buffer::from(text.into_string().into_bytes()));
        Ok(self.built.try_append_view(block, 0, length)?)
    }

    pub(super) fn finish(mut self) -> ArrayRef {
        Arc::new(self.built.finish())
    }
}
