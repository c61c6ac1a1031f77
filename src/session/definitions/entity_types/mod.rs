//! Tables that hold entities of several types: which types there are, and a view for each.
//!
//! `entity_types('Table')` proposes the views, as rows; `CALL create_entity_views('Table')` makes them.

mod call;
mod discover;
mod proposal;
mod table_function;
mod type_rule;

pub use call::{create_entity_views, is_create_entity_views};
pub use table_function::{ENTITY_TYPES, EntityTypes};
