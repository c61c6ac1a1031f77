//! How the rows of a run file are cut into row groups.
//!
//! The Parquet writer buffers a row group until it is flushed.

/// Most rows of a row group.
pub(super) const ROW_GROUP_ROWS_MAX: usize = 64 * 1024;
/// Encoded bytes of a row group, about.
const ROW_GROUP_BYTES: u64 = 32 << 20;
/// A partition of this many rows begins a row group of its own.
const LARGE_PARTITION_ROWS: usize = 16 * 1024;
/// Rows of whatever is cut by bytes, at least.
const ROWS_MIN: u64 = 16;

/// How many rows so wide have about so many bytes: a power of two, so that pages of all columns end
/// together.
pub(super) fn rows_of_bytes(row_bytes: u64, bytes: u64, rows_max: usize) -> usize {
    let rows = (bytes / row_bytes.max(1)).clamp(ROWS_MIN, rows_max as u64);
    1 << rows.ilog2()
}

/// Row counts at which a row group ends, from the rows of each partition and the bytes of a row.
/// Row groups are cut at partition boundaries where partitions are large, so that reading one of
/// them touches no other.
pub(super) fn row_group_ends(partition_rows: &[usize], row_bytes: u64) -> Vec<usize> {
    let rows_max = rows_of_bytes(row_bytes, ROW_GROUP_BYTES, ROW_GROUP_ROWS_MAX);
    let large = LARGE_PARTITION_ROWS.min(rows_max);
    let mut ends = Vec::new();
    let (mut end, mut open) = (0, 0);
    for &rows in partition_rows {
        if open > 0 && (rows >= large || open + rows > rows_max) {
            ends.push(end);
            open = 0;
        }
        let mut left = rows;
        while left > rows_max {
            end += rows_max;
            left -= rows_max;
            ends.push(end);
        }
        end += left;
        open += left;
        if rows >= large || open == rows_max {
            ends.push(end);
            open = 0;
        }
    }
    if open > 0 {
        ends.push(end);
    }
    ends.dedup();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use rowkey_base::testing::Dice;

    #[test]
    fn row_groups_are_cut_by_rows_and_by_bytes() {
        assert_eq!(row_group_ends(&[100_000], 100), [ROW_GROUP_ROWS_MAX, 100_000]);
        assert_eq!(row_group_ends(&[10, 20_000, 10, 10], 100), [10, 20_010, 20_030], "a large one is alone");
        assert_eq!(row_group_ends(&[1000; 20], 4 << 10), [8000, 16_000, 20_000], "8,192 rows have 32 MiB");
        assert_eq!(row_group_ends(&[1000], 1 << 20), (1..=31).map(|n| n * 32).chain([1000]).collect::<Vec<_>>());
        assert_eq!(row_group_ends(&[40], 64 << 20), [16, 32, 40], "they are never a row each");
    }

    #[test]
    fn row_groups_hold_all_rows_and_no_more_than_they_may() {
        for seed in 0..200 {
            let mut dice = Dice(seed);
            let row_bytes: u64 = 1 << dice.below(24);
            let rows_of_one = |_| {
                let most = 1 << dice.below(18);
                1 + dice.below(most)
            };
            let rows: Vec<usize> = (0..30).map(rows_of_one).collect();
            let ends = row_group_ends(&rows, row_bytes);
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let rows_max = rows_of_bytes(row_bytes, ROW_GROUP_BYTES, ROW_GROUP_ROWS_MAX);
            for (start, end) in starts.zip(&ends) {
                assert!(start < *end && end - start <= rows_max, "seed {seed}: {start} to {end}, {rows:?}");
            }
            assert_eq!(ends.last().copied().unwrap_or(0), rows.iter().sum::<usize>(), "seed {seed}");
        }
    }
}
