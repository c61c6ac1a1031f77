//! A view that is proposed for a type of entities.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::type_rule::{TypeRule, quoted};
use crate::definitions::relation_name::Relation;
use crate::planner::ENTITY_TYPES_COLUMNS;
use crate::planner::StatementPlanner;
use rowkey_model::VIEW_NAME_BYTES_MAX;
use rowkey_storage::Table;

/// Columns that every view has first.
const KEY_COLUMNS: [&str; 3] = ["PartitionKey", "RowKey", "Timestamp"];

/// A type of entities, and the view on them.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    pub entity_type: String,
    /// How an entity of this type is told, in words.
    pub rule: String,
    pub entities: u64,
    /// Properties that occur in the type.
    pub columns: Vec<String>,
    pub view_name: String,
    pub create_statement: String,
}

impl Proposal {
    /// `found` is the type as the rule's expression gives it; `taken` are the names of views
    /// proposed before, in lower case.
    pub(super) fn new(
        table: &Table,
        rule: &TypeRule,
        found: &str,
        entities: u64,
        columns: Vec<String>,
        taken: &mut HashSet<String>,
        planner: &StatementPlanner,
    ) -> Self {
        let entity_type = rule.name_of(found);
        let (view_name, existing) = view_name(&table.name, entity_type, taken, planner);
        // A view that is replaced keeps its columns in their places.
        let mut selected: Vec<String> = existing;
        for column in KEY_COLUMNS.into_iter().chain(columns.iter().map(String::as_str)) {
            if !selected.iter().any(|present| present == column) {
                selected.push(column.to_owned());
            }
        }
        let list = selected.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
        let create_statement = format!(
            "CREATE OR REPLACE VIEW {} AS SELECT {list} FROM {} WHERE {}",
            quoted(&view_name),
            quoted(&table.name),
            rule.condition(found)
        );
        let (entity_type, rule) = (entity_type.to_owned(), rule.words(found));
        Self { entity_type, rule, entities, columns, view_name, create_statement }
    }
}

/// A name for the view that no table and no other proposal has, and the columns of the view that
/// has it now.
fn view_name(
    table: &str,
    entity_type: &str,
    taken: &mut HashSet<String>,
    planner: &StatementPlanner,
) -> (String, Vec<String>) {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    let wanted: String = table.chars().chain(['_']).chain(entity_type.chars().map(plain)).collect();
    let mut number = 1_u32;
    loop {
        let suffix = if number == 1 { String::new() } else { format!("_{number}") };
        let end = wanted.floor_char_boundary(VIEW_NAME_BYTES_MAX - suffix.len());
        let name = format!("{}{suffix}", &wanted[..end]);
        number += 1;
        if taken.contains(&name.to_lowercase()) {
            continue;
        }
        let columns = match Relation::named(planner.catalog(), planner.account(), &name) {
            Some(Relation::Table(_)) => continue,
            Some(Relation::View(view)) => view.columns.iter().map(|column| column.name.clone()).collect(),
            None => Vec::new(),
        };
        taken.insert(name.to_lowercase());
        return (name, columns);
    }
}

/// The rows of `entity_types`.
pub(super) fn schema() -> SchemaRef {
    let item = Arc::new(Field::new("item", DataType::Utf8View, true));
    let data_type = |name| match name {
        "entities" => DataType::Int64,
        "columns" => DataType::List(Arc::clone(&item)),
        _ => DataType::Utf8View,
    };
    Arc::new(Schema::new(ENTITY_TYPES_COLUMNS.map(|name| Field::new(name, data_type(name), false)).to_vec()))
}

pub(super) fn batch(proposals: &[Proposal]) -> Result<RecordBatch, arrow::error::ArrowError> {
    let text = |get: fn(&Proposal) -> &str| -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(proposals.iter().map(get)))
    };
    let mut columns = arrow::array::ListBuilder::new(arrow::array::StringViewBuilder::new());
    for proposal in proposals {
        columns.append_value(proposal.columns.iter().map(Some));
    }
    let entities = proposals.iter().map(|proposal| i64::try_from(proposal.entities).unwrap_or(i64::MAX));
    let arrays = vec![
        text(|proposal| &proposal.entity_type),
        text(|proposal| &proposal.rule),
        Arc::new(Int64Array::from_iter_values(entities)) as ArrayRef,
        Arc::new(columns.finish()),
        text(|proposal| &proposal.view_name),
        text(|proposal| &proposal.create_statement),
    ];
    RecordBatch::try_new(schema(), arrays)
}
