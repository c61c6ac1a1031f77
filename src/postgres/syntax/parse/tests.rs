use super::{parse, parse_all, split};
use crate::syntax::parse::limits::CHAIN_MAX;
use rowkey_base::SqlState;

fn refused(text: &str) -> String {
    let error = parse(text).expect_err(text);
    assert_ne!(error.sqlstate(), SqlState::INTERNAL_ERROR, "{text}");
    error.to_string()
}

#[test]
fn a_sign_behind_a_comparison_is_a_word_of_its_own() {
    for text in ["SELECT 1>-1", "SELECT 1 >=-1", "SELECT 1<>-1", "SELECT 1<=+1", "SELECT 1=-1"] {
        assert!(parse(text).expect(text).is_query(), "{text}");
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
fn what_is_not_supported_is_refused_by_name() {
    assert!(refused("CREATE INDEX i ON t (a)").starts_with("CREATE INDEX"));
    assert!(refused("DROP INDEX i").starts_with("DROP INDEX"));
    assert!(refused("EXPLAIN CREATE INDEX i ON t (a)").starts_with("EXPLAIN of CREATE INDEX is not supported"));
    assert!(refused("EXPLAIN EXPLAIN SELECT 1").starts_with("EXPLAIN of EXPLAIN is not supported"));
    assert_eq!(refused("EXPLAIN (FOO) SELECT 1"), "unrecognized EXPLAIN option \"foo\"");
    assert_eq!(refused("EXPLAIN (TIMING) SELECT 1"), "EXPLAIN option TIMING requires ANALYZE");
    assert_eq!(refused("EXPLAIN (COSTS 2) SELECT 1"), "costs requires a Boolean value");
    assert_eq!(refused("EXPLAIN (FORMAT foo) SELECT 1"), "unrecognized value for EXPLAIN option \"format\": \"foo\"");
    assert!(refused("EXPLAIN (FORMAT yaml) SELECT 1").contains("not yaml"));
    let all = "EXPLAIN (ANALYZE, VERBOSE off, COSTS off, SETTINGS, BUFFERS, WAL, TIMING 'off', SUMMARY, FORMAT json) SELECT 1";
    assert!(parse(all).is_ok());
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

#[test]
fn all_of_a_text_is_parsed_before_any_of_it_runs() {
    let statements = parse_all("BEGIN; SELECT 'a;b' ;; SHOW all;").expect("parsed");
    let texts: Vec<&str> = statements.iter().map(super::Statement::text).collect();
    assert_eq!(texts, ["BEGIN", "SELECT 'a;b'", "SHOW all"]);
    assert!(parse_all(" -- nothing\n;").expect("parsed").is_empty());
    let error = parse_all("SELECT 1; SELEC 2").expect_err("a mistake");
    assert_eq!((error.to_string().as_str(), error.position()), ("syntax error at or near \"SELEC\"", Some(11)));
    let error = parse("SELECT (1").expect_err("a mistake");
    assert_eq!((error.to_string().as_str(), error.position()), ("syntax error at end of input", Some(10)));
    assert_eq!(parse("SELECT 'a").expect_err("a mistake").to_string(), "unterminated quoted string at or near \"'a\"");
}

#[test]
fn texts_on_lines_of_their_own_are_one_and_on_one_line_an_error() {
    for (text, joined) in [
        ("SELECT 'a'\n'b'", "SELECT 'ab'"),
        ("SELECT 'a' -- and\n  'b' \n\t -- and\n 'it''s', 'c'", "SELECT 'abit''s', 'c'"),
        ("SELECT E'a\\n'\n'b'", "SELECT E'a\\nb'"),
        ("SELECT 'a', 'b'", "SELECT 'a', 'b'"),
        ("SELECT 'a' AS b\n, 'b'", "SELECT 'a' AS b, 'b'"),
    ] {
        let request = |text| match parse(text).expect(text).into_request() {
            super::Request::Query(query) => query.to_string(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(request(text), request(joined), "{text}");
    }
    for (text, near) in
        [("SELECT 'a' 'b'", "'b'"), ("SELECT 'a' /* \n */ 'b'", "'b'"), ("SELECT 'a'\n'b' 'c', 1", "'c'")]
    {
        let error = parse(text).expect_err(text);
        assert_eq!(error.to_string(), format!("syntax error at or near \"{near}\""), "{text}");
        assert_eq!(error.position(), text.find(near).map(|at| at + 1), "{text}");
    }
    assert!(refused("SELECT E'a'\n'b\\'").contains("not supported"));
}
