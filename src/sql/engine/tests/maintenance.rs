//! What keeps tables in shape, from outside.

use std::sync::Arc;

use futures::executor::block_on;

use super::{import, open, rows};
use crate::engine::{Engine, EntityOperation, IfMatch};
use rowkey_base::SqlState;
use rowkey_model::files::MemoryStore;
use rowkey_model::{EntityBuilder, Key, TableName};

fn export(rows: std::ops::Range<usize>, value: i32) -> String {
    rows.map(|i| format!("{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{i:03}\",\"Value\":{value}}}\n", i / 10)).collect()
}

fn run(engine: &Engine, sql: &str) -> Vec<String> {
    rows(&mut engine.own_session().expect("a session"), sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn refused(engine: &Engine, sql: &str) -> (SqlState, String) {
    let error = rows(&mut engine.own_session().expect("a session"), sql).expect_err("refused");
    (error.sqlstate(), error.to_string())
}

fn id(engine: &Engine) -> u64 {
    let catalog = engine.store().snapshot().catalog;
    catalog.table(engine.account(), &TableName::parse("People").expect("a name")).expect("the table").id
}

fn put(engine: &Engine, row: usize, value: i32) {
    let entity = EntityBuilder::new(Key::new(format!("p{}", row / 10), format!("{row:03}"))).property("Value", value);
    let operation = EntityOperation::InsertOrReplace(entity.build().expect("an entity"));
    block_on(engine.entities().operate(id(engine), &operation)).expect("a write");
}

/// Thirty imported entities, ten of them written again, one deleted.
fn people() -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    import(&engine, "People", &export(0..30, 1), 1 << 20).expect("imports");
    (5..15).for_each(|row| put(&engine, row, 2));
    block_on(engine.entities().operate(id(&engine), &EntityOperation::Delete(Key::new("p0", "000"), IfMatch::Any)))
        .expect("deletes");
    engine
}

const SHAPE: &str = "SELECT entities, partitions, files, masked_rows, delta_versions, delta_bytes > 0, generations, files_max \
                     FROM rowkey.tables WHERE table_name = 'People'";

#[test]
fn the_schema_shows_recent_writes_folds_and_masks() {
    let engine = people();
    assert_eq!(run(&engine, SHAPE), ["29|NULL|1|0|11|true|1|1"]);
    assert_eq!(run(&engine, "SELECT count(*) FROM people"), ["29"]);
    assert_eq!(run(&engine, "VACUUM People"), [] as [&str; 0]);
    assert_eq!(run(&engine, SHAPE), ["29|3|1|0|0|false|0|1"], "more than a third was masked");
    (15..19).for_each(|row| put(&engine, row, 3));
    run(&engine, "VACUUM");
    assert_eq!(run(&engine, SHAPE), ["29|NULL|2|4|0|false|0|2"]);
    let files = run(&engine, "SELECT rows, live_rows FROM rowkey.files ORDER BY rows");
    assert_eq!(files, ["4|4", "29|25"]);
    run(&engine, "vacuum (full, analyze) public.people");
    assert_eq!(run(&engine, SHAPE), ["29|3|1|0|0|false|0|1"]);
    let idle = run(&engine, "SELECT table_name, work, work_began, folds, last_failure FROM rowkey.maintenance");
    assert_eq!(idle, ["People|NULL|NULL|0|NULL"], "the background had nothing to do");
    let settings =
        "SELECT name, value FROM rowkey.settings WHERE name IN ('durability', 'checkpoint_failure') ORDER BY 1";
    assert_eq!(run(&engine, settings), ["checkpoint_failure|NULL", "durability|sync"]);
    assert_eq!(run(&engine, "SELECT value::int8 > 0 FROM rowkey.settings WHERE name = 'log_bytes'"), ["true"]);
}

#[test]
fn an_import_counts_what_was_written_before_it() {
    let engine = people();
    let report = import(&engine, "People", &export(10..40, 2), 1 << 20).expect("imports");
    // Five of them were written with the same value, fifteen imported with another one, ten are
    // new.
    assert_eq!((report.unchanged, report.replaced, report.inserted), (5, 15, 10));
    assert_eq!((report.stored, report.partitions), (39, Some(4)));
    assert_eq!(run(&engine, "SELECT count(*), sum(value) FROM people"), ["39|74"]);
}

#[test]
fn vacuum_is_refused_where_postgres_refuses_it() {
    let engine = people();
    let mut session = engine.own_session().expect("a session");
    rows(&mut session, "BEGIN").expect("begins");
    let error = rows(&mut session, "VACUUM people").expect_err("refused");
    assert_eq!(error.sqlstate(), SqlState::ACTIVE_SQL_TRANSACTION);
    assert_eq!(error.to_string(), "VACUUM cannot run inside a transaction block");
    let unknown = refused(&engine, "VACUUM peopel");
    assert_eq!(unknown, (SqlState::UNDEFINED_TABLE, "relation \"peopel\" does not exist".to_owned()));
    let unknown = refused(&engine, "VACUUM other.people");
    assert_eq!(unknown, (SqlState::UNDEFINED_TABLE, "relation \"other.people\" does not exist".to_owned()));
    for (sql, kind, message) in [
        ("VACUUM (FREEZE) people", SqlState::FEATURE_NOT_SUPPORTED, "VACUUM option \"freeze\" is not supported"),
        ("VACUUM (fast) people", SqlState::SYNTAX_ERROR, "unrecognized VACUUM option \"fast\""),
        ("VACUUM (full maybe) people", SqlState::SYNTAX_ERROR, "a VACUUM option requires a Boolean value"),
        ("VACUUM people (value)", SqlState::FEATURE_NOT_SUPPORTED, "VACUUM with a list of columns is not supported"),
        ("VACUUM people,", SqlState::SYNTAX_ERROR, "syntax error at end of input"),
        ("VACUUM people others", SqlState::SYNTAX_ERROR, "syntax error at or near \"others\""),
    ] {
        assert_eq!(refused(&engine, sql), (kind, message.to_owned()), "{sql}");
    }
}

#[test]
fn vacuum_verbose_tells_and_views_are_skipped() {
    let engine = people();
    run(&engine, "CREATE VIEW grown AS SELECT value FROM people");
    let mut session = engine.own_session().expect("a session");
    rows(&mut session, "VACUUM FULL VERBOSE people, grown").expect("vacuums");
    let told: Vec<String> = session.take_notices().iter().map(ToString::to_string).collect();
    let view = "skipping \"grown\" --- cannot vacuum non-tables or special system tables";
    let report = "\"People\": folded 10 entities into 1 files; wrote 2 files as 1, without 11 masked rows";
    assert_eq!(told, [view, report]);
}
