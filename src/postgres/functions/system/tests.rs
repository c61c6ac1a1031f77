//! Functions that need no catalog, as PostgreSQL 15 answers them.

use datafusion::prelude::{SessionConfig, SessionContext};

use super::*;
use crate::types::{Error, TextStyle};

fn answer(sql: &str) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = SessionConfig::new().set_str("datafusion.sql_parser.dialect", "postgres");
    let mut state = SessionContext::new_with_config(config).state();
    register(&mut state).expect("registered");
    let context = SessionContext::new_with_state(state);
    let batches = runtime.block_on(async { context.sql(sql).await?.collect().await })?;
    let column = batches[0].column(0);
    Ok(datum::Datum::read(column, 0, &TextStyle::default())?.text().unwrap_or_else(|| "<null>".to_owned()))
}

/// Each with what psql prints.
const RECORDED: &[(&str, &str)] = &[
    ("quote_ident('abc')", "abc"),
    ("quote_ident('Abc')", "\"Abc\""),
    ("quote_ident('a b')", "\"a b\""),
    ("quote_ident('1a')", "\"1a\""),
    ("quote_ident('_a1')", "_a1"),
    ("quote_ident('select')", "\"select\""),
    ("quote_ident('name')", "name"),
    ("quote_ident('between')", "\"between\""),
    ("quote_ident('left')", "\"left\""),
    ("quote_ident('a$b')", "\"a$b\""),
    ("quote_ident('')", "\"\""),
    ("quote_ident('é')", "\"é\""),
    ("quote_ident(null)", "<null>"),
    ("quote_literal('it''s')", "'it''s'"),
    ("quote_literal('a\\b')", "E'a\\\\b'"),
    ("quote_literal(null)", "<null>"),
    ("quote_literal(42)", "'42'"),
    ("quote_nullable(null)", "NULL"),
    ("quote_nullable('x')", "'x'"),
    ("parse_ident('Schema.\"Table\".c')", "{schema,Table,c}"),
    ("parse_ident(' a . b ')", "{a,b}"),
    ("parse_ident('\"a\"\"b\"')", "{\"a\\\"b\"}"),
    ("parse_ident('a(b)', false)", "{a}"),
    ("format('%s and %s', 'a', 1)", "a and 1"),
    ("format('%I.%I', 'a b', 'select')", "\"a b\".\"select\""),
    ("format('%L', null)", "NULL"),
    ("format('%%')", "%"),
    ("format('%2$s %1$s', 'a', 'b')", "b a"),
    ("format('|%10s|%-10s|', 'a', 'b')", "|         a|b         |"),
    ("format('%s', null)", ""),
    ("format('%s', true)", "t"),
    ("format('|%*s|', 5, 'x')", "|    x|"),
    ("format('|%*s|', -5, 'x')", "|x    |"),
    ("format('|%*s|', null, 'x')", "|x|"),
    ("format('|%1$*2$s|%s|', 'x', 5)", "|    x|5|"),
    ("format('|%2$*s|', 5, 'x')", "|    x|"),
    ("format('|%-*2$s|', 'x', 5, 'y')", "|y    |"),
    ("array_lower(array[1,2], 1)", "1"),
    ("array_upper(array[1,2], 1)", "2"),
    ("array_upper(array[1,2], 2)", "<null>"),
    ("array_length(array[1,2,3], 1)", "3"),
    ("cardinality(array[1,2,3])", "3"),
    ("array_position(array['a','b','c'], 'b')", "2"),
    ("array_position(array['a','b','c'], 'z')", "<null>"),
    ("array_position(array[1,2,1], 1, 2)", "3"),
    ("array_to_string(array['a',null,'c'], ',')", "a,c"),
    ("array_to_string(array['a',null,'c'], ',', '*')", "a,*,c"),
    ("array_to_string(array[1,2], '-')", "1-2"),
    ("string_to_array('a,b,c', ',')", "{a,b,c}"),
    ("string_to_array('abc', null)", "{a,b,c}"),
    ("string_to_array('', ',')", "{}"),
    ("string_to_array('a,b,', ',', 'b')", "{a,NULL,\"\"}"),
    ("pg_encoding_to_char(6)", "UTF8"),
    ("pg_char_to_encoding('utf-8')", "6"),
    ("pg_char_to_encoding('nope')", "-1"),
    ("pg_my_temp_schema()", "0"),
    ("pg_is_in_recovery()", "f"),
];

#[test]
fn functions_answer_as_postgresql_does() {
    let mut wrong = Vec::new();
    for (expression, expected) in RECORDED {
        match answer(&format!("select {expression}")) {
            Ok(text) if text == *expected => {}
            Ok(text) => wrong.push(format!("{expression}\n  {text}\n  wanted {expected}")),
            Err(error) => wrong.push(format!("{expression}\n  {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), RECORDED.len(), wrong.join("\n"));
}

#[test]
fn wrong_arguments_are_refused() {
    let cases = [
        ("parse_ident('a b')", "22023", "string is not a valid identifier: \"a b\""),
        ("parse_ident(repeat('a.', 40000))", "54000", "identifiers of 80000 bytes, at most 65536 are taken apart"),
        ("format('%I', null)", "22004", "null values cannot be formatted as an SQL identifier"),
        ("format('%s %s', 'a')", "22023", "too few arguments for format()"),
        ("format('%*2s', 'a', 5)", "22023", "width argument position must be ended by \"$\""),
        ("format('%*0$s', 'a')", "22023", "format specifies argument 0, but arguments are numbered from 1"),
        ("format('%x', 'a')", "22023", "unrecognized format() type specifier \"x\""),
        ("oidin('x')", "22P02", "invalid input syntax for type oid: \"x\""),
    ];
    for (expression, sqlstate, message) in cases {
        let error = answer(&format!("select {expression}")).expect_err(expression);
        let datafusion::error::DataFusionError::External(error) = error.find_root() else { panic!("{error}") };
        let refusal = error.downcast_ref::<Error>().expect("a refusal");
        assert_eq!((refusal.sqlstate.code(), refusal.message.as_str()), (sqlstate, message), "{expression}");
    }
}

/// A waiting statement holds no thread: on a single one, a timeout still comes.
#[test]
fn sleeping_can_be_broken_off() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut state = SessionContext::new().state();
    register(&mut state).expect("registered");
    let context = SessionContext::new_with_state(state);
    let slept = runtime.block_on(async {
        let limit = std::time::Duration::from_millis(50);
        tokio::time::timeout(limit, async { context.sql("select pg_sleep(60)").await?.collect().await }).await
    });
    assert!(slept.is_err(), "{slept:?}");
}
