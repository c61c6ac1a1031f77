//! Tests of the format, with answers that are made up.

use super::{Answer, Script};

/// All of them by name: the harness is none that finds them itself.
pub(crate) const TESTS: [(&str, fn()); 11] = [
    ("text_stays", text_stays),
    ("statements_are_asked_in_order", statements_are_asked_in_order),
    ("what_is_expected_passes", what_is_expected_passes),
    ("what_is_not_is_told", what_is_not_is_told),
    ("all_faults_are_told", all_faults_are_told),
    ("rowsort_sorts_what_is_answered", rowsort_sorts_what_is_answered),
    ("answers_are_filled_in", answers_are_filled_in),
    ("what_is_expected_is_not_touched", what_is_expected_is_not_touched),
    ("errors_are_filled_in_for_errors_only", errors_are_filled_in_for_errors_only),
    ("rows_that_are_no_lines_are_not_filled_in", rows_that_are_no_lines_are_not_filled_in),
    ("other_directives_are_refused", other_directives_are_refused),
];

const FILE: &str = "\
# A title
#no space,  trailing  


statement ok
SET x
  = 1

# Between
query TI rowsort
rows a,1 b,2
----
a | 1
b | 2

query error  no  such thing
fail no  such thing: y

   \t
statement error
fail anything
# The last line
";

/// `rows a,1 b,2`, `none`, `fail MESSAGE` and `SET`; the last gives no columns. A number is an
/// integer.
fn answered(sql: &str) -> Result<Answer, String> {
    let rows = |text: &str| text.split(' ').map(|row| row.split(',').map(str::to_owned).collect()).collect();
    let letter = |value: &String| if value.parse::<i64>().is_ok() { 'I' } else { 'T' };
    match sql.split_once(' ').unwrap_or((sql, "")) {
        ("fail", message) => Err(message.to_owned()),
        ("SET", _) => Ok(Answer::default()),
        ("none", _) => Ok(Answer { types: "T".to_owned(), rows: Vec::new() }),
        ("rows", text) => {
            let rows: Vec<Vec<String>> = rows(text);
            Ok(Answer { types: rows[0].iter().map(letter).collect(), rows })
        }
        ("lines", text) => Ok(Answer { types: "T".to_owned(), rows: vec![vec![text.to_owned()]] }),
        _ => panic!("{sql:?} has no answer"),
    }
}

