//! The rows that `unnest` makes of arrays of a type that Arrow cannot tell from another: items of
//! `varchar[]` are `varchar`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Unnest};

use super::typed_texts::as_text_of_type;
use crate::types::POSTGRES_TYPE;

/// The rows of arrays of texts have the type of the items, which the node by itself forgets.
pub(super) fn with_item_types(unnest: Unnest) -> Result<LogicalPlan> {
    let inputs = unnest.input.schema();
    let item_types: HashMap<String, &str> = unnest
        .list_type_columns
        .iter()
        .filter_map(|(at, list)| {
            let field = inputs.field(*at);
            let item = field.metadata().get(POSTGRES_TYPE)?.strip_prefix('_')?;
            Some((list.output_column.name.clone(), item))
        })
        .collect();
    let schema = Arc::clone(&unnest.schema);
    let is_typed = |field: &Field| field.data_type() == &DataType::Utf8View && item_types.contains_key(field.name());
    if !schema.fields().iter().any(|field| is_typed(field)) {
        return Ok(LogicalPlan::Unnest(unnest));
    }
    let columns = schema.iter().map(|(qualifier, field)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match item_types.get(field.name()) {
            Some(item) if is_typed(field) => {
                as_text_of_type(column, item).alias_qualified(qualifier.cloned(), field.name())
            }
            _ => column,
        }
    });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(LogicalPlan::Unnest(unnest)))?))
}
