//! PostgreSQL's functions, aggregates and operators where the query engine lacks them or answers otherwise.

pub mod system;
