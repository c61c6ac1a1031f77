//! `rowkey.summarize(table)` in FROM: a row for each column of a table, of one read of it.

use arrow::datatypes::FieldRef;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::deparse::quote_identifier;
use rowkey_postgres::types::type_of;
use rowkey_storage::run::OTHER_COLUMN;

use super::snapshot_catalog::{PUBLIC, SnapshotCatalog};

const USAGE: &str = "for example rowkey.summarize('Employees')";

/// Columns of one aggregation: a select list has at most 1,664 items.
const COLUMNS_AT_ONCE: usize = 200;

const QUARTILES: [&str; 3] = ["0.25", "0.5", "0.75"];

/// The query. `arguments` are `None` where they are no constant texts.
///
/// # Errors
/// `UNDEFINED_TABLE` for a table that is not there, `INVALID_STATEMENT` for arguments that are not
/// one text.
pub(super) fn sql(arguments: Option<&[&str]>, tables: &SnapshotCatalog) -> Result<String> {
    let name = match arguments {
        Some([table]) => *table,
        Some(_) => return Err(wrong("rowkey.summarize takes the name of a table")),
        None => return Err(wrong("the argument of rowkey.summarize is a text, and no parameter or expression")),
    };
    let of_view = || wrong(&format!("rowkey.summarize reads tables, and \"{name}\" is a view"));
    let table = tables.table_called(name, of_view)?;
    let columns = tables.columns.of(table);
    let parts: Vec<String> =
        columns.visible().chunks(COLUMNS_AT_ONCE).map(|columns| of_columns(&table.name.to_string(), columns)).collect();
    Ok(parts.join(" UNION ALL "))
}

/// One aggregation over the table, whose values are set out in rows.
fn of_columns(table: &str, columns: &[FieldRef]) -> String {
    let summaries: Vec<Summary> = columns.iter().map(Summary::of).collect();
    let mut values = vec!["count(*) AS entities".to_owned()];
    let mut lists = Vec::new();
    for (place, (name, value, data_type)) in Summary::COLUMNS.iter().enumerate() {
        let items = summaries.iter().enumerate().map(|(row, summary)| match value(summary) {
            Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Value::None => "NULL".to_owned(),
            Value::Aggregate(aggregate) => {
                values.push(format!("{aggregate} AS v{place}_{row}"));
                format!("v{place}_{row}")
            }
        });
        let items: Vec<String> = items.collect();
        lists.push(format!("unnest(ARRAY[{}]::{data_type}[]) AS {name}", items.join(", ")));
    }
    // Behind name and type: one number for all.
    lists.insert(2, "entities".to_owned());
    format!("SELECT {} FROM (SELECT {} FROM \"{PUBLIC}\".\"{table}\") AS t", lists.join(", "), values.join(", "))
}

/// What is asked of a column.
struct Summary {
    name: String,
    type_name: &'static str,
    /// The column, quoted.
    column: String,
}

/// A column of the answer: its name, what it has for a column of the table, and its type.
type Column = (&'static str, fn(&Summary) -> Value, &'static str);

enum Value {
    Text(String),
    Aggregate(String),
    None,
}

impl Summary {
    /// All columns but the number of entities.
    const COLUMNS: [Column; 9] = [
        ("property", |summary| Value::Text(summary.name.clone()), "text"),
        ("type", |summary| Value::Text(summary.type_name.to_owned()), "text"),
        ("present", |summary| Value::Aggregate(format!("count({})", summary.column)), "bigint"),
        ("distinct_estimated", Self::distinct, "bigint"),
        ("min", |summary| summary.extreme("min"), "text"),
        ("max", |summary| summary.extreme("max"), "text"),
        ("quartile_1", |summary| summary.quartile(QUARTILES[0]), "text"),
        ("median", |summary| summary.quartile(QUARTILES[1]), "text"),
        ("quartile_3", |summary| summary.quartile(QUARTILES[2]), "text"),
    ];

    fn of(field: &FieldRef) -> Self {
        Self {
            name: field.name().clone(),
            type_name: type_of(field).map_or("text", |ty| ty.sql_name),
            column: quote_identifier(field.name()),
        }
    }

    /// Properties that have no column lie together in one value.
    fn is_other(&self) -> bool {
        self.name == OTHER_COLUMN
    }

    fn distinct(&self) -> Value {
        match self.type_name {
            _ if self.is_other() => Value::None,
            // What DataFusion's sketch knows.
            "text" | "integer" | "bigint" => self.distinct_of(""),
            _ => self.distinct_of("::text"),
        }
    }

    /// An estimate may be more than there are.
    fn distinct_of(&self, cast: &str) -> Value {
        let column = &self.column;
        Value::Aggregate(format!("least(approx_distinct({column}{cast}), count({column}))"))
    }

    fn extreme(&self, function: &str) -> Value {
        match self.type_name {
            _ if self.is_other() => Value::None,
            "boolean" | "uuid" => Value::Aggregate(format!("{function}({}::text)", self.column)),
            _ => Value::Aggregate(format!("{function}({})::text", self.column)),
        }
    }

    /// Estimated, as a sketch of bounded size keeps them.
    fn quartile(&self, part: &str) -> Value {
        let column = &self.column;
        match self.type_name {
            "integer" | "bigint" | "double precision" => {
                Value::Aggregate(format!("approx_percentile_cont({column}, {part})::text"))
            }
            "timestamp with time zone" => {
                let seconds = format!("approx_percentile_cont(extract(epoch from {column})::float8, {part})");
                // The sketch may round beyond what there is.
                Value::Aggregate(format!(
                    "greatest(min({column}), least(max({column}), date_trunc('milliseconds', \
                     to_timestamp({seconds}))))::text"
                ))
            }
            _ => Value::None,
        }
    }
}

fn wrong(message: &str) -> Error {
    Error::new(SqlState::INVALID_STATEMENT, message).with_hint(USAGE)
}
