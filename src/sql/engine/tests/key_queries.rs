//! Queries of few rows beside the same statements, planned.

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

/// Conditions, with `?` where a value stands that a column of this type is compared with.
const CONDITIONS: [(&str, char); 30] = [
    ("small > ?", 'i'),
    ("small = ?", 'i'),
    ("small <> ?", 'i'),
    ("big >= ?", 'l'),
    ("big = ?", 'i'),
    ("ratio < ?", 'f'),
    ("ratio = ?", 'f'),
    ("ratio > ?", 'i'),
    ("txt = ?", 't'),
    ("txt > ?", 't'),
    ("flag = ?", 'b'),
    ("at < ?", 'z'),
    ("flag", '-'),
    ("NOT flag", '-'),
    ("small IS NULL", '-'),
    ("txt IS NOT NULL", '-'),
    ("flag IS NOT TRUE", '-'),
    ("small IN (1, 2, -3)", '-'),
    ("txt IN ('a', 'bb', '')", '-'),
    ("txt NOT IN ('a', NULL)", '-'),
    ("small BETWEEN -2 AND ?", 'i'),
    ("small + big > ?", 'l'),
    ("big % 3 = ?", 'i'),
    ("coalesce(small, 7) = ?", 'i'),
    ("ratio IS DISTINCT FROM ?", 'f'),
    ("CASE WHEN small > 0 THEN flag ELSE big > ? END", 'l'),
    ("nullif(small, ?) IS NULL", 'i'),
    ("abs(small) = ?", 'i'),
    ("big / small > ?", 'l'),
    ("small <> 0 AND big / small > ?", 'l'),
];

const OUTPUTS: [&str; 17] = [
    "small",
    "txt, big",
    "*",
    "small + 1 AS more, txt",
    "big * 2, ratio / 2",
    "coalesce(txt, 'none') AS txt",
    "CASE WHEN flag THEN 'yes' ELSE 'no' END",
    "ratio, -small",
    "at, \"RowKey\"",
    "round(ratio), abs(big)",
    "small::bigint, big::float8, ratio::text",
    "nullif(small, 1), small = 1, small IS NULL",
    "1, 'x', NULL",
    "small / 2, small % 2",
    "greatest(small, 1)",
    "upper(txt)",
    "t.txt AS \"Label\", t.rowkey",
];

const AGGREGATES: [&str; 12] = [
    "count(*)",
    "count(small), sum(small)",
    "sum(big), min(big), max(big)",
    "avg(ratio), sum(ratio)",
    "avg(small), avg(big)",
    "min(txt), max(txt)",
    "min(at), max(at), count(*)",
    "count(*) FILTER (WHERE flag), sum(small) FILTER (WHERE small > 0)",
    "count(*) + 1 AS n, round(avg(small), 2)",
    "sum(small + big), sum(1)",
    "max(ratio), min(ratio)",
    "count(DISTINCT small)",
];

/// What rows are grouped by, and the select list of the keys.
const GROUPS: [&str; 12] = [
    "small",
    "txt",
    "flag, small",
    "ratio",
    "at",
    "partitionkey",
    "big % 3",
    "small > 0",
    "coalesce(txt, 'none'), flag",
    "CASE WHEN flag THEN small END",
    "ratio / 0.5",
    "NULL::int, small",
];

const ORDERS: [&str; 9] = [
    "",
    " ORDER BY rowkey",
    " ORDER BY rowkey DESC",
    " ORDER BY small, rowkey",
    " ORDER BY small DESC NULLS LAST, rowkey DESC",
    " ORDER BY ratio, rowkey",
    " ORDER BY txt DESC, rowkey",
    " ORDER BY small + big, rowkey",
    " ORDER BY flag, at, rowkey",
];

fn engine(scan: ScanOptions) -> Engine {
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)));
    let options = Options { target_partitions: Some(2), scan, ..Options::default() };
    futures::executor::block_on(Engine::open_files(Arc::new(MemoryStore::new()), clock, options, false)).expect("opens")
}

