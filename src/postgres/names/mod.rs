//! Names in a statement: which relation, column and alias each identifier means.
//!
//! Columns are PascalCase and should not need quotes, so an unquoted identifier is the column of
//! exactly that name if there is one, else the only one that differs in case alone; a quoted one is
//! exact. The planner knows no such rule: it folds or it does not. [`resolve`] walks the parsed
//! statement once, with scopes, and writes into it what every identifier means: tables as
//! `"schema"."Name" AS "alias"`, columns as `"alias"."Column"`, `*` as its columns, USING as ON,
//! output names of ORDER BY as positions. After it the planner sees quoted names only. The rules of
//! scope are PostgreSQL's.
//!
//! PostgreSQL allows several output columns of one name, the planner does not: the second gets an
//! alias of its own, and [`Resolved::output`] has the labels for the client.

mod aliases;
mod column;
mod error;
mod expr;
mod from;
mod function;
mod grouping_sets;
mod join;
mod key_groups;
mod label;
mod merge;
mod multisets;
mod order;
mod placement;
mod query;
mod records;
mod row;
mod scope;
mod select;
mod statement;
mod subqueries;
mod untyped_arguments;
mod volatile;
mod window_frame;
mod with;
mod write;

use std::sync::Arc;

#[cfg(test)]
use datafusion::sql::sqlparser::ast::Query;
use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::tokenizer::Location;

pub use error::NameError;
use scope::Resolver;

/// A name in a statement: its text and whether it was quoted.
pub type Name<'a> = (&'a str, bool);

/// What relations there are.
pub trait Relations {
    /// The relation that a name means. Without a schema the search path applies, `pg_catalog`
    /// first. Names of tables in schema `public` ignore case; elsewhere an unquoted name is folded
    /// to lower case and a quoted one exact.
    fn relation(&self, schema: Option<Name<'_>>, name: Name<'_>) -> Lookup;

    /// Columns of a function in FROM, by its folded name. `None`: one column, named after the
    /// function.
    fn function_columns(&self, name: &str) -> Option<Vec<String>>;

    /// Whether a function in FROM, by its folded name, gives rows of its own: any other one gives
    /// one row with its value.
    fn returns_rows(&self, function: &str) -> bool;

    /// Whether a function, by its folded name, is an aggregate.
    fn is_aggregate(&self, function: &str) -> bool;

    /// Whether a function, by its folded name, takes single values only: it is neither an aggregate
    /// nor a window function.
    fn is_scalar(&self, _function: &str) -> bool {
        false
    }

    /// The planner's name of a function of a schema that PostgreSQL does not have; both are folded.
    fn function_in(&self, _schema: &str, _name: &str) -> Option<String> {
        None
    }

    /// Whether a function, by the planner's name, takes a row of a table with all of its columns,
    /// the system columns too: it is called with the name and the value of each.
    fn takes_row_of_table(&self, _function: &str) -> bool {
        false
    }

    /// The name of the database, the only one that may qualify a schema.
    fn database(&self) -> &str;
}

/// Answer to a search for a relation.
#[derive(Debug, Clone)]
pub enum Lookup {
    Found(Relation),
    NoSuchSchema,
    NoSuchRelation { suggestion: Option<String> },
}

/// A base relation: its exact names, and its columns in the order in which the planner gets them.
#[derive(Debug, Clone)]
pub struct Relation {
    pub schema: String,
    pub name: String,
    pub columns: Arc<[String]>,
    /// How many of the last columns are system columns (`tableoid`, `xmin`), which `*` leaves out.
    pub system_columns: usize,
    /// The columns of its primary key; empty where it has none.
    pub key: Vec<String>,
}

/// What [`resolve`] found in a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Output columns of the query or of RETURNING; empty for other statements.
    pub output: Vec<OutputColumn>,
    /// Every base relation that occurs, once, as (schema, name).
    pub relations: Vec<(String, String)>,
    /// Names of the functions that are called in expressions, and where.
    pub functions: Vec<(String, Location)>,
}

/// A column as the client sees it. The planner's own name may differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputColumn {
    pub label: String,
    /// The base column whose value it is, unchanged.
    pub origin: Option<Origin>,
}

/// A column of a base relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub schema: String,
    pub relation: String,
    pub column: String,
}

/// Writes into `statement` what its identifiers mean. A statement without relations in it stays as
/// it is. After an error the statement is half rewritten and of no use.
pub fn resolve(statement: &mut Statement, relations: &dyn Relations) -> Result<Resolved, NameError> {
    let mut resolver = Resolver::new(relations);
    let output = resolver.statement(statement)?;
    aliases::rename_clashing(statement, &resolver.clashing.take());
    Ok(resolver.finish(output))
}

/// [`resolve`] for a query that is not a statement of its own.
#[cfg(test)]
pub fn resolve_query(query: &mut Query, relations: &dyn Relations) -> Result<Resolved, NameError> {
    let mut resolver = Resolver::new(relations);
    let output = resolver.query(query)?;
    Ok(resolver.finish(output))
}

#[cfg(test)]
mod tests;
