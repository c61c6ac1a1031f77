//! What the functions about the database itself ask of the session.

use std::fmt::Debug;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, exec_err};

use crate::carried::carried_in_options;
use crate::functions::error::Error;

/// The oid of a table or view, as in `pg_class`, with what the functions tell about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RelationFacts {
    pub oid: u32,
    pub schema: String,
    pub name: String,
    /// `pg_class.relkind`: `r`, `v`, `i`, ...
    pub kind: char,
    /// The names of its columns, in the order of their numbers, which start at 1.
    pub columns: Vec<String>,
    /// The query of a view, without a semicolon at its end.
    pub view_definition: Option<String>,
    /// What its files take.
    pub bytes: u64,
}

/// An index: always the one of a primary key.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexFacts {
    pub name: String,
    pub schema: String,
    pub table: String,
    pub columns: Vec<String>,
}

/// A constraint: always a primary key.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintFacts {
    pub columns: Vec<String>,
}

/// A type, as in `pg_type`.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeFacts {
    pub name: String,
    pub schema: String,
    /// The type of the elements, if it is a true array (`pg_type.typelem` of a type that `typarray`
    /// names).
    pub element: Option<u32>,
}

/// A function, as in `pg_proc`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FunctionFacts {
    pub name: String,
    pub schema: String,
    pub argument_types: Vec<u32>,
    pub argument_names: Vec<String>,
    pub result_type: u32,
    pub returns_set: bool,
    /// How many functions have this name: `regproc` prints a name only when it is the only one.
    pub namesakes: usize,
}

/// A row of `pg_settings`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SettingFacts {
    pub name: String,
    pub setting: String,
    pub unit: Option<String>,
    pub category: String,
    pub description: String,
    pub more: Option<String>,
    pub context: String,
    pub value_type: String,
    pub source: String,
    pub min: Option<String>,
    pub max: Option<String>,
    pub allowed: Option<Vec<String>>,
    pub boot: String,
    pub reset: String,
}

/// What functions need to know; the session implements it over its snapshot, settings and
/// connection.
///
/// Names come as the catalog spells them. Lookups answer `None` for what is not there, and
/// functions make of that what PostgreSQL does: NULL, or an error.
pub trait FunctionContext: Send + Sync + Debug {
    fn database(&self) -> String;
    fn user(&self) -> String;
    /// Schemas in the order of the search path, those that exist; with `implicit`, `pg_catalog`
    /// too, first unless it is named.
    fn search_path(&self, implicit: bool) -> Vec<String>;
    fn backend_pid(&self) -> i32;
    /// The whole of `version()`.
    fn version_text(&self) -> String;
    /// A setting as SHOW prints it.
    fn setting(&self, name: &str) -> Option<String>;
    /// Sets it, until the end of the transaction if `local`, and returns the value as SHOW prints
    /// it from now on.
    fn set_setting(&self, name: &str, value: &str, local: bool) -> std::result::Result<String, Error>;
    fn settings(&self) -> Vec<SettingFacts>;
    /// Whether there was a backend of this number to cancel.
    fn cancel_backend(&self, pid: i32) -> bool;
    /// Whether there was a backend of this number to end.
    fn terminate_backend(&self, pid: i32) -> bool;
    /// Forgets what statements have cost.
    fn reset_statements(&self);
    /// When the server started, in microseconds since 1970.
    fn started_micros(&self) -> i64;
    /// When its settings were read last, in microseconds since 1970.
    fn configured_micros(&self) -> i64 {
        self.started_micros()
    }
    fn transaction_id(&self) -> u64;
    fn database_bytes(&self, name: Option<&str>) -> Option<u64>;

    fn schema_oid(&self, name: &str) -> Option<u32>;
    fn schema_name(&self, oid: u32) -> Option<String>;
    fn role_oid(&self, name: &str) -> Option<u32>;
    fn role_name(&self, oid: u32) -> Option<String>;
    fn database_oid(&self, name: &str) -> Option<u32>;
    fn database_name(&self, oid: u32) -> Option<String>;
    /// A table, view or index; without a schema the first in the search path.
    fn relation_oid(&self, schema: Option<&str>, name: &str) -> Option<u32>;
    fn relation(&self, oid: u32) -> Option<Arc<RelationFacts>>;
    fn index(&self, oid: u32) -> Option<IndexFacts>;
    fn constraint(&self, oid: u32) -> Option<ConstraintFacts>;
    /// By `pg_type.typname`.
    fn type_oid(&self, schema: Option<&str>, name: &str) -> Option<u32>;
    fn type_facts(&self, oid: u32) -> Option<TypeFacts>;
    /// Every function of this name.
    fn function_oids(&self, schema: Option<&str>, name: &str) -> Vec<u32>;
    fn function(&self, oid: u32) -> Option<FunctionFacts>;
    /// The schema of any other object: an operator, a collation, an operator class, ... by catalog.
    fn object_schema(&self, catalog: &str, oid: u32) -> Option<String>;
    /// A comment on an object of a catalog (`pg_class`, `pg_type`, ...; any if none is given), or
    /// on one of its columns if `column` is not 0.
    fn comment(&self, oid: u32, catalog: Option<&str>, column: i32) -> Option<String>;
}

/// The context as it travels with a statement: in the extensions of its `ConfigOptions`.
#[derive(Debug, Clone)]
pub struct FunctionContextExtension(pub Arc<dyn FunctionContext>);

impl FunctionContextExtension {
    /// The context of the session that runs a statement.
    ///
    /// # Errors
    /// The options have none.
    pub fn of(options: &ConfigOptions) -> Result<&dyn FunctionContext> {
        match options.extensions.get::<Self>() {
            Some(context) => Ok(context.0.as_ref()),
            None => exec_err!("functions about the database need a session"),
        }
    }
}

carried_in_options!(FunctionContextExtension, "rowkey_statement");
