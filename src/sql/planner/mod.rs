//! Planning one statement: the tables and views of its snapshot, the meaning of its names, and
//! DataFusion's planner with the rules of the dialect.

mod column;
mod entities_relation;
mod odata_relation;
mod own_functions;
mod physical;
mod plan_size;
mod planning_settings;
mod relation_functions;
mod relations;
mod snapshot_catalog;
mod statement_planner;
mod statement_state;
mod summary_relation;
mod views;

pub use column::Column;
pub(crate) use own_functions::{
    ACCESS_PATHS, ACCESS_PATHS_NUMBERS, ACCESS_PATHS_TEXTS, ENTITY_JSON, ENTITY_TYPES, ENTITY_TYPES_COLUMNS,
    FROM_INVERTED_TICKS, FROM_TICKS, INVERTED_TICKS, TICKS,
};
pub(crate) use physical::{physical_plan, run_cancellable};
pub(crate) use planning_settings::PlanningSettings;
pub(crate) use relation_functions::{goes_by_name, insert_of};
pub(crate) use snapshot_catalog::{MEMORY_ROWS, PUBLIC, SnapshotCatalog};
pub(crate) use statement_planner::{MakeFunctions, PlannedQuery, PlanningContext, StatementPlanner};
pub(crate) use statement_state::BaseState;
pub(crate) use views::{ViewExpansion, literal_settings};
