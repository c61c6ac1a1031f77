//! `string_agg` of many groups: DataFusion's texts grow as long as memory lasts.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use super::super::error::{SqlState, fail};
use super::super::value_budget::too_long;
use super::taken;

/// How often texts are in memory beside themselves where they are handed on, all in one batch. An
/// operator that gathers rows may take more memory than the one above that has to take the batch,
/// which is one of those that spill and have a share each.
const ROW_COPIES: usize = 8;
const STATE_COPIES: usize = 1;

/// The text of each group is shorter than a value may be.
pub(in super::super) struct LimitedGroups {
    inner: Box<dyn GroupsAccumulator>,
    bytes_max: usize,
    delimiter_bytes: usize,
    /// How long the text of each group is.
    bytes: Vec<usize>,
    /// Of all groups.
    total_bytes: usize,
    copies: usize,
}

impl LimitedGroups {
    pub(in super::super) fn new(inner: Box<dyn GroupsAccumulator>, bytes_max: usize, delimiter_bytes: usize) -> Self {
        Self { inner, bytes_max, delimiter_bytes, bytes: Vec::new(), total_bytes: 0, copies: STATE_COPIES }
    }

    fn reserve(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        rows: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.bytes.resize(total_num_groups.max(self.bytes.len()), 0);
        let Some(texts) = values.first() else { return Ok(()) };
        let taken = taken(rows, Some(texts));
        let length = lengths_of(texts);
        for (row, group) in group_indices.iter().enumerate() {
            if taken.as_ref().is_some_and(|taken| !taken.value(row)) {
                continue;
            }
            let added = length(row).saturating_add(self.delimiter_bytes);
            let bytes = &mut self.bytes[*group];
            *bytes = bytes.saturating_add(added);
            self.total_bytes = self.total_bytes.saturating_add(added);
            if *bytes >= self.bytes_max {
                return fail(SqlState::PROGRAM_LIMIT_EXCEEDED, too_long(*bytes, self.bytes_max));
            }
        }
        Ok(())
    }

    fn emitted(&mut self, emit_to: EmitTo) {
        let emitted: usize = emit_to.take_needed(&mut self.bytes).into_iter().sum();
        self.total_bytes = self.total_bytes.saturating_sub(emitted);
    }
}

/// How many bytes the text of a row has.
fn lengths_of(texts: &ArrayRef) -> Box<dyn Fn(usize) -> usize + '_> {
    match texts.data_type() {
        DataType::Utf8View => {
            let views = texts.as_string_view().views();
            Box::new(|row| views[row] as u32 as usize)
        }
        DataType::Utf8 => {
            let texts = texts.as_string::<i32>();
            Box::new(|row| texts.value_length(row) as usize)
        }
        DataType::LargeUtf8 => {
            let texts = texts.as_string::<i64>();
            Box::new(|row| texts.value_length(row) as usize)
        }
        _ => Box::new(|_| 0),
    }
}

impl GroupsAccumulator for LimitedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        rows: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.copies = ROW_COPIES;
        self.reserve(values, group_indices, rows, total_num_groups)?;
        self.inner.update_batch(values, group_indices, rows, total_num_groups)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.reserve(values, group_indices, None, total_num_groups)?;
        self.inner.merge_batch(values, group_indices, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.emitted(emit_to);
        self.inner.evaluate(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.emitted(emit_to);
        self.inner.state(emit_to)
    }

    fn convert_to_state(&self, values: &[ArrayRef], rows: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(values, rows)
    }

    fn size(&self) -> usize {
        let copies_bytes = self.total_bytes.saturating_mul(self.copies);
        self.inner.size().saturating_add(copies_bytes) + self.bytes.capacity() * size_of::<usize>()
    }
}
