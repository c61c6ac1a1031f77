use super::*;
use crate::run::RunFile;
use rowkey_model::Key;

const FULL: u64 = 512_000;

fn file(id: u64, bytes: u64, masked: u32) -> Arc<RunFile> {
    let described = format!(
        r#"{{"id": {id}, "path": "f{id}", "bytes": 1, "crc32c": 0, "checksums": "", "tail_bytes": 1, "rows": 100,
            "encoded_bytes": {bytes}, "first": ["a", "a"], "last": ["a", "a"], "partitions": 1, "row_groups": 1,
            "key_pages": 1, "column_bytes": [], "columns": []}}"#
    );
    let file: RunFile = serde_json::from_str(&described).expect("a file");
    let mask = (masked > 0).then(|| Arc::new((0..masked).collect()));
    Arc::new(RunFile { mask, ..file })
}

/// The files of the only range partition that are rewritten, and whether they are cut.
fn planned(files: &[(u64, u32)]) -> Option<(Vec<u64>, bool)> {
    let files = files.iter().zip(1..).map(|(&(bytes, masked), id)| file(id, bytes, masked)).collect();
    let (files, cut) = within(&RangePartition { start: RangeStart::Unbounded, files }, FULL)?;
    Some((files.iter().map(|file| file.id).collect(), cut))
}

#[test]
fn files_of_similar_size_become_one() {
    assert_eq!(planned(&[]), None);
    assert_eq!(planned(&[(9000, 0), (9000, 0), (9000, 0)]), None, "three are not many");
    assert_eq!(planned(&[(9000, 0), (9000, 0), (9000, 0), (9000, 0)]), Some((vec![1, 2, 3, 4], false)));
    assert_eq!(planned(&[(300_000, 0), (9000, 0), (9000, 0), (9000, 0)]), None, "one is much larger");
    let some = planned(&[(300_000, 0), (9000, 0), (9000, 0), (20_000, 0), (9000, 0)]);
    assert_eq!(some, Some((vec![2, 3, 4, 5], false)));
    assert_eq!(planned(&[(100, 0), (1, 0), (900, 0), (500, 0)]), Some((vec![1, 2, 3, 4], false)), "all are tiny");
}

#[test]
fn masked_files_are_written_anew() {
    assert_eq!(planned(&[(9000, 33)]), None);
    assert_eq!(planned(&[(9000, 34)]), Some((vec![1], false)));
    assert_eq!(planned(&[(9000, 0), (9000, 34), (9000, 0)]), Some((vec![2], false)));
}

#[test]
fn what_has_outgrown_a_file_is_cut() {
    assert_eq!(planned(&[(FULL, 0), (FULL / 2, 0)]), None);
    assert_eq!(planned(&[(FULL, 0), (FULL / 2 + 1, 0)]), Some((vec![1, 2], true)));
    assert_eq!(planned(&[(FULL * 2, 0)]), None);
    assert_eq!(planned(&[(FULL * 2 + 1, 0)]), Some((vec![1], true)));
    assert_eq!(planned(&[(FULL * 2, 20), (1000, 0)]), Some((vec![1, 2], true)), "live entities count");
}

fn range(start: RangeStart, bytes: u64) -> RangePartition {
    let files = if bytes == 0 { Vec::new() } else { vec![file(1, bytes, 0)] };
    RangePartition { start, files }
}

fn partition(name: &str) -> RangeStart {
    RangeStart::Partition(name.to_owned())
}

fn inside(name: &str, row: &str) -> RangeStart {
    let Key { partition, row } = Key::new(name, row);
    RangeStart::Key(partition, row)
}

