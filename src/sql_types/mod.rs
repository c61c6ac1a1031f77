//! PostgreSQL's types: their oids, how Arrow holds them, and their text and binary forms.

/// Key of a field's metadata that names its PostgreSQL type (as in `pg_type.typname`) where Arrow cannot tell: `oid`, `name`, ...
pub const POSTGRES_TYPE: &str = "postgres_type";
