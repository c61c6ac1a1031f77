//! Tests of files that are asked and filled in, with answers that are made up.

use rowkey_postgres::types::oid;

use crate::answer::{Answer, AnswerBuilder, Refused};
use crate::expected;
use crate::script::{Ask, Script, Way};

/// All of them by name: the harness is none that finds them itself.
pub(crate) const TESTS: [(&str, fn()); 10] = [
    ("text_stays", text_stays),
    ("what_is_expected_passes", what_is_expected_passes),
    ("what_is_not_is_told", what_is_not_is_told),
    ("all_faults_are_told", all_faults_are_told),
    ("rowsort_sorts_what_is_answered", rowsort_sorts_what_is_answered),
    ("labels_choose_the_way", labels_choose_the_way),
    ("answers_are_filled_in", answers_are_filled_in),
    ("what_is_expected_is_not_touched", what_is_expected_is_not_touched),
    ("errors_are_filled_in_for_errors_only", errors_are_filled_in_for_errors_only),
    ("what_would_hide_statements_is_refused", what_would_hide_statements_is_refused),
];

const HERE: Way = Way { name: "here", compared: expected::exact };
const LABELS: [&str; 2] = ["here", "there"];

const FILE: &str = "\
# A title
#no space


statement ok
SET x
  = 1

# Between
query TI rowsort
rows a,1 b,2
----
a | 1
b | 2

query error no such [a-z]+
fail no such thing: y

skipif there
statement error
fail anything
# Part of the statement
";

/// `rows a,1 b,2`, `none`, `fail MESSAGE` and `SET`; the last gives no columns. A number is an
/// integer.
fn answered(sql: &str) -> Result<Answer, Refused> {
    let ty = |value: &str| if value.parse::<i64>().is_ok() { oid::INT4 } else { oid::TEXT };
    match sql.split_once(' ').unwrap_or((sql, "")) {
        ("fail", message) => Err(Refused { message: message.to_owned(), sqlstate: Some("22012".to_owned()) }),
        ("SET", _) => Ok(Answer::default()),
        ("none", _) => Ok(AnswerBuilder::new([("c", oid::TEXT)]).finish()),
        ("rows", text) => {
            let first = text.split(' ').next().unwrap_or_default();
            let mut rows = AnswerBuilder::new(first.split(',').map(|value| ("c", ty(value))));
            text.split(' ').for_each(|row| rows.push(row.split(',').map(Some)));
            Ok(rows.finish())
        }
        _ => panic!("{sql:?} has no answer"),
    }
}

fn ask() -> Result<Ask, Refused> {
    Ok(asking(answered))
}

fn asking(answered: fn(&str) -> Result<Answer, Refused>) -> Ask {
    Box::new(move |sql| Box::pin(std::future::ready(answered(&sql))))
}