#[test]
fn small_neighbours_become_one_and_partitions_keep_to_themselves() {
    let small = FULL / 8 - 1;
    let merged = |ranges: &[RangePartition]| neighbours(ranges, FULL);
    let first = |bytes| range(RangeStart::Unbounded, bytes);
    assert_eq!(merged(&[first(small)]), None);
    assert_eq!(merged(&[first(small), range(partition("b"), small)]), Some(0..2));
    assert_eq!(merged(&[first(small), range(partition("b"), small + 1), range(partition("c"), small)]), None);
    let many: Vec<_> = (0..9).map(|i| range(partition(&i.to_string()), small)).collect();
    assert_eq!(merged(&many), Some(0..4), "half a file at most");
    assert_eq!(merged(&[first(FULL), range(partition("b"), 0), range(partition("c"), 0)]), Some(1..3));
    // The partition b is large: its rest is not merged with its neighbour.
    let large = [first(FULL), range(partition("b"), FULL), range(inside("b", "5"), 10), range(partition("c"), 10)];
    assert_eq!(merged(&large), None);
    let parts = [range(partition("b"), FULL), range(inside("b", "5"), 10), range(inside("b", "7"), 10)];
    assert_eq!(merged(&parts), Some(1..3));
    let whole = [range(partition("b"), FULL / 4), range(inside("b", "5"), FULL / 4)];
    assert_eq!(merged(&whole), Some(0..2), "it fits into one again");
    let shared = [first(10), range(partition("b"), 10), range(inside("b", "5"), 10), range(partition("c"), 10)];
    assert_eq!(merged(&shared), Some(0..4), "all of it becomes one");
}

#[test]
fn while_writes_press_only_very_many_files_are_written_anew() {
    let manifest = |files: u64, bytes: u64| {
        let files = (1..=files).map(|id| file(id, bytes, 50)).collect();
        let ranges = [RangePartition { start: RangeStart::Unbounded, files }, range(partition("b"), 0)];
        Manifest::default().with_ranges_replaced(0, 1, &ranges).expect("a manifest")
    };
    let files = |manifest: &Manifest, compaction| {
        next_rewrite(manifest, FULL, compaction).map(|rewrite| rewrite.files.concat().len())
    };
    assert_eq!(files(&manifest(31, 9000), Compaction::Thorough), Some(31));
    assert_eq!(files(&manifest(31, 9000), Compaction::Pressed), None);
    assert_eq!(files(&manifest(32, 9000), Compaction::Pressed), Some(14), "what fits into an eighth of a file");
    assert_eq!(files(&manifest(32, 30_000), Compaction::Pressed), Some(4), "what a merge is worth");
    let outgrown = 4 * FULL / 11;
    assert_eq!(files(&manifest(11, outgrown), Compaction::Thorough), Some(11));
    assert_eq!(files(&manifest(11, outgrown), Compaction::Pressed), None);
    assert_eq!(files(&manifest(12, outgrown), Compaction::Pressed), Some(12));
    assert_eq!(files(&manifest(0, 9000), Compaction::Thorough), Some(0), "small neighbours become one");
    assert_eq!(files(&manifest(0, 9000), Compaction::Pressed), None);
    assert_eq!(files(&manifest(32, 9000), Compaction::HardPressed), Some(14));
    assert_eq!(files(&manifest(0, 9000), Compaction::HardPressed), None);
}

#[test]
fn while_writes_press_hard_a_small_table_is_cut_early() {
    let manifest = |ranges: usize, files: u64, bytes: u64| {
        let of = |place: usize| {
            let files = if place == 1 { files } else { 0 };
            // Each has a hundred rows.
            let files = (1..=files).map(|id| file(id, bytes / files, 0)).collect();
            let start = if place == 0 { RangeStart::Unbounded } else { partition(&format!("a{place}")) };
            RangePartition { start, files }
        };
        (0..ranges).map(of).collect::<Vec<_>>()
    };
    let cut = |ranges: usize, files: u64, bytes: u64| early_cut(&manifest(ranges, files, bytes), FULL);
    assert_eq!(cut(2, 50, FULL / 8), Some((1, FULL / 8 / 50 * 50 / 8)));
    assert_eq!(cut(8, 50, FULL / 8), None, "there are many range partitions");
    assert_eq!(cut(7, 50, FULL / 8).map(|(place, _)| place), Some(1));
    assert_eq!(cut(2, 40, FULL / 8), None, "few entities");
    assert_eq!(cut(2, 50, FULL / 65), None, "little");
    assert_eq!(cut(2, 50, FULL / 3), None, "much");
}
