//! Views, comments and schema `rowkey`, through SQL.

use std::sync::Arc;

use futures::executor::block_on;

use super::{entities, import, open, rows};
use crate::engine::{Engine, Options};
use crate::session::{Error, SqlState};
use rowkey_base::clock::ManualClock;
use rowkey_model::DateTime;
use rowkey_model::files::MemoryStore;
use rowkey_storage::CommentObject;

const FILE_BYTES: usize = 1 << 20;

fn people() -> (MemoryStore, Engine) {
    let files = MemoryStore::new();
    let engine = open(Arc::new(files.clone())).expect("opens");
    let text = "{\"PartitionKey\":\"a\",\"RowKey\":\"1\",\"Name\":\"Ann\",\"Age\":41}\n\
                {\"PartitionKey\":\"a\",\"RowKey\":\"2\",\"Name\":\"Bob\",\"Age\":17}\n\
                {\"PartitionKey\":\"b\",\"RowKey\":\"1\",\"Name\":\"Cleo\",\"Age\":30}\n";
    import(&engine, "People", text, FILE_BYTES).expect("imports");
    (files, engine)
}

fn run(engine: &Engine, sql: &str) -> Vec<String> {
    rows(&mut engine.own_session().expect("a session"), sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn fails(engine: &Engine, sql: &str) -> Error {
    rows(&mut engine.own_session().expect("a session"), sql).expect_err(sql)
}

#[test]
fn a_view_is_read_like_a_table_and_outlives_the_process() {
    let (files, engine) = people();
    assert_eq!(run(&engine, "CREATE VIEW adults AS SELECT \"Name\", \"Age\" FROM People WHERE \"Age\" >= 18"), [""; 0]);
    assert_eq!(
        run(&engine, "CREATE VIEW \"Grown Ups\" (who, years) AS SELECT a.*  FROM adults AS a -- all of them\n;"),
        [""; 0]
    );
    drop(engine);
    let engine = open(Arc::new(MemoryStore::with_files(files.files()))).expect("opens");
    assert_eq!(run(&engine, "SELECT \"Name\" FROM ADULTS ORDER BY 1"), ["Ann", "Cleo"]);
    assert_eq!(run(&engine, "SELECT years, who FROM \"grown ups\" WHERE years > 30"), ["41|Ann"]);
    assert_eq!(
        run(&engine, "SELECT g.who FROM public.\"Grown Ups\" AS g JOIN adults ON who = \"Name\" ORDER BY 1"),
        ["Ann", "Cleo"]
    );
    assert_eq!(run(&engine, "WITH adults AS (SELECT count(*) AS n FROM adults) SELECT n FROM adults"), ["2"]);
    let catalog = engine.store().snapshot().catalog;
    let view = catalog.view(engine.account(), "grown ups").expect("a view");
    assert_eq!(view.sql, "SELECT a.*  FROM adults AS a");
    let columns: Vec<(&str, &str)> =
        view.columns.iter().map(|column| (column.name.as_str(), column.postgres_type.as_str())).collect();
    assert_eq!(columns, [("who", "text"), ("years", "int4")]);
    let plan = run(&engine, "EXPLAIN SELECT * FROM adults WHERE \"Age\" > 40").join("\n");
    assert!(plan.contains("People"), "{plan}");
}

#[test]
fn a_view_keeps_the_columns_it_was_made_with() {
    let (_, engine) = people();
    run(&engine, "CREATE VIEW everyone AS SELECT *, 1 AS one FROM People");
    run(
        &engine,
        "CREATE VIEW pairs (x, y) AS SELECT a.\"RowKey\", b.\"RowKey\" FROM People a, People b WHERE a.\"Name\" = 'Bob' AND b.\"Name\" = 'Ann'",
    );
    let before = run(&engine, "SELECT * FROM everyone ORDER BY 1, 2");
    let more = "{\"PartitionKey\":\"b\",\"RowKey\":\"1\",\"Name\":\"Cleo\",\"Age\":30,\"Town\":\"Oslo\"}";
    import(&engine, "People", more, FILE_BYTES).expect("imports");
    assert_eq!(run(&engine, "SELECT \"Town\" FROM People WHERE \"Town\" IS NOT NULL"), ["Oslo"]);
    assert_eq!(run(&engine, "SELECT * FROM everyone WHERE \"PartitionKey\" = 'a' ORDER BY 1, 2"), before[..2]);
    assert_eq!(fails(&engine, "SELECT \"Town\" FROM everyone").sqlstate(), SqlState::UNDEFINED_COLUMN);
    assert_eq!(run(&engine, "SELECT x, y FROM pairs"), ["2|1"], "two columns of one name keep their order");
}

#[test]
fn views_are_refused_as_postgresql_refuses_them() {
    let (_, engine) = people();
    run(&engine, "CREATE VIEW v AS SELECT \"Name\", \"Age\" FROM People");
    run(&engine, "CREATE VIEW w AS SELECT \"Name\" FROM v");
    for (sql, wanted) in [
        ("CREATE VIEW V AS SELECT 1 AS x", "relation \"V\" already exists"),
        ("CREATE VIEW people AS SELECT 1 AS x", "relation \"people\" already exists"),
        ("CREATE OR REPLACE VIEW people AS SELECT 1 AS x", "\"People\" is not a view"),
        ("CREATE VIEW n AS SELECT nothing FROM People", "column \"nothing\" does not exist"),
        ("CREATE VIEW n AS SELECT 1 AS x FROM Nobody", "relation \"nobody\" does not exist"),
        ("CREATE VIEW n (a, b) AS SELECT 1 AS x", "CREATE VIEW specifies more column names than columns"),
        ("CREATE VIEW n (a, a) AS SELECT 1 AS x, 2 AS y", "column \"a\" specified more than once"),
        ("CREATE VIEW n AS SELECT $1 AS x", "there is no parameter $1"),
        ("CREATE VIEW nowhere.n AS SELECT 1 AS x", "schema \"nowhere\" does not exist"),
        ("CREATE VIEW pg_catalog.n AS SELECT 1 AS x", "permission denied"),
        ("CREATE TEMP VIEW n AS SELECT 1 AS x", "CREATE TEMPORARY VIEW is not supported"),
        ("CREATE MATERIALIZED VIEW n AS SELECT 1 AS x", "CREATE MATERIALIZED VIEW is not supported"),
        ("CREATE OR REPLACE VIEW v AS SELECT \"Name\" FROM People", "cannot drop columns from view"),
        (
            "CREATE OR REPLACE VIEW v AS SELECT \"Name\", \"Age\" AS years FROM People",
            "cannot change name of view column \"Age\" to \"years\"",
        ),
        (
            "CREATE OR REPLACE VIEW v AS SELECT \"Name\", \"Name\" AS \"Age\" FROM People",
            "cannot change data type of view column \"Age\" from integer to text",
        ),
        (
            "CREATE OR REPLACE VIEW v AS SELECT \"Name\", 1::int8 AS \"Age\", 2 AS z FROM w",
            "cannot change data type of view column \"Age\" from integer to bigint",
        ),
        (
            "CREATE OR REPLACE VIEW v AS SELECT \"Name\", CAST(1 AS int) AS \"Age\" FROM w",
            "infinite recursion detected in rules for relation \"v\"",
        ),
        ("DROP VIEW v", "cannot drop view v because other objects depend on it"),
        ("DROP VIEW people", "\"People\" is not a view"),
        ("DROP VIEW nobody", "view \"nobody\" does not exist"),
    ] {
        let error = fails(&engine, sql);
        assert!(error.to_string().contains(wanted), "{sql}: {error}");
    }
    let long = "v".repeat(64);
    assert_eq!(fails(&engine, &format!("CREATE VIEW {long} AS SELECT 1 AS x")).sqlstate(), SqlState::CHECK_VIOLATION);

    run(&engine, "CREATE OR REPLACE VIEW V AS SELECT \"Name\", \"Age\", \"RowKey\" FROM People");
    assert_eq!(run(&engine, "SELECT \"RowKey\" FROM v WHERE \"Name\" = 'Cleo'"), ["1"]);
    run(&engine, "CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS x");
    run(&engine, "DROP VIEW IF EXISTS nobody, w");
    assert!(fails(&engine, "SELECT * FROM w").to_string().contains("does not exist"));
    run(&engine, "CREATE VIEW w AS SELECT * FROM v");
    run(&engine, "DROP VIEW v CASCADE");
    assert_eq!(engine.store().snapshot().catalog.views().count(), 0);
    assert_eq!(entities(&engine, "People").map(|found| found.len()), Some(3));
}

#[test]
fn a_view_that_cannot_be_planned_any_more_names_itself() {
    let (_, engine) = people();
    run(&engine, "CREATE VIEW both AS SELECT * FROM People UNION ALL SELECT * FROM People");
    run(&engine, "CREATE VIEW outermost AS SELECT * FROM both");
    let catalog = engine.store().snapshot().catalog;
    let both = catalog.view(engine.account(), "both").expect("a view");
    let broken = rowkey_storage::Edit::CreateView {
        id: both.id,
        account: both.account.clone(),
        name: both.name.clone(),
        sql: "SELECT gone FROM People".to_owned(),
        columns: both.columns.clone(),
        reads: both.reads.clone(),
        literals: None,
        replaces: true,
    };
    engine.store().commit(&[broken]).expect("commits");
    let error = fails(&engine, "SELECT * FROM outermost");
    let wanted = "view \"outermost\" cannot be read: view \"both\" cannot be read: column \"gone\" does not exist";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn nesting_and_doubling_of_views_end() {
    let (_, engine) = people();
    run(&engine, "CREATE VIEW v0 AS SELECT 1 AS x");
    for depth in 1..40 {
        let made = rows(
            &mut engine.own_session().expect("a session"),
            &format!("CREATE VIEW v{depth} AS SELECT x FROM v{}", depth - 1),
        );
        if let Err(error) = made {
            assert!(error.to_string().contains("nested in more than 32"), "{error}");
            assert_eq!(run(&engine, &format!("SELECT x FROM v{}", depth - 1)), ["1"]);
            assert!((30..=34).contains(&depth), "{depth}");
            break;
        }
        assert!(depth < 39, "no end");
    }
    run(&engine, "CREATE VIEW w0 AS SELECT 1 AS x");
    for depth in 1..20 {
        let before = depth - 1;
        let sql =
            format!("CREATE VIEW w{depth} AS SELECT a.x FROM w{before} a, w{before} b, (SELECT * FROM w{before}) c");
        if let Err(error) = rows(&mut engine.own_session().expect("a session"), &sql) {
            assert!(error.to_string().contains("more than 2000 steps"), "{error}");
            break;
        }
        assert!(depth < 19, "no end");
    }
    // Two views that both read both views before them: each is planned for each.
    run(&engine, "CREATE VIEW a0 AS SELECT 1 AS x");
    run(&engine, "CREATE VIEW b0 AS SELECT 1 AS x");
    for depth in 1..20 {
        let before = depth - 1;
        let made = ["a", "b"].map(|name| {
            let query = format!("SELECT x FROM a{before} UNION SELECT x FROM b{before}");
            rows(&mut engine.own_session().expect("a session"), &format!("CREATE VIEW {name}{depth} AS {query}"))
        });
        if let Some(error) = made.into_iter().find_map(Result::err) {
            let message = error.to_string();
            assert!(message.contains("more than 1000 views") || message.contains("more than 2000 steps"), "{message}");
            break;
        }
        assert!(depth < 19, "no end");
    }
}

#[test]
fn comments_are_set_and_taken_away() {
    let (files, engine) = people();
    run(&engine, "CREATE VIEW v (\"n\") AS SELECT \"Name\" FROM People");
    for sql in [
        "COMMENT ON TABLE people IS 'who works here'",
        "COMMENT ON VIEW public.v IS 'names'",
        "COMMENT ON COLUMN People.age IS 'in years'",
        "COMMENT ON COLUMN v.n IS 'the name'",
        "COMMENT ON SCHEMA public IS 'all there is'",
        "COMMENT ON DATABASE devstoreaccount1 IS 'a test'",
    ] {
        run(&engine, sql);
    }
    drop(engine);
    let engine = open(Arc::new(MemoryStore::with_files(files.files()))).expect("opens");
    let account = engine.account().clone();
    let said = |engine: &Engine, object: CommentObject| {
        engine.store().snapshot().catalog.comment(&account, &object).map(str::to_owned)
    };
    let (table, view) = (1, 2);
    assert_eq!(said(&engine, CommentObject::Table(table)).as_deref(), Some("who works here"));
    assert_eq!(said(&engine, CommentObject::View(view)).as_deref(), Some("names"));
    assert_eq!(said(&engine, CommentObject::Column(table, "Age".to_owned())).as_deref(), Some("in years"));
    assert_eq!(said(&engine, CommentObject::Column(view, "n".to_owned())).as_deref(), Some("the name"));
    assert_eq!(said(&engine, CommentObject::Schema("public".to_owned())).as_deref(), Some("all there is"));
    assert_eq!(said(&engine, CommentObject::Database).as_deref(), Some("a test"));
    assert_eq!(run(&engine, "SELECT comment FROM rowkey.tables"), ["who works here"]);

    run(&engine, "COMMENT ON TABLE People IS NULL");
    run(&engine, "COMMENT ON VIEW v IS ''");
    assert_eq!(said(&engine, CommentObject::Table(table)), None);
    assert_eq!(said(&engine, CommentObject::View(view)), None);
    for (sql, wanted) in [
        ("COMMENT ON TABLE v IS 'x'", "\"v\" is not a table"),
        ("COMMENT ON VIEW People IS 'x'", "\"People\" is not a view"),
        ("COMMENT ON TABLE nobody IS 'x'", "relation \"nobody\" does not exist"),
        ("COMMENT ON COLUMN People.\"age\" IS 'x'", "column \"age\" of relation \"People\" does not exist"),
        ("COMMENT ON COLUMN age IS 'x'", "column name must be qualified"),
        ("COMMENT ON SCHEMA nowhere IS 'x'", "schema \"nowhere\" does not exist"),
        ("COMMENT ON DATABASE other IS 'x'", "database \"other\" does not exist"),
        ("COMMENT ON SEQUENCE s IS 'x'", "is not supported"),
    ] {
        let error = fails(&engine, sql);
        assert!(error.to_string().contains(wanted), "{sql}: {error}");
    }
}

#[test]
fn a_store_open_for_reading_only_refuses_definitions() {
    let (files, engine) = people();
    drop(engine);
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(0)));
    let options = Options::default();
    let files = Arc::new(MemoryStore::with_files(files.files()));
    let engine = block_on(Engine::open_files(files, clock, options, true)).expect("opens");
    assert_eq!(run(&engine, "SELECT count(*) FROM People"), ["3"]);
    for sql in ["CREATE VIEW v AS SELECT 1 AS x", "COMMENT ON TABLE People IS 'x'"] {
        let error = fails(&engine, sql);
        assert_eq!(error.sqlstate(), SqlState::READ_ONLY_SQL_TRANSACTION, "{error}");
        assert_eq!(error.detail(), Some("The data folder is open for reading only."), "{error}");
    }
}

#[test]
fn a_table_cannot_take_the_name_of_a_view() {
    let (_, engine) = people();
    run(&engine, "CREATE VIEW Adults AS SELECT * FROM People");
    let error = import(&engine, "adults", "{\"PartitionKey\":\"a\",\"RowKey\":\"1\"}", FILE_BYTES).expect_err("a view");
    assert!(error.to_string().contains("\"adults\" is not a table"), "{error}");
}

#[test]
fn schema_rowkey_says_what_is_stored() {
    let (_, engine) = people();
    assert_eq!(
        run(
            &engine,
            "SELECT table_name, entities, partitions, range_partitions, columns, has_other, created FROM rowkey.tables"
        ),
        ["People|3|2|1|2|false|2024-05-01T08:00:00Z"]
    );
    assert_eq!(
        run(
            &engine,
            "SELECT property, type, sql_type, has_column, entities, min, max, exact FROM rowkey.properties WHERE table_name = 'People' ORDER BY 1"
        ),
        ["Age|Int32|int4|true|3|17|41|true", "Name|String|text|true|3|Ann|Cleo|true"]
    );
    assert_eq!(run(&engine, "SELECT count(*) FROM rowkey.properties WHERE table_name = 'Nobody'"), ["0"]);
    assert_eq!(
        run(
            &engine,
            "SELECT ordinal, lower_partition_key, upper_partition_key, rows, live_rows, files, first_partition_key, first_row_key, last_partition_key, last_row_key, exact FROM rowkey.partitions"
        ),
        ["1|NULL|NULL|3|3|1|a|1|b|1|true"]
    );
    let files = run(&engine, "SELECT table_name, rows, bytes > 0, path LIKE '%parquet' FROM rowkey.files");
    assert_eq!(files, ["People|3|true|true"]);
    assert_eq!(run(&engine, "SELECT value FROM rowkey.settings WHERE name = 'account'"), ["devstoreaccount1"]);
    let joined = "SELECT t.table_name, sum(f.bytes) = t.bytes FROM rowkey.tables t JOIN rowkey.files f USING (table_name) GROUP BY t.table_name, t.bytes";
    assert_eq!(run(&engine, joined), ["People|true"]);
}

#[test]
fn range_partitions_tile_the_key_space() {
    let (_, engine) = people();
    let many: String =
        (0..60).map(|i| format!("{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{i:03}\"}}\n", i / 20)).collect();
    import(&engine, "Many", &many, 300).expect("imports");
    let ranges = run(
        &engine,
        "SELECT lower_partition_key, lower_row_key, upper_partition_key, upper_row_key, live_rows FROM rowkey.partitions WHERE table_name = 'Many' ORDER BY ordinal",
    );
    assert!(ranges.len() > 3, "{ranges:?}");
    let split: Vec<Vec<&str>> = ranges.iter().map(|row| row.split('|').collect()).collect();
    assert_eq!((split[0][0], split[0][1]), ("NULL", "NULL"));
    for pair in split.windows(2) {
        assert_eq!(pair[0][2..4], pair[1][0..2]);
    }
    assert_eq!(split.last().map(|last| last[2]), Some("NULL"));
    let entities: u64 = split.iter().map(|row| row[4].parse::<u64>().expect("a number")).sum();
    assert_eq!(entities, 60);
}

#[test]
fn properties_without_columns_are_counted_from_the_files() {
    let (_, engine) = people();
    let mut text = String::new();
    for i in 0..510 {
        text.push_str(&format!(
            "{{\"PartitionKey\":\"p\",\"RowKey\":\"{i:03}\",\"P{i:03}\":{i},\"Common\":{}}}\n",
            i % 7
        ));
    }
    import(&engine, "Wide", &text, FILE_BYTES).expect("imports");
    let all = "SELECT count(*), sum(entities) FROM rowkey.properties WHERE table_name = 'Wide'";
    assert_eq!(run(&engine, all), ["511|1020"]);
    let other = run(
        &engine,
        "SELECT property, entities, min = max AND max = substr(property, 2)::int::text FROM rowkey.properties WHERE table_name = 'Wide' AND NOT has_column",
    );
    assert_eq!(other.len(), 11, "{other:?}");
    assert!(other.iter().all(|row| row.ends_with("|1|true")), "{other:?}");
}

#[test]
fn entity_types_are_found_by_property_and_by_row_key() {
    let (_, engine) = people();
    let text = "{\"PartitionKey\":\"Sales\",\"RowKey\":\"emp_0001\",\"Name\":\"Ann\",\"Age\":41}\n\
                {\"PartitionKey\":\"Sales\",\"RowKey\":\"emp_0002\",\"Name\":\"Bob\"}\n\
                {\"PartitionKey\":\"Sales\",\"RowKey\":\"dept-7\",\"Budget\":700}\n\
                {\"PartitionKey\":\"Sales\",\"RowKey\":\"0815\",\"Note\":\"neither\"}\n";
    import(&engine, "Employees", text, FILE_BYTES).expect("imports");
    assert_eq!(
        run(&engine, "SELECT entity_type, rule, entities, columns, view_name FROM rowkey.entity_types('employees')"),
        [
            "emp|RowKey begins with emp_|2|[Name, Age]|Employees_emp",
            "dept|RowKey begins with dept-|1|[Budget]|Employees_dept"
        ]
    );
    assert_eq!(run(&engine, "SELECT entity_type FROM entity_types('People')"), [""; 0]);
    assert_eq!(run(&engine, "CALL create_entity_views('Employees')").len(), 2);
    assert_eq!(
        run(&engine, "SELECT \"RowKey\", \"Name\", \"Age\" FROM Employees_emp ORDER BY 1"),
        ["emp_0001|Ann|41", "emp_0002|Bob|NULL"]
    );
    assert_eq!(run(&engine, "SELECT * FROM \"Employees_dept\"").len(), 1);

    // Again, with a property more: what was there keeps its place.
    let more = "{\"PartitionKey\":\"Sales\",\"RowKey\":\"emp_0001\",\"Budget\":1,\"Age\":42}\n";
    import(&engine, "Employees", more, FILE_BYTES).expect("imports");
    assert_eq!(run(&engine, "CALL rowkey.create_entity_views('Employees')").len(), 2);
    assert_eq!(run(&engine, "SELECT \"Age\", \"Budget\" FROM Employees_emp WHERE \"RowKey\" = 'emp_0001'"), ["42|1"]);

    let typed = "{\"PartitionKey\":\"a\",\"RowKey\":\"x_1\",\"EntityType\":\"Order\",\"Total\":5}\n\
                 {\"PartitionKey\":\"a\",\"RowKey\":\"x_2\",\"EntityType\":\"Order line\",\"Pieces\":2}\n\
                 {\"PartitionKey\":\"a\",\"RowKey\":\"x_3\",\"EntityType\":\"Order line\",\"Pieces\":3}\n";
    import(&engine, "Orders", typed, FILE_BYTES).expect("imports");
    assert_eq!(
        run(&engine, "SELECT entity_type, entities, view_name, create_statement FROM entity_types('Orders')"),
        [
            "Order line|2|Orders_Order_line|CREATE OR REPLACE VIEW \"Orders_Order_line\" AS SELECT \"PartitionKey\", \"RowKey\", \"Timestamp\", \"EntityType\", \"Pieces\" FROM \"Orders\" WHERE \"EntityType\" = 'Order line'",
            "Order|1|Orders_Order|CREATE OR REPLACE VIEW \"Orders_Order\" AS SELECT \"PartitionKey\", \"RowKey\", \"Timestamp\", \"EntityType\", \"Total\" FROM \"Orders\" WHERE \"EntityType\" = 'Order'"
        ]
    );
    assert!(fails(&engine, "CALL create_entity_views('People')").to_string().contains("no types of entities"));
    assert!(fails(&engine, "CALL create_entity_views('Nobody')").to_string().contains("does not exist"));
    assert!(fails(&engine, "SELECT * FROM entity_types('Employees_emp')").to_string().contains("is not a table"));
    assert!(fails(&engine, "CALL other_procedure()").to_string().contains("CALL is not supported"));
}
