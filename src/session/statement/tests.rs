use super::{CHAIN_MAX, Request, parse, split};
use crate::session::error::ErrorKind;

fn refused(text: &str) -> String {
    let error = parse(text).expect_err(text);
    assert_ne!(error.kind(), ErrorKind::Internal, "{text}");
    error.to_string()
}

#[test]
fn a_sign_behind_a_comparison_is_a_word_of_its_own() {
    for text in ["SELECT 1>-1", "SELECT 1 >=-1", "SELECT 1<>-1", "SELECT 1<=+1", "SELECT 1=-1"] {
        assert!(matches!(parse(text), Ok(Request::Query(_))), "{text}");
    }
}

#[test]
fn long_chains_are_refused_and_long_lists_are_not() {
    let chain = |count: usize| format!("SELECT 1{}", "+1".repeat(count));
    assert!(refused(&chain(CHAIN_MAX + 1)).contains("2000 operators"));
    assert!(refused(&chain(100_000)).contains("2000 operators"));
    let list = vec!["'a'"; 10_000].join(", ");
    assert!(parse(&format!("SELECT 1 WHERE 'a' IN ({list})")).is_ok());
}

#[test]
fn is_distinct_from_beside_other_operators_needs_parentheses() {
    assert!(refused("SELECT a IS DISTINCT FROM b AND c").contains("parentheses"));
    assert!(refused("SELECT a IS NOT DISTINCT FROM b OR c = 1").contains("parentheses"));
    assert!(parse("SELECT (a IS DISTINCT FROM b) AND c").is_ok());
    assert!(parse("SELECT c AND a IS DISTINCT FROM b").is_ok());
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    assert!(refused("DELETE FROM t").starts_with("DELETE"));
    assert!(refused("DROP TABLE t").starts_with("DROP TABLE"));
    assert!(refused("EXPLAIN DELETE FROM t").starts_with("DELETE"));
    assert!(refused("EXPLAIN (BUFFERS) SELECT 1").contains("no option buffers"));
    assert!(refused("SELECT 1; SELECT 2").contains("one statement"));
    assert!(refused("  -- nothing\n").contains("no statement"));
    assert!(refused("SELEC 1").contains("syntax error"));
}

#[test]
fn statements_are_cut_at_semicolons_outside_quotes_and_comments() {
    let text = "SELECT 'a;b';\n\nSELECT \"x;y\" ;; SELECT 'é;' ;\n";
    assert_eq!(split(text).expect("splits"), ["SELECT 'a;b'", "SELECT \"x;y\"", "SELECT 'é;'"]);
    assert_eq!(split("").expect("splits"), [""; 0]);
}
