//! Which pages of keys some bytes of a file belong to.

use std::ops::Range;

use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::offset_index::PageLocation;

use super::open::{Block, OpenRun};

impl OpenRun {
    /// Calls `found` with the places, among [`OpenRun::blocks`], of the blocks whose rows have
    /// values in some bytes of the file, none for bytes of dictionaries and of the footer; and with
    /// whether the pages of that column are as short as those of keys, or hold rows of several.
    pub fn blocks_in_bytes(&self, bytes: &Range<u64>, mut found: impl FnMut(Range<usize>, bool)) {
        let metadata = self.metadata();
        let Some(offsets) = metadata.offset_index() else { return };
        let groups = metadata.row_groups();
        // Row groups, and columns in them, lie one behind the other.
        let begins = |columns: &[ColumnChunkMetaData]| columns.first().map_or(0, |column| column.byte_range().0);
        let behind = groups.partition_point(|group| begins(group.columns()) <= bytes.start);
        for (group, columns) in groups.iter().map(|group| group.columns()).enumerate().skip(behind.saturating_sub(1)) {
            if begins(columns) >= bytes.end {
                break;
            }
            let from = self.blocks().partition_point(|block| block.row_group < group);
            let blocks = &self.blocks()[from..];
            let blocks = &blocks[..blocks.partition_point(|block| block.row_group == group)];
            let first = columns.partition_point(|column| end(column.byte_range()) <= bytes.start);
            for (column, chunk) in columns.iter().enumerate().skip(first) {
                if chunk.byte_range().0 >= bytes.end {
                    break;
                }
                let Some(pages) = offsets.get(group).and_then(|columns| columns.get(column)) else { continue };
                let pages = pages.page_locations();
                let within = blocks_of_pages(blocks, pages, bytes);
                found(from + within.start..from + within.end, pages.len() >= blocks.len());
            }
        }
    }
}

/// The blocks of a row group with rows that a column has in some bytes.
fn blocks_of_pages(blocks: &[Block], pages: &[PageLocation], bytes: &Range<u64>) -> Range<usize> {
    let begin = |page: &PageLocation| page.offset.max(0) as u64;
    let first = pages.partition_point(|page| begin(page) + page.compressed_page_size.max(0) as u64 <= bytes.start);
    let behind = pages.partition_point(|page| begin(page) < bytes.end);
    let group_rows_start = blocks.first().map_or(0, |block| block.rows.start);
    let row = |at: usize| pages.get(at).map(|page| group_rows_start + page.first_row_index.max(0) as u64);
    match row(first) {
        Some(start) if first < behind => {
            let from = blocks.partition_point(|block| block.rows.end <= start);
            let to = row(behind).map_or(blocks.len(), |end| blocks.partition_point(|block| block.rows.start < end));
            from..to
        }
        _ => 0..0,
    }
}

fn end((start, length): (u64, u64)) -> u64 {
    start + length
}
