//! PostgreSQL's functions, aggregates and operators where DataFusion lacks them or answers
//! otherwise.
//!
//! [`register`] puts all of it into a session. Types are settled in two steps: `planner` makes
//! operands go together while a statement is planned, and the rule in `analyzer` resolves the whole
//! plan again, now with the types of literals, before DataFusion coerces what is left.
//! Functions look at the types of their arguments themselves (`scalar`). What is long is made flat
//! for DataFusion, whose rules take more than their length in time: chains of AND and OR
//! (`balanced`), of other operators (`fused`), of UNION ALL (`flat_unions`) and lists of rows
//! (`row_in`).

mod abbreviated;
mod aggregates;
mod analyzer;
mod angles;
mod arithmetic;
mod array_fill;
mod array_items;
mod array_literal;
mod balanced;
mod blanks;
mod built_texts;
mod calendar;
mod cast;
mod collecting;
mod common_type;
mod concatenation;
mod conditional;
mod date_pattern;
mod date_template;
mod datetime_fields;
mod datetime_make;
mod datetime_trunc;
mod decimal;
mod deferred;
mod encodings;
mod enlarging;
mod error;
mod flat_unions;
mod frames;
mod fused;
mod greatest_least;
mod grouping_terms;
mod groups;
mod hashes;
mod in_list;
mod in_place;
mod integers;
mod interval_fields;
mod interval_math;
mod interval_totals;
mod json;
mod justify;
mod keyed_groups;
mod keys;
mod kind;
mod last_template;
mod letter_case;
mod like_items;
mod like_texts;
mod math;
mod min_max;
mod now;
mod null_if;
mod number_pattern;
mod numeric_like;
mod of_inner;
mod ordered_set;
mod overlaid;
mod overlaps;
mod percentile;
mod planner;
mod range_offsets;
mod recursion;
mod register;
mod regular_expressions;
mod resolution;
mod row_in;
mod scalar;
mod series;
mod series_array;
mod set_operations;
mod statistics;
mod stored_types;
mod strings;
mod syntax;
pub mod system;
mod text;
mod to_char;
mod truth;
mod type_names;
mod undefined;
mod value_budget;
mod values_items;
mod zone;

pub use analyzer::ObjectNames;
pub(crate) use analyzer::POSTGRES_TYPES;
pub(crate) use arithmetic::is_operator as is_arithmetic;
pub(crate) use array_items::is_equals_any;
pub use balanced::all_of;
pub(crate) use cast::PostgresCast;
pub use cast::{cast_array, typed_constant};
pub(crate) use collecting::{held_bytes, shown_bytes, slice_bytes};
pub(crate) use common_type::{common_field, is_of_one_type};
pub use conditional::{conditional, conditional_filter};
pub(crate) use deferred::unwrapped as without_wrapping;
pub(crate) use enlarging::ENLARGING;
pub use frames::FrameLimits;
pub(crate) use json::jsonb_part;
pub use json::{JSON_OF_ARRAY, JSON_OF_PAIRS, JSONB_OF_ARRAY, JSONB_OF_PAIRS};
pub use keys::key as comparison_key;
pub(crate) use like_items::is_pattern_operator;
pub(crate) use like_texts::of_value as like_value;
pub(crate) use range_offsets::{INTERVAL as INTERVAL_OFFSET, QUOTED as QUOTED_OFFSET};
pub use register::{configure, register};
pub(crate) use resolution::is_comparison;
pub use row_in::RowIn;
pub(crate) use scalar::{ILIKE, LIKE, counts_values};
pub use series::NAME as GENERATE_SERIES;
pub(crate) use series::{Moment, OF_BIGINT};
pub use syntax::rewrite_syntax;
pub use undefined::with_undefined;
pub(crate) use value_budget::is_batch_too_large;
pub use value_budget::{ValueBudget, batch_bytes};
pub(crate) use values_items::wrapped as values_item;
pub use zone::{SessionStyle, Zone};