fn all(session: &mut Session, sql: &str, values: &[Value]) -> Result<RecordBatch> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let answer = session.sql(sql, values).await?;
        let schema = answer.schema();
        let batches = answer.collect().await?;
        Ok(concat_batches(&schema, &batches).expect("batches of one schema"))
    })
}

fn prepare(session: &mut Session, sql: &str) -> Result<Prepared> {
    let statement = parse_all(sql)?.pop().expect("a statement");
    futures::executor::block_on(session.prepare(Arc::new(statement), &[]))
}

fn export(dice: &mut Dice, entities: usize) -> String {
    let mut text = String::new();
    for row in 0..entities {
        text.push_str(&format!(r#"{{"PartitionKey":"{}","RowKey":"{row:05}""#, dice.pick(&["p", "q"])));
        let mut add = |property: String| {
            if dice.below(5) > 0 {
                text.push_str(&property);
            }
        };
        let number = (row * 7919 % 23) as i64 - 11;
        add(format!(r#","small":{}"#, number % 5));
        add(format!(r#","big@odata.type":"Edm.Int64","big":"{}""#, number * 1_000_000_007));
        let ratio = ["0.5", "-0.0", "0.0", "2.25", "\"NaN\"", "\"Infinity\"", "-7.0"][row % 7];
        add(format!(r#","ratio@odata.type":"Edm.Double","ratio":{ratio}"#));
        add(format!(r#","txt":"{}""#, ["a", "bb", "", "a text that is longer than twelve bytes", "ü"][row % 5]));
        add(format!(r#","flag":{}"#, row % 3 == 0));
        add(format!(r#","at@odata.type":"Edm.DateTime","at":"2024-05-{:02}T08:00:00Z""#, 1 + row % 28));
        text.push_str("}\n");
    }
    text
}

/// A value of a type, as a literal or as a parameter.
fn operand(dice: &mut Dice, of: char, values: &mut Vec<Value>) -> String {
    let number = dice.below(9) as i64 - 3;
    let (literal, value) = match of {
        'i' => (number.to_string(), Value::Int32(number as i32)),
        'l' => (format!("{}", number * 1_000_000_007), Value::Int64(number * 1_000_000_007)),
        'f' => (format!("{}::float8", number as f64 / 2.0), Value::Double(number as f64 / 2.0)),
        'b' => (["true", "false"][dice.below(2)].to_owned(), Value::Boolean(dice.chance(2))),
        'z' => {
            let day = 1 + dice.below(28);
            let time = DateTime::parse(&format!("2024-05-{day:02}T08:00:00Z")).expect("a time");
            (format!("timestamptz '2024-05-{day:02} 08:00:00Z'"), Value::DateTime(time))
        }
        _ => {
            let text = dice.pick(&["a", "bb", "", "b", "ü"]);
            (format!("'{text}'"), Value::String(text.to_owned()))
        }
    };
    if dice.chance(2) {
        return literal;
    }
    values.push(value);
    let ty = match of {
        'i' => "::int4",
        'l' => "::int8",
        'f' => "::float8",
        'b' => "::boolean",
        'z' => "::timestamptz",
        _ => "::text",
    };
    format!("${}{ty}", values.len())
}

const WITHOUT_TABLE: [&str; 10] = [
    "SELECT 1",
    "SELECT ?, 'x', NULL",
    "SELECT ? + 1 AS n, ? * 2",
    "SELECT 'a' WHERE ? > 0",
    "SELECT count(*)",
    "SELECT coalesce(NULL, 'a'), coalesce(NULL, NULL)",
    "SELECT coalesce(?)",
    "SELECT coalesce(NULL, ?), CASE WHEN ? = 1 THEN 2.5 END",
    "SELECT 1 / ?",
    "SELECT 2 ORDER BY 1 LIMIT 1",
];

fn question(dice: &mut Dice) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    if dice.chance(10) {
        let parts: Vec<&str> = dice.pick(&WITHOUT_TABLE).split('?').collect();
        let mut sql = parts[0].to_owned();
        for part in &parts[1..] {
            sql.push_str(&operand(dice, 'i', &mut values));
            sql.push_str(part);
        }
        return (sql, values);
    }
    let several = dice.chance(4);
    let partitions: Vec<String> = (0..if several { 2 + dice.below(3) } else { 1 })
        .map(|_| operand_of_key(dice, &["p", "q", "none"], &mut values))
        .collect();
    let mut parts = vec![match several {
        true => format!("partitionkey IN ({})", partitions.join(", ")),
        false => format!("partitionkey = {}", partitions[0]),
    }];
    if dice.chance(6) {
        let keys: Vec<String> =
            (0..3).map(|_| operand_of_key(dice, &["00003", "00010", "00100", "x"], &mut values)).collect();
        parts.push(format!("rowkey IN ({})", keys.join(", ")));
    }
    if dice.chance(3) {
        let op = dice.pick(&["=", ">", ">=", "<", "<="]);
        let key = operand_of_key(dice, &["00003", "00010", "00100", "x"], &mut values);
        parts.push(format!("rowkey {op} {key}"));
    }
    for _ in 0..dice.below(3) {
        let (condition, of) = dice.pick(&CONDITIONS);
        // A range of nothing is seen by the planner, which then computes nothing that may fail.
        let may_fail = |text: &str| text.contains('/');
        let may_be_empty = |text: &str| text.contains("BETWEEN");
        if parts
            .iter()
            .any(|part| may_fail(part) && may_be_empty(condition) || may_be_empty(part) && may_fail(condition))
        {
            continue;
        }
        let value = operand(dice, of, &mut values);
        parts.push(match dice.below(6) {
            0 => format!("({} OR small = 3)", condition.replace('?', &value)),
            _ => condition.replace('?', &value),
        });
    }
    // Which condition is looked at first matters where one may fail.
    if dice.chance(3) && !parts.iter().any(|part| part.contains('/')) {
        parts.reverse();
    }
    let condition = parts.join(" AND ");
    if dice.chance(3) {
        let having = ["", "", " HAVING count(*) > 3"][dice.below(3)];
        return (format!("SELECT {} FROM tab WHERE {condition}{having}", dice.pick(&AGGREGATES)), values);
    }
    if dice.chance(3) {
        let keys = dice.pick(&GROUPS);
        if dice.chance(4) {
            return (format!("SELECT DISTINCT {keys} FROM tab WHERE {condition}"), values);
        }
        let (having, aggregates) = (["", "", " HAVING count(*) > 3"][dice.below(3)], dice.pick(&AGGREGATES));
        let order = ["", "", " ORDER BY 1, 2, 3 LIMIT 2"][dice.below(3)];
        let first = format!("{keys}, count(big), min(big)");
        return (
            format!("SELECT {first}, {aggregates} FROM tab WHERE {condition} GROUP BY {keys}{having}{order}"),
            values,
        );
    }
    let limit = ["", "", " LIMIT 3", " LIMIT 2 OFFSET 1", " LIMIT 0", " OFFSET 4"][dice.below(6)];
    let limit = match dice.chance(3) {
        true => {
            let rows = [Value::Int64(dice.below(4) as i64 - 1), Value::Int64(2)];
            let first = values.len() + 1;
            values.extend(rows);
            format!(" LIMIT ${first} OFFSET ${}", first + 1)
        }
        false => limit.to_owned(),
    };
    let order = if limit.is_empty() { dice.pick(&ORDERS) } else { ORDERS[1 + dice.below(ORDERS.len() - 1)] };
    // RowKeys are unique in a partition.
    let order = if several && !order.is_empty() { format!("{order}, partitionkey") } else { order.to_owned() };
    (format!("SELECT {} FROM tab t WHERE {condition}{order}{limit}", dice.pick(&OUTPUTS)), values)
}

fn operand_of_key(dice: &mut Dice, keys: &[&str], values: &mut Vec<Value>) -> String {
    let key = keys[dice.below(keys.len())];
    if dice.chance(2) {
        return format!("'{key}'");
    }
    values.push(Value::String(key.to_owned()));
    format!("${}", values.len())
}

/// The rows of an answer without an order, in one.
fn in_one_order(batch: &RecordBatch, sql: &str) -> Vec<String> {
    let text = arrow::util::pretty::pretty_format_batches(std::slice::from_ref(batch)).expect("text").to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if !sql.contains("ORDER BY") {
        lines.sort();
    }
    lines
}

#[test]
fn averages_of_integers_are_queries_of_few_rows() {
    let engine = engine(ScanOptions::default());
    import(&engine, "Tab", &export(&mut Dice(1), 20), 1 << 20).expect("imports");
    let mut session = session(&engine);
    for outputs in AGGREGATES.into_iter().filter(|outputs| !outputs.contains("DISTINCT") && !outputs.contains("FILTER"))
    {
        let sql = format!("SELECT {outputs} FROM tab WHERE partitionkey = 'p'");
        assert!(prepare(&mut session, &sql).expect("prepares").is_key_query(), "{sql}");
    }
}

#[test]
fn queries_of_few_rows_answer_as_the_planner_does() {
    let mut without_plan = 0;
    for seed in 1..=12 {
        let mut dice = Dice(seed);
        let plain = ScanOptions { filter_pushdown: false, pruning: false, ..ScanOptions::default() };
        let engines = [engine(ScanOptions::default()), engine(plain)];
        let entities = [0, 1, 40, 700][dice.below(4)] + 1;
        let text = export(&mut dice, entities);
        let file_bytes = [1 << 20, 4000][dice.below(2)];
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
        // A single entity may lack what is asked for.
        for column in ["small int", "big bigint", "ratio float8", "txt text", "flag boolean", "at timestamptz"] {
            for session in &mut sessions {
                all(session, &format!("ALTER TABLE tab ADD COLUMN IF NOT EXISTS {column}"), &[]).expect("adds");
            }
        }
        for _ in 0..80 {
            // Recent writes, which no file has.
            if dice.chance(5) {
                let write = dice.pick(&[
                    "UPDATE tab SET small = 3, txt = NULL WHERE partitionkey = 'p' AND rowkey < '00010'",
                    "UPDATE tab SET big = big + 1 WHERE partitionkey IN ('p', 'q') AND rowkey LIKE '000_1'",
                    "DELETE FROM tab WHERE partitionkey = 'q' AND rowkey < '00004'",
                    "INSERT INTO tab (partitionkey, rowkey, small, flag) VALUES ('p', '00010', 1, true), \
                     ('q', '00000', 2, false), ('p', 'x', -1, NULL) ON CONFLICT (partitionkey, rowkey) DO UPDATE SET \
                     small = excluded.small",
                ]);
                for session in &mut sessions {
                    all(session, write, &[]).expect("writes");
                }
            }
            let (sql, values) = question(&mut dice);
            let prepared =
                prepare(&mut sessions[0], &sql).unwrap_or_else(|error| panic!("seed {seed}: {sql}: {error}"));
            without_plan += usize::from(prepared.is_key_query());
            let [clever, plain] = sessions.each_mut().map(|session| all(session, &sql, &values));
            let context = format!("seed {seed}: {sql} {values:?}");
            match (clever, plain) {
                (Ok(clever), Ok(plain)) => {
                    assert_eq!(clever.schema().fields().len(), plain.schema().fields().len(), "{context}");
                    for (ours, theirs) in clever.schema().fields().iter().zip(plain.schema().fields()) {
                        assert_eq!((ours.name(), ours.data_type()), (theirs.name(), theirs.data_type()), "{context}");
                    }
                    assert_eq!(in_one_order(&clever, &sql), in_one_order(&plain, &sql), "{context}");
                }
                (Err(clever), Err(plain)) => assert_eq!(clever.to_string(), plain.to_string(), "{context}"),
                (clever, plain) => panic!("{clever:?} and {plain:?} {context}"),
            }
        }
    }
    assert!(without_plan > 600, "{without_plan} of 960 are queries of few rows");
}
