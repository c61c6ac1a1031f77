//! Tables that hold entities of several types: which types there are, and a view for each.
//!
//! `entity_types('Table')` proposes the views, as rows; `CALL create_entity_views('Table')` makes
//! them.

mod call;
mod discover;
mod proposal;
mod table_function;
mod type_rule;

pub(super) use call::create_entity_views;
pub(super) use call::is_create_entity_views;
pub(crate) use table_function::EntityTypes;

use arrow::datatypes::FieldRef;

/// The columns of `entity_types`.
pub(super) fn entity_types_fields() -> Vec<FieldRef> {
    proposal::schema().fields().iter().cloned().collect()
}
