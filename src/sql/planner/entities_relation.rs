//! `rowkey.entities_from_json(text)` in FROM: the entities of a text, as the service writes them.
//!
//! The columns are PartitionKey, RowKey, Timestamp where some entity has one, and the properties in
//! the order in which the text has them first, each with its type. As in all of SQL, a DateTime has
//! microseconds.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Expr, Value};
use rowkey_base::{DateTime, Error, Result, SqlState};
use rowkey_formats::entity_json::EntityList;
use rowkey_model::{EdmType, ValueRef};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY, TIMESTAMP};

const USAGE: &str = r#"for example rowkey.entities_from_json($$[{"PartitionKey":"Sales","RowKey":"1","Age":41}]$$)"#;

/// Most values, those counted that an entity lacks: with a row for every two of them, as many as a
/// query may have.
const VALUES_MAX: usize = 90_000;

/// The entities of a text as a query over VALUES.
pub(super) struct EntitiesRelation {
    /// With one row of VALUES, in whose place the rows go.
    pub sql: String,
    /// Texts, and NULL for what an entity lacks. There may be none: then the query gives no rows.
    pub rows: Vec<Vec<Expr>>,
}

impl EntitiesRelation {
    /// `arguments` are `None` where they are no constant texts.
    ///
    /// # Errors
    /// `INVALID_STATEMENT` for arguments that are not one text, `DATATYPE_MISMATCH` for a property
    /// of several types, `STATEMENT_TOO_COMPLEX` for too many values, and those of
    /// [`EntityList::decode`].
    pub(super) fn of(arguments: Option<&[&str]>) -> Result<Self> {
        let text = match arguments {
            Some([text]) => *text,
            Some(_) => return Err(wrong("rowkey.entities_from_json takes one text")),
            None => {
                return Err(wrong(
                    "the argument of rowkey.entities_from_json is a text, and no parameter or expression",
                ));
            }
        };
        let list = EntityList::decode(text)?;
        let types = types(&list)?;
        let names = list.names();
        let has_timestamp = list.rows().any(|row| row.timestamp().is_some());
        let mut columns = vec![(PARTITION_KEY, EdmType::String), (ROW_KEY, EdmType::String)];
        columns.extend(has_timestamp.then_some((TIMESTAMP, EdmType::DateTime)));
        // By property: the place of its column.
        let mut places = Vec::with_capacity(names.len());
        for (name, edm) in names.iter().zip(&types) {
            places.push(columns.len());
            columns.extend(edm.map(|edm| (&**name, edm)));
        }
        let values = columns.len().saturating_mul(list.rows().len());
        if values > VALUES_MAX {
            let message = format!("{} entities with {} columns are too many", list.rows().len(), columns.len());
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message)
                .with_detail(format!("rowkey.entities_from_json gives at most {VALUES_MAX} values."))
                .with_hint("rowkey import reads files of any size"));
        }
        let mut rows = Vec::with_capacity(list.rows().len());
        for row in list.rows() {
            let mut cells = vec![Expr::value(Value::Null); columns.len()];
            let key = row.key();
            cells[0] = literal(key.partition.to_owned());
            cells[1] = literal(key.row.to_owned());
            if let Some(at) = row.timestamp() {
                cells[2] = literal(microseconds(at));
            }
            for (id, value) in row.properties() {
                cells[places[id.index()]] = literal(cell(value, &names[id.index()])?);
            }
            rows.push(cells);
        }
        Ok(Self { sql: sql(&columns, rows.is_empty()), rows })
    }
}

/// The types of properties by their numbers; `None` where no entity has the property.
fn types(list: &EntityList) -> Result<Vec<Option<EdmType>>> {
    let names = list.names();
    let mut types: Vec<Option<EdmType>> = vec![None; names.len()];
    for row in list.rows() {
        for (id, value) in row.properties() {
            let known = &mut types[id.index()];
            *known = Some(match (*known, value.edm_type()) {
                (None, edm) => edm,
                (Some(before), edm) if before == edm => edm,
                (Some(EdmType::Int32 | EdmType::Int64), EdmType::Int32 | EdmType::Int64) => EdmType::Int64,
                (Some(before), edm) => return Err(mixed(&names[id.index()], before, edm)),
            });
        }
    }
    Ok(types)
}

fn mixed(name: &Arc<str>, before: EdmType, edm: EdmType) -> Error {
    let message =
        format!("property \"{name}\" is of type {} in one entity and {} in another", before.name(), edm.name());
    Error::new(SqlState::DATATYPE_MISMATCH, message)
        .with_hint(format!("give its type in every entity, \"{name}@odata.type\", or insert the entities apart"))
}

/// The query over rows of texts; with `is_empty`, without rows. No name has a quotation mark.
fn sql(columns: &[(&str, EdmType)], is_empty: bool) -> String {
    let list = |item: &dyn Fn(&(&str, EdmType)) -> String| columns.iter().map(item).collect::<Vec<_>>().join(", ");
    let cast = list(&|(name, edm)| format!("CAST(\"{name}\" AS {}) AS \"{name}\"", sql_type(*edm)));
    let names = list(&|(name, _)| format!("\"{name}\""));
    let row = list(&|_| "''".to_owned());
    let condition = if is_empty { " WHERE false" } else { "" };
    format!("SELECT {cast} FROM (VALUES ({row})) AS \"entities\" ({names}){condition}")
}

