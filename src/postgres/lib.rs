//! PostgreSQL's dialect on DataFusion. It knows nothing of entities.

pub mod functions;
pub mod types;
