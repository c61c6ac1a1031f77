//! Reads by key beside the same statements as queries.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;

use super::{Dice, NOW_TICKS, import, session};
use crate::engine::{Engine, Options};
use crate::provider::ScanOptions;
use crate::session::{Prepared, Result, Session, parse_all};
use rowkey_base::clock::ManualClock;
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, Value};

const KEYS: [&str; 9] = ["", "a", "b", "ab", "ba", "A", "ü", "\u{1F600}", "\u{E000}"];

/// Values as the service's JSON has them, behind the name of a property.
const VALUES: [&str; 16] = [
    r#"P":41"#,
    r#"P":-1"#,
    r#"P":2.5"#,
    r#"P":1e300"#,
    r#"P":true"#,
    r#"P":"text""#,
    r#"P":"""#,
    r#"P":"a text that is longer than twelve bytes""#,
    r#"P@odata.type":"Edm.Int64","P":"9007199254740993""#,
    r#"P@odata.type":"Edm.DateTime","P":"1601-01-01T00:00:00Z""#,
    r#"P@odata.type":"Edm.DateTime","P":"9999-12-31T23:59:59.9999999Z""#,
    r#"P@odata.type":"Edm.DateTime","P":"2024-05-01T08:00:00.1234567Z""#,
    r#"P@odata.type":"Edm.Guid","P":"00000000-0000-0000-0000-0000000000ff""#,
    r#"P@odata.type":"Edm.Binary","P":"/wABAg==""#,
    r#"P@odata.type":"Edm.Binary","P":"""#,
    r#"P":0"#,
];

/// An engine on files of its own, whose scans are the plain ones or not.
fn engine(scan: ScanOptions) -> Engine {
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)));
    let options = Options { target_partitions: Some(2), scan, ..Options::default() };
    futures::executor::block_on(Engine::open_files(Arc::new(MemoryStore::new()), clock, options, false)).expect("opens")
}

fn both() -> [Engine; 2] {
    let plain = ScanOptions { filter_pushdown: false, pruning: false, ..ScanOptions::default() };
    [engine(ScanOptions::default()), engine(plain)]
}

fn all(session: &mut Session, sql: &str, values: &[Value]) -> Result<RecordBatch> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let answer = session.sql(sql, values).await?;
        let schema = answer.schema();
        let batches = answer.collect().await?;
        for batch in &batches {
            assert_eq!(batch.schema(), schema, "{sql}");
        }
        Ok(concat_batches(&schema, &batches).expect("batches of one schema"))
    })
}

fn prepare(session: &mut Session, sql: &str) -> Result<Prepared> {
    let statement = parse_all(sql)?.pop().expect("a statement");
    futures::executor::block_on(session.prepare(Arc::new(statement), &[]))
}

/// Entities with properties of a few names, each of one type or of several.
fn export(dice: &mut Dice, entities: usize) -> String {
    let types: Vec<Vec<&str>> = ["One", "Two", "Many"]
        .iter()
        .enumerate()
        .map(|(at, _)| (0..[1, 2, VALUES.len()][at]).map(|_| dice.pick(&VALUES)).collect())
        .collect();
    let mut text = String::new();
    for _ in 0..entities {
        let (partition, row) = (dice.pick(&KEYS), dice.pick(&KEYS));
        text.push_str(&format!(r#"{{"PartitionKey":"{partition}","RowKey":"{row}""#));
        for (name, values) in ["One", "Two", "Many"].iter().zip(&types) {
            if dice.below(4) > 0 {
                let value = dice.pick(values).replace("P@", &format!("{name}@")).replace("P\":", &format!("{name}\":"));
                text.push_str(&format!(",\"{value}"));
            }
        }
        text.push_str("}\n");
    }
    text
}

/// A comparison of a key with a literal or a parameter.
fn comparison(dice: &mut Dice, column: &str, operator: &str, values: &mut Vec<Value>) -> String {
    let column = if dice.below(3) == 0 { column.to_lowercase() } else { format!("\"{column}\"") };
    let operand = operand(dice, values);
    let swapped = match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        same => same,
    };
    match dice.below(4) {
        0 => format!("{operand} {swapped} {column}"),
        _ => format!("{column} {operator} {operand}"),
    }
}

/// One among some, which may be equal.
fn one_of(dice: &mut Dice, column: &str, values: &mut Vec<Value>) -> String {
    let operands: Vec<String> = (0..2 + dice.below(4)).map(|_| operand(dice, values)).collect();
    format!("\"{column}\" IN ({})", operands.join(", "))
}

/// A key as a literal or a parameter.
fn operand(dice: &mut Dice, values: &mut Vec<Value>) -> String {
    let key = dice.pick(&KEYS);
    match dice.below(5) {
        0 => format!("'{key}'"),
        1 => format!("'{key}'::text"),
        which => {
            // A parameter may stand twice.
            let number = match dice.below(4) {
                0 if !values.is_empty() => 1 + dice.below(values.len()),
                _ => {
                    values.push(Value::String(key.to_owned()));
                    values.len()
                }
            };
            format!("${number}{}", if which == 2 { "::text" } else { "" })
        }
    }
}

fn question(dice: &mut Dice, columns: &[String]) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let several = dice.below(3) == 0;
    let mut parts = vec![match several {
        true => one_of(dice, "PartitionKey", &mut values),
        false => comparison(dice, "PartitionKey", "=", &mut values),
    }];
    let (lower, upper) = ([">", ">="][dice.below(2)], ["<", "<="][dice.below(2)]);
    match dice.below(7) {
        0 | 1 => parts.push(comparison(dice, "RowKey", "=", &mut values)),
        2 => parts.push(one_of(dice, "RowKey", &mut values)),
        3 => parts.push(comparison(dice, "RowKey", lower, &mut values)),
        4 => {
            parts.push(comparison(dice, "RowKey", lower, &mut values));
            parts.push(comparison(dice, "RowKey", upper, &mut values));
        }
        _ => {}
    }
    if dice.below(2) == 0 {
        parts.reverse();
    }
    let shown = match dice.below(3) {
        0 => "*".to_owned(),
        1 => (0..1 + dice.below(5))
            .map(|_| format!("\"{}\"", columns[dice.below(columns.len())]))
            .collect::<Vec<_>>()
            .join(", "),
        _ => format!("t.\"{}\" AS x, t.rowkey \"RowKey\"", columns[dice.below(columns.len())]),
    };
    let alias = if shown.starts_with("t.") { " t" } else { "" };
    let limit = ["", "", " LIMIT 1", " LIMIT 2", " LIMIT 0"][dice.below(5)];
    // In one partition RowKey alone says the order.
    let order = if several || dice.below(3) == 0 { "\"PartitionKey\", \"RowKey\"" } else { "\"RowKey\"" };
    (format!("SELECT {shown} FROM Tab{alias} WHERE {} ORDER BY {order}{limit}", parts.join(" AND ")), values)
}

