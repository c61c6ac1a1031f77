//! What rows show, in bytes. Views may show one buffer many times: memory pools count the buffer,
//! and what copies the rows (a spill, a group, a result) pays for all that they show.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::DataType;
use datafusion::common::Result;

use crate::functions::{shown_bytes, slice_bytes};

/// What an item takes that has no width of its own, without its text.
const VIEW_BYTES: usize = 16;
/// A list of so many buffers costs little, however few the rows are.
const SHORT_LIST: usize = 64;
/// How many times as large buffers may be as what a batch shows of them, beside so many bytes.
const SHARE_MAX: usize = 4;
const SHORT_BUFFER_BYTES: usize = 8 << 10;

/// What all columns show, in bytes; 0 for those without views.
pub(super) fn shown_bytes_of(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(shown_bytes).sum()
}

/// What rows take by themselves, in bytes, whatever buffers they share with others.
pub fn row_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(slice_bytes).fold(0, usize::saturating_add)
}

/// How many of the first rows show at most so many bytes: one at least.
pub(super) fn rows_within(batch: &RecordBatch, bytes_max: usize) -> usize {
    let (mut rows, mut bytes) = (batch.num_rows(), shown_bytes_of(batch));
    while rows > 1 && bytes > bytes_max {
        // As if they were alike; a few steps if they are not.
        let share = (rows as u128 * bytes_max as u128 / bytes as u128) as usize;
        rows = share.clamp(1, rows - 1);
        bytes = shown_bytes_of(&batch.slice(0, rows));
    }
    rows
}

/// Whether values are copied wherever they are repeated, and may be long: views are not.
pub(super) fn is_copied(data_type: &DataType) -> bool {
    data_type.is_nested() || matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary)
}

/// How many of the first rows show at most so many bytes once these lists are unnested, one at
/// least, and these bytes.
pub(super) fn unnested_within(batch: &RecordBatch, lists: &[usize], bytes_max: usize) -> (usize, usize) {
    let unnested: Vec<&ListArray> =
        lists.iter().filter_map(|at| batch.columns().get(*at)?.as_list_opt::<i32>()).collect();
    let others = batch.columns().iter().enumerate().filter(|(at, _)| !lists.contains(at));
    let copied: Vec<&ArrayRef> =
        others.map(|(_, column)| column).filter(|column| is_copied(column.data_type())).collect();
    if copied.is_empty() {
        return (batch.num_rows(), 0);
    }
    let length = |list: &&ListArray, row: usize| if list.is_null(row) { 0 } else { list.value_length(row) as usize };
    let mut bytes = 0_usize;
    for row in 0..batch.num_rows() {
        let items = unnested.iter().map(|list| length(list, row)).max().unwrap_or(0);
        let each: usize = copied.iter().map(|column| copied_bytes(&column.slice(row, 1))).sum();
        let with_row = bytes.saturating_add(items.saturating_mul(each));
        if row > 0 && with_row > bytes_max {
            return (row, bytes);
        }
        bytes = with_row;
    }
    (batch.num_rows(), bytes)
}

/// What a copy takes, with the items of lists.
fn copied_bytes(array: &ArrayRef) -> usize {
    let items = array.as_list_opt::<i32>().map_or(0, |list| {
        let (from, to) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
        (to - from) as usize * list.value_type().primitive_width().unwrap_or(VIEW_BYTES)
    });
    items + shown_bytes(array)
}

/// The same rows in buffers of their own.
pub(super) fn compacted(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(compact).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// The same rows; columns of more buffers than rows, some of which no row shows, have buffers of
/// their own. Joins concatenate the lists of buffers of what they build, and each of their batches
/// has the whole list: with every join above another it would be as many times as long as there
/// are batches.
pub(super) fn with_few_buffers(batch: RecordBatch) -> Result<RecordBatch> {
    let most = batch.num_rows().max(SHORT_LIST);
    with_compact_columns(batch, |column| buffers(column) > most)
}

/// The same rows; what their views show of much larger buffers is copied. Each batch of a merge has
/// the buffers of all that is merged.
pub(super) fn with_own_buffers(batch: RecordBatch) -> Result<RecordBatch> {
    with_compact_columns(batch, |column| {
        let most = || shown_bytes(column).saturating_mul(SHARE_MAX).saturating_add(SHORT_BUFFER_BYTES);
        buffers(column) > 0 && column.get_array_memory_size() > most()
    })
}

fn with_compact_columns(batch: RecordBatch, is_wide: impl Fn(&ArrayRef) -> bool) -> Result<RecordBatch> {
    if !batch.columns().iter().any(&is_wide) {
        return Ok(batch);
    }
    let columns = batch.columns().iter().map(|column| match is_wide(column) {
        true => compact(column),
        false => Ok(Arc::clone(column)),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns.collect::<Result<Vec<_>>>()?, &options)?)
}

/// How many buffers a column of views has.
fn buffers(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8View => array.as_string_view().data_buffers().len(),
        DataType::BinaryView => array.as_binary_view().data_buffers().len(),
        DataType::List(_) => buffers(array.as_list::<i32>().values()),
        _ => 0,
    }
}

