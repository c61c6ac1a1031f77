//! The parts of a read and of an import, each by itself, on generated entities in memory.
//!
//! `cargo bench --bench parts [-- FILTER]`; criterion compares with the run before. The drivers
//! `points` and `queries` measure whole questions on real folders.

use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use datafusion::logical_expr::{Expr, col, lit};
use futures::executor::block_on;
use rowkey::model::DateTime;
use rowkey::{Database, ImportOptions, Options};
use rowkey_formats::{DecodeOptions, Error, Format, Progress, Source, decode};
use rowkey_model::files::{FileStore, MemoryStore};
use rowkey_model::rows::{PropertyNames, Rows};
use rowkey_sql::plan_access;
use rowkey_storage::run::{WriteOptions, write_run};
use tokio::runtime::Runtime;

/// Entities of the table that is read: several row groups.
const ENTITIES: usize = 200_000;
const PARTITIONS: usize = 200;
/// Entities that are decoded and written at once.
const BATCH: usize = 20_000;

fn key(at: usize) -> (String, String) {
    (format!("customer-{:04}", at * PARTITIONS / ENTITIES), format!("order-{at:010}"))
}

/// Service JSON, an entity a line, in key order.
fn export(entities: usize) -> String {
    let mut text = String::new();
    for at in 0..entities {
        let (partition, row) = key(at);
        text.push_str(&format!(
            "{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\",\"Timestamp\":\"2024-05-01T08:00:00.1234567Z\",\
             \"Level\":{},\"Score\":{}.25,\"Active\":{},\"Badge@odata.type\":\"Edm.Int64\",\"Badge\":\"{}\",\
             \"At@odata.type\":\"Edm.DateTime\",\"At\":\"2023-01-01T00:00:{:02}Z\",\"Email\":\"person{at}@example.com\"}}\n",
            at % 100,
            at % 977,
            at % 3 == 0,
            (1_u64 << 53) + at as u64,
            at % 60,
        ));
    }
    text
}

fn predicates() -> Vec<(&'static str, Vec<Expr>)> {
    let partition = || col("\"PartitionKey\"");
    let row = || col("\"RowKey\"");
    let point = partition().eq(lit("customer-0042")).and(row().eq(lit("order-0000042000")));
    let nested = partition()
        .eq(lit("customer-0042"))
        .and(row().gt_eq(lit("order-1")).and(row().lt(lit("order-2"))).or(row().like(lit("order-0000%"))))
        .and(row().not_eq(lit("order-5")).or(partition().lt(lit("customer-0001"))));
    let list = partition().in_list((0..1_000).map(|at| lit(format!("customer-{at:04}"))).collect(), false);
    vec![
        ("a point", vec![point]),
        ("AND, OR and LIKE", vec![nested]),
        ("a list of 1,000 partitions", vec![list, row().gt(lit("order-5"))]),
    ]
}

fn key_sets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("predicate to key set");
    for (name, filters) in predicates() {
        group.bench_function(name, |bench| bench.iter(|| plan_access(black_box(&filters)).keys));
    }
    group.finish();
}

/// All of a text as rows.
fn decoded(text: &str, names: &Arc<PropertyNames>) -> Vec<Rows> {
    let source = Source::stream("export", Box::new(Cursor::new(text.to_owned().into_bytes())));
    let options = DecodeOptions { threads: 1, ..DecodeOptions::default() };
    let mut chunks = Vec::new();
    decode::<Error>(source, Format::ServiceJson, names, &options, &Progress::new(), &mut |chunk| {
        chunks.push(chunk.rows);
        Ok(())
    })
    .expect("it is service JSON");
    chunks
}

fn import_parts(criterion: &mut Criterion) {
    let text = export(BATCH);
    let mut group = criterion.benchmark_group("import");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("service JSON to rows, one thread", |bench| {
        bench.iter(|| decoded(&text, &Arc::new(PropertyNames::new())));
    });
    let names = Arc::new(PropertyNames::new());
    let rows = decoded(&text, &names);
    let column_ranks: Vec<Option<u32>> = (0..names.len() as u32).map(Some).collect();
    let options = WriteOptions { names: &names, column_ranks: &column_ranks, timestamp: DateTime::from_micros(0, 0) };
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("rows to a run file in memory", |bench| {
        bench.iter_batched(
            || Arc::new(MemoryStore::new()) as Arc<dyn FileStore>,
            |store| {
                write_run(
                    &store,
                    "tables/devstoreaccount1/Orders.1/000000000001.parquet",
                    1,
                    rows.iter().flat_map(Rows::iter),
                    options,
                )
                .expect("it is written")
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// A database in memory with one table, and another one over the same entities that caches nothing.
fn database(runtime: &Runtime, cache_bytes: u64) -> Database {
    let options = Options { cache_bytes: Some(cache_bytes), ..Options::default() };
    let database = runtime.block_on(Database::open_with(":memory:", options)).expect("opens");
    let source = Source::stream("export", Box::new(Cursor::new(export(ENTITIES).into_bytes())));
    let report = runtime.block_on(database.import("Orders", vec![source], &ImportOptions::default())).expect("imports");
    assert_eq!(report.stored, ENTITIES as u64);
    database
}

fn reads(criterion: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let database_cached = database(&runtime, 256 << 20);
    let database_uncached = database(&runtime, 0);

    let mut group = criterion.benchmark_group("point read");
    let table = database_cached.table("Orders").expect("it is there");
    let (partition, row) = key(ENTITIES / 2);
    group.bench_function("hot entity", |bench| {
        bench.iter(|| block_on(table.get_shared(&partition, &row)).expect("reads").expect("an entity"));
    });
    let mut at = 0;
    group.bench_function("cold page", |bench| {
        let table = database_uncached.table("Orders").expect("it is there");
        bench.iter_batched(
            || {
                at = (at + 7_919) % ENTITIES;
                key(at)
            },
            |(partition, row)| block_on(table.get_shared(&partition, &row)).expect("reads").expect("an entity"),
            BatchSize::SmallInput,
        );
    });
    group.finish();

    let mut group = criterion.benchmark_group("statement");
    group.sample_size(50);
    let point = format!("SELECT * FROM Orders WHERE \"PartitionKey\" = '{partition}' AND \"RowKey\" = '{row}'");
    // A statement is planned when `sql` returns; its rows are computed as they are asked for.
    for (name, statement) in [
        ("plan of a point query", point.clone()),
        ("plan of a GROUP BY", "SELECT \"Level\", count(*) FROM Orders GROUP BY 1".to_owned()),
    ] {
        group.bench_function(name, |bench| {
            bench.iter(|| runtime.block_on(async { database_cached.sql(&statement).await.expect("plans") }));
        });
    }
    for (name, statement) in [
        ("point query", point),
        ("first 20 keys", "SELECT * FROM Orders ORDER BY \"PartitionKey\", \"RowKey\" LIMIT 20".to_owned()),
        ("last 20 keys", "SELECT * FROM Orders ORDER BY \"PartitionKey\" DESC, \"RowKey\" DESC LIMIT 20".to_owned()),
        (
            "last 20 of a partition",
            format!("SELECT * FROM Orders WHERE \"PartitionKey\" = '{partition}' ORDER BY \"RowKey\" DESC LIMIT 20"),
        ),
    ] {
        group.bench_function(name, |bench| {
            bench.iter(|| {
                runtime.block_on(async {
                    database_cached.sql(&statement).await.expect("plans").collect().await.expect("answers")
                })
            });
        });
    }
    group.finish();
}

criterion_group!(parts, key_sets, import_parts, reads);
criterion_main!(parts);
