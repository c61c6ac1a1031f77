//! Columns that are dropped and renamed, in files and in recent writes.

use std::sync::Arc;

use super::{ask, import, open, rows, run};
use crate::engine::Engine;
use crate::session::{Session, SqlState};
use rowkey_model::files::MemoryStore;

fn fails(session: &mut Session, sql: &str) -> (SqlState, String, Option<String>) {
    let error = rows(session, sql).expect_err(sql);
    session.failed();
    (error.sqlstate(), error.to_string(), error.detail().map(str::to_owned))
}

/// Entities in files and in recent writes: in some of them Age is a text.
fn people() -> (MemoryStore, Engine) {
    let files = MemoryStore::new();
    let engine = open(Arc::new(files.clone())).expect("opens");
    let mut text = String::new();
    for i in 0..20 {
        let age = if i % 5 == 0 { "\"old\"".to_owned() } else { i.to_string() };
        text.push_str(&format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{i:02}\",\"Age\":{age},\"Name\":\"n{i}\"}}\n"));
    }
    import(&engine, "People", &text, 300).expect("imports");
    let mut one = engine.own_session().expect("a session");
    run(
        &mut one,
        "INSERT INTO people (partitionkey, rowkey, \"Age:Int32\") VALUES ('p', '05', 55) ON CONFLICT (partitionkey, rowkey) DO UPDATE SET name = 'new'",
    );
    run(&mut one, "INSERT INTO people (partitionkey, rowkey, \"Age:Int32\", name) VALUES ('q', '99', 99, 'q')");
    drop(one);
    (files, engine)
}

#[test]
fn a_column_that_is_dropped_is_gone_from_everything() {
    for vacuum in [false, true] {
        let (files, engine) = people();
        let mut one = engine.own_session().expect("a session");
        assert_eq!(ask(&mut one, "SELECT count(age) FROM people"), ["21"]);
        run(&mut one, "ALTER TABLE people DROP COLUMN age");
        assert_eq!(fails(&mut one, "SELECT age FROM people").0, SqlState::UNDEFINED_COLUMN);
        assert_eq!(fails(&mut one, "SELECT \"Age:Int32\" FROM people").0, SqlState::UNDEFINED_COLUMN);
        if vacuum {
            run(&mut one, "VACUUM people");
        }
        // One of the same name and another type has nothing of it.
        run(&mut one, "ALTER TABLE people ADD COLUMN \"Age\" bigint");
        assert_eq!(ask(&mut one, "SELECT count(age), count(*), count(name) FROM people"), ["0|21|21"]);
        assert!(ask(&mut one, "SELECT rowkey FROM people WHERE age > 0").is_empty());
        run(&mut one, "UPDATE people SET age = 5 WHERE rowkey = '07'");
        assert_eq!(ask(&mut one, "SELECT rowkey, age FROM people WHERE age IS NOT NULL"), ["07|5"]);
        run(&mut one, "VACUUM FULL people");
        assert_eq!(ask(&mut one, "SELECT rowkey, age FROM people WHERE age IS NOT NULL"), ["07|5"]);
        drop((one, engine));
        let engine = open(Arc::new(MemoryStore::with_files(files.files()))).expect("opens");
        let mut one = engine.own_session().expect("a session");
        assert_eq!(ask(&mut one, "SELECT count(age), count(*), count(name) FROM people"), ["1|21|21"]);
    }
}