#[track_caller]
fn parsed(text: &str) -> Script {
    Script::parse("f.slt", text, &LABELS).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn ran(text: &str) -> Result<(), String> {
    futures::executor::block_on(parsed(text).run(&HERE, ask))
}

#[track_caller]
fn assert_told(text: &str, parts: &[&str]) {
    let told = ran(text).expect_err(text);
    for part in parts {
        assert!(told.contains(part), "{part:?} is not in\n{told}");
    }
}

/// The file after UPDATE, and what was told; the file has to pass then, but for what was told.
#[track_caller]
fn updated(text: &str) -> (String, Result<(), String>) {
    let mut script = parsed(text);
    let told = futures::executor::block_on(script.update(&HERE, ask));
    let after = script.to_string();
    assert_eq!(ran(&after).is_ok(), told.is_ok(), "{after}");
    (after, told)
}

#[track_caller]
fn assert_updated(before: &str, expected: &str) {
    assert_eq!(updated(before), (expected.to_owned(), Ok(())));
}

fn text_stays() {
    assert_eq!(parsed(FILE).to_string(), FILE);
    let rows_of_hyphens = "query T\nx\n----\n----\n# no comment\n\n\nquery T\nx\n----\n";
    assert_eq!(parsed(rows_of_hyphens).to_string(), rows_of_hyphens);
    for lost in ["statement ok\nx", "statement ok\nx\n\n", "statement  ok\nx\n", "statement ok\nx\n\n \t\n# y\n"] {
        let told = Script::parse("f.slt", lost, &LABELS).expect_err(lost);
        assert!(told.starts_with("f.slt: would be written back otherwise"), "{told}");
    }
}

fn what_is_expected_passes() {
    for text in [
        FILE,
        "statement ok\nrows a\n",
        "statement ok\nSET\n",
        "query T\nnone\n----\n",
        "query TI nosort\nrows b,2 a,1\n----\nb | 2  \na | <slt:ignore>\n",
        "query error\nfail x\n",
        "query error (22012)\nfail x\n",
        "statement error x .* z\nfail w x y z\n",
    ] {
        assert_eq!(ran(text), Ok(()), "{text}");
    }
}

fn what_is_not_is_told() {
    assert_told("statement ok\nfail x\n", &["statement failed: x", "at f.slt:1"]);
    assert_told("\n\nquery T\nfail x\n----\n", &["query failed: x", "at f.slt:3"]);
    assert_told("query error\nrows a\n", &["expected to fail, but actually succeed"]);
    assert_told("statement error\nSET\n", &["expected to fail, but actually succeed"]);
    assert_told("query error y\nfail x\n", &["(regex) y", "x"]);
    assert_told("query error (22003)\nfail x\n", &["(sqlstate) 22003", "(sqlstate 22012)"]);
    assert_told("query T\nSET\n----\n", &["query columns mismatch"]);
    assert_told("query TT\nrows a,1\n----\na | 1\n", &["query columns mismatch", "T[T]", "T[I]"]);
    assert_told("query T\nnone\n----\na\n", &["query result mismatch", "-   a"]);
    assert_told("query TI\nrows a,1 b,2\n----\na | 1\n", &["query result mismatch", "-   a | 1", "+   b | 2"]);
}

fn all_faults_are_told() {
    assert_told("statement ok\nfail x\n\nstatement ok\nSET\n\nstatement ok\nfail y\n", &["f.slt:1", "f.slt:7"]);
}

fn rowsort_sorts_what_is_answered() {
    assert_eq!(ran("query TI rowsort\nrows b,2 a,1\n----\na | 1\nb | 2\n"), Ok(()));
    // By columns: a separator in between would put "a!" before "a".
    assert_eq!(ran("query TI rowsort\nrows a!,1 a,2\n----\na | 2\na! | 1\n"), Ok(()));
    assert!(ran("query TI\nrows b,2 a,1\n----\na | 1\nb | 2\n").is_err(), "without it they are in their order");
    assert!(ran("query TI rowsort\nrows b,2 a,1\n----\nb | 2\na | 1\n").is_err(), "what is expected is not sorted");
}

fn labels_choose_the_way() {
    assert_eq!(ran("onlyif there\nstatement ok\nfail x\n\nskipif here\nstatement ok\nfail x\n"), Ok(()));
    assert_told("onlyif here\nstatement ok\nfail x\n\nskipif there\nstatement ok\nfail x\n", &["f.slt:2", "f.slt:6"]);
    let other = "onlyif there\nquery T\nrows x\n----\n";
    let mut script = parsed(&format!("{other}\nquery T\nrows y\n----\n"));
    assert_eq!(futures::executor::block_on(script.update(&HERE, ask)), Ok(()));
    assert_eq!(script.to_string(), format!("{other}\nquery T\nrows y\n----\ny\n"), "what was not asked stays");
    let there = Way { name: "there", ..HERE };
    let ask_there = || Ok(asking(|_| answered("rows z")));
    assert_eq!(futures::executor::block_on(script.update(&there, ask_there)), Ok(()));
    let filled = "onlyif there\nquery T\nrows x\n----\nz\n\nquery T\nrows y\n----\ny\n";
    assert_eq!(script.to_string(), filled, "the first way that asks a statement fills it in");
}

fn answers_are_filled_in() {
    assert_updated(
        "# One\nquery TI rowsort\nrows b,2 a,1\n----\n\n# Two\nquery T\nrows x\n----\ny\nz\n",
        "# One\nquery TI rowsort\nrows b,2 a,1\n----\na | 1\nb | 2\n\n# Two\nquery T\nrows x\n----\nx\n",
    );
    assert_updated("query T\nnone\n----\ny\n\n# end\n", "query T\nnone\n----\n\n# end\n");
    assert_updated("query TTT nosort\nrows a,1\n----\nx\n", "query TI nosort\nrows a,1\n----\na | 1\n");
    assert_updated("query error\nrows a\n\n# end\n", "query T\nrows a\n----\na\n\n# end\n");
}

fn what_is_expected_is_not_touched() {
    let ignoring = "query TI rowsort\nrows a,1\n----\na | <slt:ignore>  \n\nquery error an? x\nfail an x\n";
    assert_updated(ignoring, ignoring);
    assert_updated(&ignoring.replace("TI ", "TT "), ignoring);
}

fn errors_are_filled_in_for_errors_only() {
    assert_updated("query error y\nfail x\n", "query error x\nfail x\n");
    assert_updated("statement error z\nfail x (y)\n", "statement error x \\(y\\)\nfail x (y)\n");
    for kept in ["query T\nfail x\n----\na\n", "query T\nfail x\n----\n", "statement ok\nfail x\n"] {
        let (after, told) = updated(&format!("{kept}\nquery T\nrows b\n----\n"));
        assert_eq!(after, format!("{kept}\nquery T\nrows b\n----\nb\n"), "the others are filled in");
        assert_eq!(told, Err("f.slt:1: fails, which is not filled in: x\nfail x\n".to_owned()));
    }
}

fn what_would_hide_statements_is_refused() {
    for (text, told) in [
        ("statement ok\nx\n\nhalt\n", "f.slt:4: halt"),
        ("# nothing\n", "f.slt: no statements"),
        ("onlyif nowhere\nstatement ok\nx\n", r#"f.slt: label "nowhere" is none of ["here", "there"]"#),
        ("query TQ\nx\n----\n", "parse error at f.slt:1: invalid type character: 'Q' in type string"),
        ("statement okay\nx\n", r#"parse error at f.slt:1: invalid line: "statement okay""#),
        ("statement ok\nx\n----\n", "parse error at f.slt:1: statement should have no result, use `query` instead"),
    ] {
        assert_eq!(Script::parse("f.slt", text, &LABELS).expect_err(text), told);
    }
}