#[track_caller]
fn parsed(text: &str) -> Script {
    Script::parse("f.slt", text).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn ran(text: &str) -> Result<(), String> {
    futures::executor::block_on(parsed(text).run(async |sql| answered(sql)))
}

#[track_caller]
fn assert_told(text: &str, expected: &str) {
    assert_eq!(ran(text).expect_err(text), expected);
}

/// The file after UPDATE, and what was told; the file has to pass then, but for what was told.
#[track_caller]
fn updated(text: &str) -> (String, Result<(), String>) {
    let mut script = parsed(text);
    let told = futures::executor::block_on(script.update(async |sql| answered(sql)));
    let after = script.to_string();
    assert_eq!(ran(&after).is_ok(), told.is_ok(), "{after}");
    assert_eq!(parsed(&after).to_string(), after, "what is written is read back");
    (after, told)
}

#[track_caller]
fn assert_updated(before: &str, expected: &str) {
    assert_eq!(updated(before), (expected.to_owned(), Ok(())));
}

fn text_stays() {
    assert_eq!(parsed(FILE).to_string(), FILE);
    assert_eq!(parsed("statement ok\nx").to_string(), "statement ok\nx\n", "a line has an end");
    let rows_of_hyphens = "query T\nx\n----\n----\n# no comment\n\n\nquery T\nx\n----\n";
    assert_eq!(parsed(rows_of_hyphens).to_string(), rows_of_hyphens);
}

fn statements_are_asked_in_order() {
    let mut asked = Vec::new();
    let ask = async |sql: &str| {
        asked.push(sql.to_owned());
        answered(&sql.replace('\n', " "))
    };
    assert_eq!(futures::executor::block_on(parsed(FILE).run(ask)), Ok(()));
    assert_eq!(asked, ["SET x\n  = 1", "rows a,1 b,2", "fail no  such thing: y", "fail anything\n# The last line"]);
}

fn what_is_expected_passes() {
    for text in [
        "statement ok\nrows a",
        "statement ok\nSET",
        "query T\nnone\n----",
        "query TI nosort\nrows b,2 a,1\n----\nb | 2  \na | <slt:ignore>\n",
        "query error\nfail x",
        "statement error x <slt:ignore> z\nfail w x y z",
    ] {
        assert_eq!(ran(text), Ok(()), "{text}");
    }
}

fn what_is_not_is_told() {
    assert_told("statement ok\nfail x", "f.slt:1: fails: x\nfail x");
    assert_told("\n\nquery T\nfail x\n----\n", "f.slt:3: fails: x\nfail x");
    assert_told("query error\nrows a", "f.slt:1: has to fail, and answers 1 rows (T)\nrows a");
    assert_told("statement error\nSET", "f.slt:1: has to fail, and answers 0 rows (none)\nSET");
    assert_told("query error y\nfail x", "f.slt:1: fails otherwise than expected\n- y\n+ x\nfail x");
    assert_told("query T\nSET\n----\n", "f.slt:1: columns are none, expected T\nSET");
    assert_told("query TT\nrows a,1\n----\na | 1", "f.slt:1: columns are TI, expected TT\nrows a,1");
    assert_told("query T\nnone\n----\na", "f.slt:1: another answer\n-expected +answered\n- a\nnone");
    assert_told("query T\nrows a\n----\n", "f.slt:1: another answer\n-expected +answered\n+ a\nrows a");
    let both = "f.slt:1: columns are I, expected T; another answer\n-expected +answered\n- a\n+ 1\nrows 1";
    assert_told("query T\nrows 1\n----\na", both);
}

fn all_faults_are_told() {
    assert_told("statement ok\nfail x\n\nstatement ok\nSET\n\nstatement ok\nfail y", {
        "f.slt:1: fails: x\nfail x\n\nf.slt:7: fails: y\nfail y"
    });
}

fn rowsort_sorts_what_is_answered() {
    assert_eq!(ran("query TI rowsort\nrows b,2 a,1\n----\na | 1\nb | 2"), Ok(()));
    // By columns: a separator in between would put "a!" before "a".
    assert_eq!(ran("query TI rowsort\nrows a!,1 a,2\n----\na | 2\na! | 1"), Ok(()));
    assert!(ran("query TI\nrows b,2 a,1\n----\na | 1\nb | 2").is_err(), "without it they are in their order");
    assert!(ran("query TI rowsort\nrows b,2 a,1\n----\nb | 2\na | 1").is_err(), "what is expected is not sorted");
}

fn answers_are_filled_in() {
    assert_updated(
        "# One\nquery TI rowsort\nrows b,2 a,1\n----\n\n# Two\nquery T\nrows x\n----\ny\nz\n",
        "# One\nquery TI rowsort\nrows b,2 a,1\n----\na | 1\nb | 2\n\n# Two\nquery T\nrows x\n----\nx\n",
    );
    assert_updated("query T\nnone\n----\ny\n\n# end", "query T\nnone\n----\n\n# end\n");
    assert_updated("query TTT nosort\nrows a,1\n----\nx", "query TI nosort\nrows a,1\n----\na | 1\n");
    assert_updated("query error\nrows a\n\n# end\n", "query T\nrows a\n----\na\n\n# end\n");
    assert_updated("statement error x\nrows a\n", "statement ok\nrows a\n");
    assert_updated("query T\nSET\n----\na\n", "statement ok\nSET\n");
}

fn what_is_expected_is_not_touched() {
    let ignoring = "query  TI   rowsort\nrows a,1\n----\na | <slt:ignore>  \n\nquery error  x\nfail an x\n";
    assert_updated(ignoring, ignoring);
    assert_updated(&ignoring.replace("TI ", "TT "), &ignoring.replace("  TI   ", " TI "));
}

fn errors_are_filled_in_for_errors_only() {
    assert_updated("query error y\nfail x\n", "query error x\nfail x\n");
    assert_updated("statement error z\nfail  x <y>\n", "statement error x <y>\nfail  x <y>\n");
    for kept in ["query T\nfail x\n----\na\n", "query T\nfail x\n----\n", "statement ok\nfail x\n"] {
        let (after, told) = updated(&format!("{kept}\nquery T\nrows b\n----\n"));
        assert_eq!(after, format!("{kept}\nquery T\nrows b\n----\nb\n"), "the others are filled in");
        assert_eq!(told, Err("f.slt:1: fails, which is not filled in: x\nfail x".to_owned()));
    }
    assert_eq!(super::one_line("\n  first \nsecond"), "first");
}

fn rows_that_are_no_lines_are_not_filled_in() {
    for (answer, shown) in [("", r#""""#), ("a\nb", r#""a\nb""#)] {
        let mut script = parsed("query T\nx\n----\nold\n");
        let answer = Answer { types: "T".to_owned(), rows: vec![vec![answer.to_owned()]] };
        let told = futures::executor::block_on(script.update(async |_| Ok(answer.clone())));
        assert_eq!(told, Err(format!("f.slt:1: a row is not one line of text: {shown}\nx")));
        assert_eq!(script.to_string(), "query T\nx\n----\nold\n");
    }
}

fn other_directives_are_refused() {
    let heads = r#"is none of "statement ok", "statement error", "query" and "query error""#;
    for (text, rule) in [
        ("# x\n\nhalt\n", format!(r#"f.slt:3: "halt" {heads}"#)),
        ("statement count 3\nx", format!(r#"f.slt:1: "statement count 3" {heads}"#)),
        ("statement ok twice\nx", format!(r#"f.slt:1: "statement ok twice" {heads}"#)),
        ("statement\nx", format!(r#"f.slt:1: "statement" {heads}"#)),
        ("queryT\nx\n----", format!(r#"f.slt:1: "queryT" {heads}"#)),
        (
            "query\nx\n----",
            r#"f.slt:1: "query" has no types of columns (letters of "TIRBDGX?") and no "error""#.to_owned(),
        ),
        ("query TQ\nx\n----", r#"f.slt:1: 'Q' in "query TQ" is no type of a column, those are "TIRBDGX?""#.to_owned()),
        (
            "query T valuesort\nx\n----",
            r#"f.slt:1: "valuesort" in "query T valuesort" is no order of rows, those are nosort and rowsort"#
                .to_owned(),
        ),
        ("\nquery T\nx\n", r#"f.slt:2: no "----" behind the SQL of "query T""#.to_owned()),
        ("\nquery T\n----\na", r#"f.slt:2: no SQL behind "query T""#.to_owned()),
        ("statement ok\n\nx", r#"f.slt:1: no SQL behind "statement ok""#.to_owned()),
        ("statement ok", r#"f.slt:1: no SQL behind "statement ok""#.to_owned()),
        ("statement ok\nx\n----\n", r#"f.slt:3: "----" behind "statement ok", which has no rows"#.to_owned()),
        ("query error\nx\n----\ny", r#"f.slt:3: "----" behind "query error", which has no rows"#.to_owned()),
        ("# nothing\n", "f.slt: no statements".to_owned()),
    ] {
        assert_eq!(Script::parse("f.slt", text).expect_err(text), rule);
    }
}
