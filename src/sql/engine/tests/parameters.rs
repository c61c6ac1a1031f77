//! Parameters of statements: every type of value beside every type of column.

use std::sync::Arc;

use super::{import, open, rows_with};
use crate::engine::Engine;
use rowkey_base::SqlState;
use rowkey_model::files::MemoryStore;
use rowkey_model::{DateTime, EdmType, Value};

const EXPORT: &str = concat!(
    r#"{"PartitionKey":"p","RowKey":"1","Text":"abc","Int":41,"Flag":true,"Real":2.5,"#,
    r#""Long@odata.type":"Edm.Int64","Long":"9007199254740993","At@odata.type":"Edm.DateTime","At":"1601-01-01T00:00:00Z","#,
    r#""Id@odata.type":"Edm.Guid","Id":"00000000-0000-0000-0000-0000000000ff","Raw@odata.type":"Edm.Binary","Raw":"/w=="}"#,
    "\n",
    r#"{"PartitionKey":"p","RowKey":"2","Text":"41","Int":7,"Flag":false,"Real":41,"#,
    r#""Long@odata.type":"Edm.Int64","Long":"41","At@odata.type":"Edm.DateTime","At":"2024-05-01T08:00:00Z","#,
    r#""Id@odata.type":"Edm.Guid","Id":"00000000-0000-0000-0000-000000000001","Raw@odata.type":"Edm.Binary","Raw":"AA=="}"#,
    "\n"
);