#[test]
fn a_column_that_is_renamed_keeps_its_values_and_types() {
    let (files, engine) = people();
    let mut one = engine.own_session().expect("a session");
    let before = ask(&mut one, "SELECT rowkey, age, \"Age:Int32\", name FROM people ORDER BY partitionkey, rowkey");
    run(&mut one, "COMMENT ON COLUMN people.age IS 'in years'");
    run(&mut one, "ALTER TABLE people RENAME COLUMN age TO \"Years\"");
    let after = "SELECT rowkey, years, \"Years:Int32\", name FROM people ORDER BY partitionkey, rowkey";
    assert_eq!(ask(&mut one, after), before);
    assert_eq!(fails(&mut one, "SELECT age FROM people").0, SqlState::UNDEFINED_COLUMN);
    assert_eq!(fails(&mut one, "ALTER TABLE people RENAME name TO \"Years\"").0, SqlState::DUPLICATE_COLUMN);
    assert_eq!(fails(&mut one, "ALTER TABLE people RENAME rowkey TO x").0, SqlState::FEATURE_NOT_SUPPORTED);
    assert_eq!(
        fails(&mut one, "ALTER TABLE people RENAME COLUMN \"Years:Int32\" TO x").0,
        SqlState::FEATURE_NOT_SUPPORTED
    );
    assert_eq!(fails(&mut one, "ALTER TABLE people DROP COLUMN nosuch").0, SqlState::UNDEFINED_COLUMN);
    run(&mut one, "ALTER TABLE people DROP COLUMN IF EXISTS nosuch");
    assert_eq!(one.take_notices().len(), 1);
    run(&mut one, "VACUUM FULL people");
    assert_eq!(ask(&mut one, after), before);
    // The first name is free.
    run(&mut one, "ALTER TABLE people ADD COLUMN \"Age\" text");
    assert_eq!(ask(&mut one, "SELECT count(age) FROM people"), ["0"]);
    drop((one, engine));
    let engine = open(Arc::new(MemoryStore::with_files(files.files()))).expect("opens");
    let mut one = engine.own_session().expect("a session");
    assert_eq!(ask(&mut one, after), before);
}

#[test]
fn a_table_that_is_renamed_is_the_same_table() {
    let (_files, engine) = people();
    let mut one = engine.own_session().expect("a session");
    let before = ask(&mut one, "SELECT * FROM people ORDER BY partitionkey, rowkey");
    run(&mut one, "CREATE TABLE Others (n int)");
    assert_eq!(fails(&mut one, "ALTER TABLE people RENAME TO others").0, SqlState::DUPLICATE_TABLE);
    assert_eq!(fails(&mut one, "ALTER TABLE people RENAME TO \"People\"").0, SqlState::DUPLICATE_TABLE);
    run(&mut one, "BEGIN");
    run(&mut one, "ALTER TABLE people RENAME TO \"Persons\"");
    run(&mut one, "CREATE TABLE People (n int)");
    run(&mut one, "COMMIT");
    assert_eq!(ask(&mut one, "SELECT * FROM persons ORDER BY partitionkey, rowkey"), before);
    assert_eq!(ask(&mut one, "SELECT count(*) FROM people"), ["0"]);
    run(&mut one, "VACUUM FULL persons");
    assert_eq!(ask(&mut one, "SELECT * FROM persons ORDER BY partitionkey, rowkey"), before);
    run(&mut one, "CREATE VIEW old AS SELECT age FROM persons");
    let (kind, _, detail) = fails(&mut one, "ALTER TABLE persons RENAME TO \"Folk\"");
    assert_eq!((kind, detail.as_deref()), (SqlState::FEATURE_NOT_SUPPORTED, Some("view old depends on table Persons")));
}