fn sql_type(edm: EdmType) -> &'static str {
    match edm {
        EdmType::Binary => "bytea",
        EdmType::Boolean => "boolean",
        EdmType::DateTime => "timestamptz",
        EdmType::Double => "double precision",
        EdmType::Guid => "uuid",
        EdmType::Int32 => "integer",
        EdmType::Int64 => "bigint",
        EdmType::String => "text",
    }
}

/// A value in the form that a cast to its type reads.
fn cell(value: ValueRef<'_>, name: &str) -> Result<String> {
    match value {
        ValueRef::Binary(bytes) => {
            let mut hex = String::with_capacity(2 + 2 * bytes.len());
            hex.push_str("\\x");
            for byte in bytes {
                // A text takes all that is written to it.
                let _ = write!(hex, "{byte:02x}");
            }
            Ok(hex)
        }
        ValueRef::DateTime(at) => Ok(microseconds(at)),
        ValueRef::String(text) if text.contains('\0') => {
            let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
            Err(Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
                .with_detail(format!("It is in property \"{name}\".")))
        }
        ValueRef::String(text) => Ok(text.to_owned()),
        value => Ok(value.to_value().to_string()),
    }
}

/// Without the 100 ns digit, which a cast would round.
fn microseconds(at: DateTime) -> String {
    DateTime::from_micros(at.micros(), 0).to_string()
}

fn literal(text: String) -> Expr {
    Expr::value(Value::SingleQuotedString(text))
}

fn wrong(message: &str) -> Error {
    Error::new(SqlState::INVALID_STATEMENT, message).with_hint(USAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(text: &str) -> EntitiesRelation {
        EntitiesRelation::of(Some(&[text])).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn shown(relation: &EntitiesRelation) -> Vec<String> {
        let row = |row: &Vec<Expr>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        relation.rows.iter().map(row).collect()
    }

    #[test]
    fn columns_are_in_the_order_of_the_text_with_their_types() {
        let found = relation(
            r#"[{"PartitionKey":"p","RowKey":"1","Z":1,"A":"it's"},
                {"PartitionKey":"p","RowKey":"2","Z@odata.type":"Edm.Int64","Z":"5",
                "B@odata.type":"Edm.Binary","B":"AQI="}]"#,
        );
        assert_eq!(
            found.sql,
            "SELECT CAST(\"PartitionKey\" AS text) AS \"PartitionKey\", CAST(\"RowKey\" AS text) AS \"RowKey\", \
             CAST(\"Z\" AS bigint) AS \"Z\", CAST(\"A\" AS text) AS \"A\", CAST(\"B\" AS bytea) AS \"B\" \
             FROM (VALUES ('', '', '', '', '')) AS \"entities\" (\"PartitionKey\", \"RowKey\", \"Z\", \"A\", \"B\")"
        );
        assert_eq!(shown(&found), ["'p' '1' '1' 'it''s' NULL", "'p' '2' '5' NULL '\\x0102'"]);
    }

    #[test]
    fn times_have_microseconds_and_timestamps_a_column() {
        let found = relation(
            r#"{"PartitionKey":"p","RowKey":"1","Timestamp":"2024-05-01T08:00:00.1234567Z",
                "At@odata.type":"Edm.DateTime","At":"2024-05-01T08:00:00.9999999Z","N":null}"#,
        );
        assert_eq!(shown(&found), ["'p' '1' '2024-05-01T08:00:00.123456Z' '2024-05-01T08:00:00.999999Z'"]);
        assert!(found.sql.contains("CAST(\"Timestamp\" AS timestamptz)"), "{}", found.sql);
        let none = relation("[]");
        assert!(none.rows.is_empty() && none.sql.ends_with("WHERE false"), "{}", none.sql);
    }

    #[test]
    fn a_property_has_one_type() {
        let two = |first: &str, second: &str| {
            let text = format!(
                r#"[{{"PartitionKey":"p","RowKey":"1","A":{first}}},{{"PartitionKey":"p","RowKey":"2","A":{second}}}]"#
            );
            EntitiesRelation::of(Some(&[text.as_str()]))
                .map(|_| ())
                .map_err(|error| (error.sqlstate(), error.to_string()))
        };
        assert_eq!(two("1", "9000000000"), Ok(()));
        assert_eq!(two("9000000000", "1"), Ok(()));
        let mismatch = |message: &str| Err((SqlState::DATATYPE_MISMATCH, message.to_owned()));
        assert_eq!(two("1", "\"x\""), mismatch("property \"A\" is of type Int32 in one entity and String in another"));
        assert_eq!(two("1.5", "1"), mismatch("property \"A\" is of type Double in one entity and Int32 in another"));
    }

    #[test]
    fn too_many_values_are_refused() {
        let entity = r#"{"PartitionKey":"p","RowKey":"1"},"#;
        let error = EntitiesRelation::of(Some(&[&entity.repeat(VALUES_MAX / 2 + 1)])).err().expect("too many");
        assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX);
        for arguments in [None, Some(&["", ""][..])] {
            let error = EntitiesRelation::of(arguments).err().expect("no text");
            assert_eq!(error.sqlstate(), SqlState::INVALID_STATEMENT);
        }
    }
}