fn engine() -> Engine {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    import(&engine, "Tab", EXPORT, 1 << 20).expect("imports");
    engine
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn guid(last: u128) -> Value {
    Value::Guid(uuid::Uuid::from_u128(last))
}

fn time(text: &str) -> Value {
    Value::DateTime(DateTime::parse(text).expect("a time"))
}

/// RowKeys for which `predicate` holds, or the error.
fn found(engine: &Engine, predicate: &str, parameters: &[Value]) -> Result<Vec<String>, String> {
    let statement = format!("SELECT \"RowKey\" FROM Tab WHERE {predicate} ORDER BY \"RowKey\"");
    rows_with(&mut engine.own_session().expect("a session"), &statement, parameters).map_err(|error| {
        assert_ne!(error.sqlstate(), SqlState::INTERNAL_ERROR, "{predicate} {parameters:?}: {error}");
        error.to_string()
    })
}

#[test]
fn values_of_the_columns_type_find_their_rows() {
    let engine = engine();
    for (column, value) in [
        ("PartitionKey", text("p")),
        ("RowKey", text("1")),
        ("Text", text("abc")),
        ("Int", Value::Int32(41)),
        ("Flag", Value::Boolean(true)),
        ("Real", Value::Double(2.5)),
        ("Long", Value::Int64(9_007_199_254_740_993)),
        ("At", time("1601-01-01T00:00:00Z")),
        ("Id", guid(0xff)),
        ("Raw", Value::Binary(vec![0xff])),
    ] {
        let expected: &[&str] = if column == "PartitionKey" { &["1", "2"] } else { &["1"] };
        for predicate in [
            format!("\"{column}\" = $1"),
            format!("$1 = \"{column}\""),
            format!("\"{column}\" IN ($1)"),
            format!("\"{column}\" BETWEEN $1 AND $1"),
            format!("NOT (\"{column}\" <> $1)"),
        ] {
            if column == "Flag" && predicate.contains("BETWEEN") {
                continue;
            }
            let rows = found(&engine, &predicate, std::slice::from_ref(&value));
            assert_eq!(
                rows.as_deref(),
                Ok(&expected.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>()[..]),
                "{predicate}"
            );
        }
    }
}

#[test]
fn other_types_find_what_is_equal_or_are_refused_by_name() {
    let engine = engine();
    let ok = |rows: &[&str]| Ok(rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>());
    let no = |message: &str| Err(message.to_owned());
    for (column, value, expected) in [
        // Numbers are compared as numbers.
        ("Int", Value::Int64(41), ok(&["1"])),
        ("Int", Value::Int64(1 << 40), ok(&[])),
        ("Int", Value::Double(41.0), ok(&["1"])),
        ("Int", Value::Double(41.5), ok(&[])),
        ("Long", Value::Int32(41), ok(&["2"])),
        ("Real", Value::Int32(41), ok(&["2"])),
        ("Real", Value::Int64(41), ok(&["2"])),
        // A text is read as a quoted literal would be.
        ("Int", text("41"), ok(&["1"])),
        ("Int", text(" 7 "), ok(&["2"])),
        ("Int", text("abc"), no("invalid input syntax for type integer: \"abc\"")),
        ("Int", text("41.5"), no("invalid input syntax for type integer: \"41.5\"")),
        ("Int", text("5000000000"), no("value \"5000000000\" is out of range for type integer")),
        ("Long", text("9007199254740993"), ok(&["1"])),
        ("Long", text(""), no("invalid input syntax for type bigint: \"\"")),
        ("Real", text("2.5"), ok(&["1"])),
        ("Real", text("much"), no("invalid input syntax for type double precision: \"much\"")),
        ("Flag", text("true"), ok(&["1"])),
        ("Flag", text("perhaps"), no("invalid input syntax for type boolean: \"perhaps\"")),
        ("At", text("2024-05-01T08:00:00Z"), ok(&["2"])),
        ("At", text("soon"), no("invalid input syntax for type timestamp with time zone: \"soon\"")),
        ("Id", text("00000000-0000-0000-0000-0000000000FF"), ok(&["1"])),
        ("Id", text("me"), no("invalid input syntax for type uuid: \"me\"")),
        ("Raw", text("\\x00"), ok(&["2"])),
        ("Raw", text("\\x0"), no("invalid hexadecimal data: odd number of digits")),
        // The rest does not fit.
        ("Text", Value::Int32(41), no("")),
        ("PartitionKey", Value::Int64(1), no("")),
        ("RowKey", guid(1), no("")),
        ("Text", time("2024-05-01T08:00:00Z"), no("")),
        ("Int", Value::Boolean(true), no("")),
        ("Long", guid(41), no("")),
        ("Real", time("2024-05-01T08:00:00Z"), no("")),
        ("Flag", Value::Int32(1), no("")),
        ("At", Value::Int64(0), no("")),
        ("Id", Value::Binary(vec![0xff]), no("")),
        ("Raw", guid(0xff), no("")),
    ] {
        for predicate in [format!("\"{column}\" = $1"), format!("\"{column}\" IN ($1)"), format!("$1 = \"{column}\"")] {
            let rows = found(&engine, &predicate, std::slice::from_ref(&value));
            match (&rows, &expected) {
                // How a misfit is told depends on what it stands beside; that it is told does not.
                (Err(message), Err(wanted)) => assert!(message.contains(wanted), "{predicate} {value:?}: {message}"),
                _ => assert_eq!(rows, expected, "{predicate} {value:?}"),
            }
        }
    }
}

#[test]
fn every_pair_of_types_is_answered_or_refused() {
    let engine = engine();
    let values = [
        text("41"),
        Value::Int32(41),
        Value::Int64(41),
        Value::Double(f64::NAN),
        Value::Boolean(false),
        guid(1),
        time("9999-12-31T23:59:59.9999999Z"),
        Value::Binary(Vec::new()),
    ];
    assert_eq!(values.len(), EdmType::ALL.len());
    let (mut answered, mut refused) = (0, 0);
    for column in ["PartitionKey", "Text", "Int", "Long", "Real", "Flag", "At", "Id", "Raw", "Timestamp"] {
        for value in &values {
            for operator in ["=", "<>", "<", ">=", "IS DISTINCT FROM"] {
                let predicate = format!("(\"{column}\" {operator} $1) OR \"{column}\" IN ($1, $1)");
                match found(&engine, &predicate, std::slice::from_ref(value)) {
                    Ok(rows) => {
                        assert!(rows.len() <= 2);
                        answered += 1;
                    }
                    Err(message) => {
                        assert!(!message.contains('\n'), "{predicate} {value:?}: {message}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(answered >= 100 && refused >= 100, "{answered} answered, {refused} refused");
}

#[test]
fn one_parameter_may_stand_beside_several_types() {
    let engine = engine();
    assert_eq!(
        found(&engine, "\"Int\" = $1 OR \"Long\" = $1 OR \"Real\" = $1", &[Value::Int32(41)]).as_deref(),
        Ok(&["1".to_owned(), "2".to_owned()][..])
    );
    assert!(found(&engine, "\"Int\" = $1 OR \"Text\" = $1", &[text("41")]).is_err(), "as PostgreSQL has it");
}

#[test]
fn parameters_elsewhere() {
    let engine = engine();
    let rows = |statement: &str, parameters: &[Value]| {
        rows_with(&mut engine.own_session().expect("a session"), statement, parameters)
            .map_err(|error| error.to_string())
    };
    assert_eq!(rows("SELECT $1", &[text("x")]), Ok(vec!["x".to_owned()]));
    assert_eq!(rows("SELECT $1 + 1", &[Value::Int64(1)]), Ok(vec!["2".to_owned()]));
    assert_eq!(rows("SELECT $1::int4 + 1", &[text("41")]), Ok(vec!["42".to_owned()]));
    assert_eq!(rows("SELECT \"RowKey\" FROM Tab ORDER BY 1 LIMIT $1", &[Value::Int32(1)]), Ok(vec!["1".to_owned()]));
    assert!(rows("SELECT \"RowKey\" FROM Tab ORDER BY 1 LIMIT $1", &[text("many")]).is_err());
    let after = "SELECT \"RowKey\" FROM Tab WHERE (\"PartitionKey\", \"RowKey\") > ($1, $2)";
    assert_eq!(rows(after, &[text("p"), text("1")]), Ok(vec!["2".to_owned()]));
    assert!(rows(after, &[text("p"), Value::Boolean(true)]).is_err());
    let nested = "SELECT \"RowKey\" FROM Tab t WHERE EXISTS (SELECT 1 FROM Tab u WHERE u.\"Int\" = $1 AND u.\"RowKey\" = t.\"RowKey\")";
    assert_eq!(rows(nested, &[Value::Int32(7)]), Ok(vec!["2".to_owned()]));
    assert!(rows(nested, &[guid(7)]).is_err());
    let days = "SELECT g::date::text FROM generate_series($1::date, $2, $3) g";
    let bounds = [text("2024-02-28"), text("2024-03-01"), text("2 days")];
    assert_eq!(rows(days, &bounds), Ok(vec!["2024-02-28".to_owned(), "2024-03-01".to_owned()]));
    assert_eq!(rows("SELECT substr('abc', $1, $2)", &[Value::Int32(2), Value::Int32(1)]), Ok(vec!["b".to_owned()]));
    let numbers = "SELECT generate_series($1, 10, $2) * 2";
    assert_eq!(rows(numbers, &[Value::Int32(4), Value::Int32(6)]), Ok(vec!["8".to_owned(), "20".to_owned()]));
}

#[test]
fn a_parameter_has_the_type_it_was_declared_with_whatever_its_value() {
    let engine = engine();
    let rows = |statement: &str, value: i64| {
        rows_with(&mut engine.own_session().expect("a session"), statement, &[Value::Int64(value)])
            .unwrap_or_else(|error| panic!("{statement} of {value}: {error}"))
    };
    for value in [0, 5, -5, i64::from(i32::MAX), i64::from(i32::MIN), 1 << 40] {
        for (expression, expected) in [
            ("$1", "bigint"),
            ("-$1", "bigint"),
            ("$1 + 1", "bigint"),
            ("1::smallint * $1", "bigint"),
            ("coalesce($1, 0)", "bigint"),
            ("CASE WHEN 1 > 2 THEN 0 ELSE $1 END", "bigint"),
            ("greatest($1, 1)", "bigint"),
            ("(ARRAY[$1, 2])[1]", "bigint"),
            ("(SELECT $1)", "bigint"),
            ("sum($1)", "numeric"),
            ("max($1)", "bigint"),
        ] {
            let typed = rows(&format!("SELECT pg_typeof({expression})"), value);
            assert_eq!(typed, [expected], "{expression} of {value}");
        }
        for from in ["(SELECT $1 AS x) t", "(VALUES ($1)) t(x)", "(VALUES (2), ($1)) t(x)"] {
            let typed = rows(&format!("SELECT pg_typeof(x) FROM {from} LIMIT 1"), value);
            assert_eq!(typed, ["bigint"], "{from} of {value}");
        }
    }
    assert_eq!(rows("SELECT $1 + 2147483647", 5), ["2147483652"]);
    assert_eq!(rows("SELECT sum(x * 2147483647) FROM (VALUES ($1), (3)) t(x)", 5), ["17179869176"]);
    let sums = "SELECT \"RowKey\" FROM Tab WHERE \"Int\" + $1 > 0 ORDER BY 1";
    assert_eq!(rows(sums, i64::from(i32::MAX)), ["1", "2"]);
    assert_eq!(rows("SELECT \"RowKey\" FROM Tab ORDER BY 1 OFFSET $1", 1), ["2"]);
}

#[test]
fn the_number_of_parameters_is_checked() {
    let engine = engine();
    let (one, two) = (text("1"), text("2"));
    let found = |predicate: &str, parameters: &[Value]| found(&engine, predicate, parameters);
    assert_eq!(
        found("\"RowKey\" = $1 OR \"RowKey\" = $2", std::slice::from_ref(&one)),
        Err("parameter $2 has no value: 1 given, numbered from $1".to_owned())
    );
    assert_eq!(found("\"RowKey\" = $1", &[]), Err("parameter $1 has no value: 0 given, numbered from $1".to_owned()));
    assert_eq!(
        found("\"RowKey\" = $1", &[one.clone(), two.clone()]),
        Err("a value is given for $2, and the statement has no such parameter".to_owned())
    );
    assert_eq!(
        found("\"RowKey\" = $2", &[one.clone(), two]),
        Err("a value is given for $1, and the statement has no such parameter".to_owned())
    );
    assert_eq!(
        found("true", std::slice::from_ref(&one)),
        Err("a value is given for $1, and the statement has no such parameter".to_owned())
    );
    assert_eq!(found("\"RowKey\" = $0", &[one]), Err("there is no parameter $0".to_owned()));
}
