//! From text to statements, and from errors back to places in the text.

mod aggregates;
mod collation;
mod copy;
mod kinds;
mod locate;
mod merge_actions;
mod normalize;
mod operators;
mod parameterize;
mod parse;
mod placeholders;
mod plain;
mod row_locks;
mod source;
mod statement;
mod visit;
mod volatile;

pub use aggregates::is_aggregate;
pub(crate) use collation::is_byte_order;
pub use copy::{CopyArgument, CopyOption, CopyStatement};
pub use kinds::verb;
pub use locate::located;
pub use merge_actions::is_nothing;
pub use normalize::{Normalized, normalized};
pub(crate) use operators::is_comparison;
pub use parameterize::{Literal, Parameterized};
pub use parse::{
    ParseMemory, is_parsed_quickly, kept_bytes, only, parse, parse_all, parse_within, refused, select_of, split,
};
pub(crate) use placeholders::number_of;
pub use placeholders::{count, used, used_in};
pub(crate) use plain::{call_named, call_of, plain_call, plain_cast, plain_function, plain_query, plain_select};
pub use plain::{plain_case, plain_table};
pub use row_locks::RowLocks;
pub use source::Source;
pub use statement::{
    Command, Direction, Discard, Disposer, Effect, ExplainFormat, ExplainOptions, Isolation, Modes, Request, Statement,
    TableName, Vacuum,
};
pub(crate) use visit::{visit, visit_mut, visit_own_expressions_mut};
pub use visit::{
    visit_expressions, visit_expressions_mut, visit_relations_mut, visit_selects_mut, visit_table_factors_mut,
};
pub(crate) use volatile::{has_volatile, is_volatile};