#[test]
fn views_that_read_a_column_go_with_it_only_if_asked() {
    let (_files, engine) = people();
    let mut one = engine.own_session().expect("a session");
    run(&mut one, "CREATE VIEW ages AS SELECT rowkey, age FROM people");
    run(&mut one, "CREATE VIEW oldest AS SELECT max(rowkey) AS r FROM ages");
    run(&mut one, "CREATE VIEW named AS SELECT name FROM people");
    let (kind, message, detail) = fails(&mut one, "ALTER TABLE people DROP COLUMN age");
    assert_eq!(kind, SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    assert_eq!(message, "cannot drop column Age of table People because other objects depend on it");
    assert_eq!(
        detail.as_deref(),
        Some("view ages depends on column Age of table People\nview oldest depends on view ages")
    );
    let (kind, message, detail) = fails(&mut one, "DROP TABLE people");
    assert_eq!(kind, SqlState::DEPENDENT_OBJECTS_STILL_EXIST);
    assert_eq!(message, "cannot drop table People because other objects depend on it");
    let mut lines: Vec<_> = detail.as_deref().unwrap_or_default().lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["view ages depends on table People", "view named depends on table People", "view oldest depends on view ages"]
    );
    assert_eq!(fails(&mut one, "ALTER TABLE people RENAME age TO years").0, SqlState::FEATURE_NOT_SUPPORTED);
    run(&mut one, "ALTER TABLE people DROP COLUMN age CASCADE");
    assert_eq!(one.take_notices().len(), 1);
    assert_eq!(fails(&mut one, "SELECT * FROM ages").0, SqlState::UNDEFINED_TABLE);
    assert_eq!(ask(&mut one, "SELECT count(*) FROM named"), ["21"]);
    run(&mut one, "DROP TABLE people CASCADE");
    assert_eq!(fails(&mut one, "SELECT * FROM named").0, SqlState::UNDEFINED_TABLE);
}

#[test]
fn a_declared_column_shows_narrower_numbers_and_is_written_as_it_was_declared() {
    for fold in [false, true] {
        let engine = open(Arc::new(MemoryStore::new())).expect("opens");
        let mut session = engine.own_session().expect("a session");
        rows(&mut session, "CREATE TABLE Tab (n bigint, d float8, i int, t text)").expect("creates");
        let written = r#"{"PartitionKey":"p","RowKey":"1","n":5,"d":3,"i":7,"t":9}
            {"PartitionKey":"p","RowKey":"2","n@odata.type":"Edm.Int64","n":"9007199254740993","d":0.5}
            {"PartitionKey":"p","RowKey":"3","n":2.5,"d@odata.type":"Edm.Int64","d":"4"}"#;
        import(&engine, "Tab", written, 1 << 20).expect("imports");
        if fold {
            rows(&mut session, "VACUUM FULL Tab").expect("folds");
        }
        let mut asked = |sql: &str| rows(&mut session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(
            asked("SELECT n, d, i, t FROM tab ORDER BY rowkey"),
            ["5|3.0|7|NULL", "9007199254740993|0.5|NULL|NULL", "NULL|4.0|NULL|NULL"]
        );
        assert_eq!(
            asked(r#"SELECT "n:Int32", "n:Double", "d:Int32", "d:Int64" FROM tab ORDER BY rowkey"#),
            ["5|NULL|3|NULL", "NULL|NULL|NULL|NULL", "NULL|2.5|NULL|4"]
        );
        assert_eq!(asked("SELECT sum(n), count(n), sum(d) FROM tab"), ["9007199254740998|2|7.5"]);
        assert_eq!(asked("SELECT rowkey FROM tab WHERE n = 5"), ["1"]);
        assert_eq!(asked("SELECT rowkey, n FROM tab WHERE partitionkey = 'p' AND n < 100"), ["1|5"]);
        asked("UPDATE tab SET n = n + 1 WHERE partitionkey = 'p' AND rowkey = '1'");
        asked("UPDATE tab SET d = d + 1, i = i + 1");
        assert_eq!(
            asked(r#"SELECT n, "n:Int32", d, "d:Int32", i FROM tab ORDER BY rowkey"#),
            ["6|NULL|4.0|NULL|8", "9007199254740993|NULL|1.5|NULL|NULL", "NULL|NULL|5.0|NULL|NULL"]
        );
        import(&engine, "Tab", r#"{"PartitionKey":"p","RowKey":"4","n":1,"d":1}"#, 1 << 20).expect("imports");
        assert_eq!(asked("UPDATE tab SET d = NULL WHERE rowkey = '4' RETURNING n, d"), ["1|NULL"]);
        asked("UPDATE tab SET n = NULL WHERE partitionkey = 'p' AND rowkey = '4'");
        assert_eq!(asked(r#"SELECT n, "n:Int32", d, "d:Int32" FROM tab WHERE rowkey = '4'"#), ["NULL|NULL|NULL|NULL"]);
    }
}
