use std::sync::Arc;

use arrow::array::Int64Array;

use super::super::Form;
use super::super::samples::{batch, columns_of, entity, printed, texts};
use super::*;

#[test]
fn columns_line_up() {
    let expected = "
 PartitionKey | Count |         Big         | Ratio | On |              At               |  Data  |                  Id
--------------+-------+---------------------+-------+----+-------------------------------+--------+--------------------------------------
 a            |     1 | 9223372036854775807 |   0.1 | t  | 1601-01-01 00:00:00+00        | \\x00ff | 00112233-4455-6677-8899-aabbccddeeff
 b            |       |                     |   NaN | f  | 9999-12-31 23:59:59.999999+00 | \\x     |
(2 rows)
";
    assert_eq!(printed(Form::Table, &[entity()]), expected[1..]);
}

#[test]
fn no_rows_and_one_row() {
    assert_eq!(printed(Form::Table, &[texts(&[("a", &[]), ("b", &[])])]), " a | b\n---+---\n(0 rows)\n");
    assert_eq!(printed(Form::Table, &[texts(&[("a", &[None])])]), " a\n---\n\n(1 row)\n");
}

#[test]
fn wide_and_broken_text() {
    let rows = [Some("日本"), Some("one\ntwo\nthree"), Some("tab\tx"), Some("\u{1b}[31m\r\u{85}")];
    let expected = "
       text       | n
------------------+---
 日本             | 1
 one             +| 1
 two             +|
 three            |
 tab     x        | 1
 \\x1B[31m\\r\\u0085 | 1
(4 rows)
";
    let batch = texts(&[("text", &rows), ("n", &rows.map(|_| Some("1")))]);
    assert_eq!(printed(Form::Table, &[batch]), expected[1..]);
}

#[test]
fn a_plan_is_lines() {
    let whole = texts(&[("QUERY PLAN", &[Some("Scan of devices\n  access path: point\n")])]);
    let lines = texts(&[("QUERY PLAN", &[Some("Scan of devices"), Some("  access path: point")])]);
    let expected = "
      QUERY PLAN
----------------------
 Scan of devices
   access path: point
(2 rows)
";
    assert_eq!(printed(Form::Table, &[whole]), expected[1..]);
    assert_eq!(printed(Form::Table, &[lines]), expected[1..]);
}

#[test]
fn rows_beyond_the_first_stream() {
    let numbers =
        |from: i64, count: i64| batch(vec![("n", Arc::new(Int64Array::from_iter_values(from..from + count)))]);
    let first = numbers(0, ROWS_HELD_MAX as i64 - 1);
    let mut table = TableWriter::new(columns_of(&first), "");
    let mut out = Vec::new();
    table.batch(&first, &mut out).unwrap();
    assert!(out.is_empty());
    table.batch(&numbers(999, 1), &mut out).unwrap();
    assert!(String::from_utf8_lossy(&out).ends_with("\n 999\n"));
    table.batch(&numbers(1_000_000, 1), &mut out).unwrap();
    assert!(table.held.is_empty());
    assert!(String::from_utf8_lossy(&out).ends_with("\n 999\n 1000000\n"));
    ResultWriter::finish(&mut table, &mut out).unwrap();
    assert!(String::from_utf8_lossy(&out).ends_with("\n 1000000\n(1001 rows)\n"));
}

#[test]
fn long_values_are_not_held_for_long() {
    let long = "x".repeat(BYTES_HELD_MAX / 2);
    let one = texts(&[("a", &[Some(&long)])]);
    let mut table = TableWriter::new(columns_of(&one), "");
    let mut out = Vec::new();
    table.batch(&one, &mut out).unwrap();
    assert!(out.is_empty());
    table.batch(&one, &mut out).unwrap();
    assert!(out.len() > BYTES_HELD_MAX);
}

#[test]
fn an_interrupted_table_has_no_footer() {
    let rows = texts(&[("a", &[Some("1")])]);
    let mut table = TableWriter::new(columns_of(&rows), "");
    let mut out = Vec::new();
    table.abandon(&mut out).unwrap();
    assert!(out.is_empty());
    table.batch(&rows, &mut out).unwrap();
    table.abandon(&mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), " a\n---\n 1\n");
}
