//! PostgreSQL's dialect on DataFusion. It knows nothing of entities.
//!
//! A text becomes statements in [`syntax`]; [`names`] says which relation, column and alias each
//! identifier means; [`desugar`] turns what DataFusion does not take into what it does; [`ctes`]
//! computes WITH queries once, `deferred_values` computes long VALUES while they are read, and
//! `source_order` keeps rows of functions in their order; the [`types`] and [`functions`] are
//! PostgreSQL's; [`parameters`] have their types inferred; workarounds keep
//! DataFusion's faults away from plans. [`install()`] puts all of it into a session.
//! [`cancellation`] is how a statement that computes is stopped, and what goes wrong comes out
//! through [`error`].

pub mod cancellation;
mod carried;
pub mod ctes;
mod deferred_values;
pub mod deparse;
pub mod desugar;
pub mod error;
pub mod functions;
mod install;
pub mod memory_pool;
pub mod names;
pub mod parameters;
mod pass_through;
pub mod plan_size;
pub mod rules;
pub mod settings;
mod source_order;
pub mod suggestion;
pub mod syntax;
pub mod type_modifiers;
pub mod types;
mod window_top_k;
mod workarounds;

pub use install::install;
