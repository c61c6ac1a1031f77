//! What stands between the text of a statement and its first row, stage by stage: parsed, prepared
//! (names, types, logical plan), started (physical plan with values).
//!
//! `cargo bench --bench planning [-- FILTER]`; criterion compares with the run before.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use rowkey::Options;
use rowkey_postgres::types::SqlValue;
use rowkey_sql::engine::Engine;
use rowkey_sql::session::{Session, parse_all};

/// A range of one partition, a group, a join; the parameters have no declared types.
const STATEMENTS: [(&str, &str); 3] = [
    ("range", "SELECT * FROM Orders WHERE partitionkey = $1 AND n > $2"),
    ("group", "SELECT level, count(*), max(n) FROM Orders WHERE partitionkey = $1 GROUP BY level ORDER BY level"),
    (
        "join",
        "SELECT o.rowkey, c.name FROM Orders o JOIN Customers c ON c.rowkey = o.customer \
         WHERE o.partitionkey = $1 AND c.partitionkey = $2 AND o.n > 7 ORDER BY o.rowkey LIMIT 20",
    ),
];

const TABLES: [&str; 4] = [
    "CREATE TABLE Orders (n int, level int, customer text)",
    "CREATE TABLE Customers (name text)",
    "INSERT INTO Orders (\"PartitionKey\", \"RowKey\", n, level, customer) VALUES ('p', 'a', 1, 1, 'c')",
    "INSERT INTO Customers (\"PartitionKey\", \"RowKey\", name) VALUES ('p', 'c', 'Ada')",
];

fn stages(criterion: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let options = Options { target_partitions: Some(2), ..Options::default() };
    let engine = runtime.block_on(Engine::open(":memory:", options)).expect("opens");
    let mut session = engine.own_session().expect("a session");
    for statement in TABLES {
        runtime.block_on(session.sql(statement, &[])).expect(statement);
    }
    for (name, text) in STATEMENTS {
        let mut group = criterion.benchmark_group(name);
        group.bench_function("parse", |bench| bench.iter(|| parse_all(black_box(text)).expect("parses")));
        group.bench_function("prepare", |bench| {
            bench.iter(|| runtime.block_on(prepared(&mut session, text)));
        });
        let prepared = Arc::new(runtime.block_on(prepared(&mut session, text)));
        let values: Arc<[SqlValue]> = prepared
            .parameters
            .iter()
            .map(|ty| if ty.name == "int4" { SqlValue::Int4(0) } else { SqlValue::Text("p".to_owned()) })
            .collect();
        group.bench_function("start", |bench| {
            bench.iter(|| runtime.block_on(session.run(&prepared, &values)).expect("starts"));
        });
        group.finish();
    }
}

async fn prepared(session: &mut Session, text: &str) -> rowkey_sql::session::Prepared {
    let statement = parse_all(text).expect("parses").pop().expect("a statement");
    session.prepare(Arc::new(statement), &[]).await.expect("prepares")
}

criterion_group!(planning, stages);
criterion_main!(planning);