fn compact(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        DataType::List(item) => {
            let lists = array.as_list::<i32>();
            let from = lists.value_offsets()[0];
            let shown = (lists.value_offsets()[lists.len()] - from) as usize;
            let values = compact(&lists.values().slice(from as usize, shown))?;
            let offsets = arrow::buffer::OffsetBuffer::from_lengths(lists.offsets().lengths());
            Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, lists.nulls().cloned())?)
        }
        _ => Arc::clone(array),
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, ListBuilder, StringViewArray, StringViewBuilder};
    use arrow::datatypes::{Field, Schema};

    use super::*;

    fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
        let fields: Vec<_> = columns.iter().map(|column| Field::new("c", column.data_type().clone(), true)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("a batch")
    }

    /// One text of 1,000 bytes, shown so often.
    fn repeated(times: usize) -> ArrayRef {
        let one = StringViewArray::from_iter_values(["x".repeat(1000)]);
        let views = vec![one.views()[0]; times];
        Arc::new(StringViewArray::try_new(views.into(), one.data_buffers().to_vec(), None).expect("views"))
    }

    #[test]
    fn rows_are_counted_by_what_they_show() {
        let rows = batch(vec![repeated(100), Arc::new(Int32Array::from_iter_values(0..100))]);
        assert_eq!(shown_bytes_of(&rows), 100_000);
        assert_eq!(rows_within(&rows, 100_000), 100);
        assert_eq!(rows_within(&rows, 10_000), 10);
        assert_eq!(rows_within(&rows, 1), 1);
    }

    #[test]
    fn one_long_row_among_short_ones() {
        let texts = (0..100).map(|row| "x".repeat(if row == 1 { 100_000 } else { 100 }));
        let rows = batch(vec![Arc::new(StringViewArray::from_iter_values(texts))]);
        assert_eq!(rows_within(&rows, 5_000), 1);
        assert_eq!(rows_within(&rows.slice(1, 99), 5_000), 1);
        assert_eq!(rows_within(&rows.slice(2, 98), 5_000), 50);
    }

    #[test]
    fn lists_of_buffers_do_not_grow_longer_than_their_rows() {
        let few = repeated(80);
        let views = few.as_string_view().views().clone();
        let many = vec![few.as_string_view().data_buffers()[0].clone(); 81];
        let many: ArrayRef = Arc::new(StringViewArray::try_new(views, many, None).expect("views"));
        let rows = batch(vec![many, few]);
        let mended = with_few_buffers(rows.clone()).expect("rows");
        assert_eq!(mended, rows);
        assert_eq!(mended.columns().iter().map(buffers).collect::<Vec<_>>(), [1, 1]);
        assert!(Arc::ptr_eq(mended.column(1), rows.column(1)));
    }

    #[test]
    fn rows_are_counted_by_what_they_become_unnested() {
        let mut lists = ListBuilder::new(arrow::array::Int32Builder::new());
        for items in [2, 3, 0, 4] {
            lists.append_value((0..items).map(Some));
        }
        let lists: ArrayRef = Arc::new(lists.finish());
        let rows = batch(vec![Arc::clone(&lists), Arc::clone(&lists), repeated(4)]);
        // The first list is unnested: items by items of four bytes.
        assert_eq!(unnested_within(&rows, &[0], 1000), (4, 4 * (2 * 2 + 3 * 3 + 4 * 4)));
        assert_eq!(unnested_within(&rows, &[0], 60), (3, 4 * (2 * 2 + 3 * 3)));
        assert_eq!(unnested_within(&rows, &[0], 1), (1, 16));
        assert_eq!(unnested_within(&rows, &[0, 1], 1), (4, 0));
    }

    #[test]
    fn compacted_rows_are_the_same_in_buffers_of_their_own() {
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        for list in
            [Some(vec![Some("a text of more than twelve bytes"), None]), None, Some(vec![]), Some(vec![Some("b")])]
        {
            lists.append_option(list);
        }
        let rows = batch(vec![repeated(4), Arc::new(lists.finish())]);
        for (from, length) in [(0, 4), (1, 3), (3, 1), (2, 0)] {
            let piece = rows.slice(from, length);
            let compacted = compacted(&piece).expect("compacted");
            assert_eq!(compacted, piece);
            let texts = compacted.column(0).as_string_view();
            assert_eq!(texts.total_buffer_bytes_used(), length * 1000);
            assert_eq!(texts.data_buffers().iter().map(|buffer| buffer.len()).sum::<usize>(), length * 1000);
        }
    }
}
