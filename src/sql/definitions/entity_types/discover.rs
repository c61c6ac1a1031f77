//! Finding the types of entities that a table holds, in SQL over the table itself.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};

use super::proposal::Proposal;
use super::type_rule::{TypeRule, quoted};
use crate::definitions::relation_name::Relation;
use crate::planner::StatementPlanner;
use crate::provider::TableColumns;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::AccountName;
use rowkey_storage::{Catalog, Table};

/// Most types a table has; what has more kinds of values is no type.
const TYPES_MAX: usize = 100;
/// Columns in front of the properties.
const KEY_COLUMNS: usize = 3;

/// A view for every type of entities in a table, the most frequent first; none where nothing tells
/// types apart.
pub(super) async fn discover(table: &str, planner: &StatementPlanner) -> Result<Vec<Proposal>> {
    let table = table_named(planner.catalog(), planner.account(), table)?;
    for rule in TypeRule::candidates(&table) {
        let types = types(&table, &rule, planner).await?;
        if fits(&table, &rule, &types) {
            return proposals(&table, &rule, &types, planner).await;
        }
    }
    Ok(Vec::new())
}

fn table_named(catalog: &Catalog, account: &AccountName, name: &str) -> Result<Arc<Table>> {
    match Relation::named(catalog, account, name) {
        Some(Relation::Table(table)) => Ok(table),
        Some(Relation::View(view)) => {
            Err(Error::new(SqlState::INVALID_STATEMENT, format!("\"{}\" is not a table", view.name)))
        }
        None => {
            let tables = catalog.tables().filter(|table| table.account == account.as_str());
            let names: Vec<&str> = tables.map(|table| table.name.as_str()).collect();
            Err(rowkey_postgres::error::no_such_table(name, &names))
        }
    }
}

/// A type and how many entities are of it.
type Type = (String, u64);

/// At most one more than there may be.
async fn types(table: &Table, rule: &TypeRule, planner: &StatementPlanner) -> Result<Vec<Type>> {
    let sql = format!(
        "SELECT entity_type, count(*) AS entities FROM (SELECT {} AS entity_type FROM {}) AS typed \
         WHERE entity_type IS NOT NULL GROUP BY entity_type ORDER BY entities DESC, entity_type LIMIT {}",
        rule.expression(),
        quoted(&table.name),
        TYPES_MAX + 1
    );
    let mut types = Vec::new();
    for batch in planner.rows(&sql).await? {
        let names = texts(&batch, 0)?;
        let counts = counts(&batch, 1)?;
        types.extend(names.into_iter().zip(counts));
    }
    Ok(types)
}

/// Few types with several entities each; a property that may be something else has to be
/// everywhere.
fn fits(table: &Table, rule: &TypeRule, types: &[Type]) -> bool {
    let entities: u64 = types.iter().map(|(_, count)| count).sum();
    let everywhere = match rule {
        TypeRule::Property { everywhere, .. } => *everywhere,
        TypeRule::RowKeyPrefix => false,
    };
    let repeats = entities > types.len() as u64 || matches!(rule, TypeRule::Property { everywhere: false, .. });
    !types.is_empty() && types.len() <= TYPES_MAX && repeats && (!everywhere || entities == table.manifest.live_rows())
}

/// One pass over the table counts every property in every type.
async fn proposals(
    table: &Table,
    rule: &TypeRule,
    types: &[Type],
    planner: &StatementPlanner,
) -> Result<Vec<Proposal>> {
    let columns = TableColumns::of(table);
    // Columns of one type of a property, "Age:Int64", are part of the property's own.
    let properties: Vec<&str> = columns
        .visible()
        .iter()
        .skip(KEY_COLUMNS)
        .map(|field| field.name().as_str())
        .filter(|name| !name.contains(':'))
        .collect();
    let mut occurs = vec![Vec::new(); types.len()];
    if !properties.is_empty() {
        let list: Vec<String> = properties.iter().map(|name| quoted(name)).collect();
        let counted: Vec<String> =
            list.iter().enumerate().map(|(place, name)| format!("count({name}) AS c{place}")).collect();
        let sql = format!(
            "SELECT {} AS entity_type, {} FROM {} GROUP BY 1",
            rule.expression(),
            counted.join(", "),
            quoted(&table.name)
        );
        for batch in planner.rows(&sql).await? {
            let names = nullable_texts(&batch, 0)?;
            for (place, property) in properties.iter().enumerate() {
                for (name, count) in names.iter().zip(counts(&batch, place + 1)?) {
                    let found = types.iter().position(|(known, _)| name.as_deref() == Some(known.as_str()));
                    if let Some(found) = found.filter(|_| count > 0) {
                        occurs[found].push((*property).to_owned());
                    }
                }
            }
        }
    }
    let mut taken = HashSet::new();
    let proposals = types
        .iter()
        .zip(occurs)
        .map(|((found, entities), columns)| Proposal::new(table, rule, found, *entities, columns, &mut taken, planner));
    Ok(proposals.collect())
}

fn texts(batch: &RecordBatch, column: usize) -> Result<Vec<String>> {
    Ok(nullable_texts(batch, column)?.into_iter().flatten().collect())
}

fn nullable_texts(batch: &RecordBatch, column: usize) -> Result<Vec<Option<String>>> {
    let array = arrow::compute::cast(batch.column(column), &DataType::Utf8View).map_err(unexpected)?;
    Ok(array.as_string_view().iter().map(|text| text.map(str::to_owned)).collect())
}

fn counts(batch: &RecordBatch, column: usize) -> Result<Vec<u64>> {
    let array = arrow::compute::cast(batch.column(column), &DataType::Int64).map_err(unexpected)?;
    Ok(array.as_primitive::<Int64Type>().values().iter().map(|count| u64::try_from(*count).unwrap_or(0)).collect())
}

fn unexpected(error: arrow::error::ArrowError) -> Error {
    Error::new(SqlState::INTERNAL_ERROR, format!("counting entity types: {error}")).with_source(error)
}