#[test]
fn reads_by_key_run_as_the_planner_reads_them() {
    for seed in 1..=40 {
        let mut dice = Dice(seed);
        let engines = both();
        let entities = 1 + dice.below(120);
        let text = export(&mut dice, entities);
        // Small files: several range partitions.
        let file_bytes = [1 << 20, 600][dice.below(2)];
        for engine in &engines {
            import(engine, "Tab", &text, file_bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        }
        // Files that overlap the others, whose rows are newer.
        for _ in 0..dice.below(3) {
            let entities = 1 + dice.below(entities);
            let newer = export(&mut dice, entities);
            for engine in &engines {
                import(engine, "Tab", &newer, file_bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
        }
        let mut sessions = engines.each_ref().map(session);
        let schema = all(&mut sessions[0], "SELECT * FROM Tab", &[]).expect("a table").schema();
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        for _ in 0..25 {
            // Recent writes, which no file has.
            if dice.chance(4) {
                let write = dice.pick(&[
                    "DELETE FROM Tab WHERE \"PartitionKey\" = $1 AND \"RowKey\" = $2",
                    "INSERT INTO Tab (\"PartitionKey\", \"RowKey\") VALUES ($1, $2) ON CONFLICT DO NOTHING",
                ]);
                let key = [dice.pick(&KEYS), dice.pick(&KEYS)].map(|key| Value::String(key.to_owned()));
                for session in &mut sessions {
                    all(session, write, &key).expect("writes");
                }
            }
            let (sql, values) = question(&mut dice, &columns);
            let prepared = prepare(&mut sessions[0], &sql);
            assert!(prepared.expect("prepares").is_by_key(), "seed {seed}: {sql}");
            let [clever, plain] = sessions.each_mut().map(|session| all(session, &sql, &values));
            let context = format!("seed {seed}: {sql} {values:?}\n{text}");
            match (clever, plain) {
                (Ok(clever), Ok(plain)) => assert_eq!(clever, plain, "{context}"),
                (Err(clever), Err(plain)) => assert_eq!(clever.to_string(), plain.to_string(), "{context}"),
                (clever, plain) => panic!("{clever:?} and {plain:?} {context}"),
            }
        }
    }
}

/// DataFusion's Parquet scan takes a column of bytes for text where the table has text of its name.
#[test]
fn bytes_are_found_in_files_that_have_them_alone() {
    let bytes = (0..20).map(|row| {
        format!(r#"{{"PartitionKey":"a","RowKey":"{row:02}","Two@odata.type":"Edm.Binary","Two":"/wABAg=="}}"#) + "\n"
    });
    let numbers = (0..20).map(|row| format!(r#"{{"PartitionKey":"b","RowKey":"{row:02}","Two":-1}}"#) + "\n");
    let text: String = bytes.chain(numbers).collect();
    for engine in both() {
        import(&engine, "Tab", &text, 600).expect("an import");
        let mut session = session(&engine);
        let sql = "SELECT partitionkey, \"Two\", \"Two:Binary\", \"Two:Int32\", count(*) FROM Tab GROUP BY 1, 2, 3, 4 ORDER BY 1";
        let found = all(&mut session, sql, &[]).expect("rows");
        let shown = arrow::util::pretty::pretty_format_batches(&[found]).expect("rows").to_string();
        let rows: Vec<&str> = shown.lines().filter(|line| line.contains("20 ")).map(str::trim).collect();
        assert_eq!(
            rows,
            [
                "| a            | /wABAg== | ff000102   |           | 20    |",
                "| b            | -1       |            | -1        | 20    |"
            ],
            "{shown}"
        );
    }
}
