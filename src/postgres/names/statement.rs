//! Statements that contain names of relations and columns.

use datafusion::sql::sqlparser::ast::{CopySource, Statement};

use super::column::Output;
use super::error::{NameError, Result, SqlState};
use super::scope::Resolver;

impl Resolver<'_> {
    /// Resolves the names of a statement; returns the output columns if it is a query or has
    /// RETURNING.
    pub(super) fn statement(&mut self, statement: &mut Statement) -> Result<Vec<Output>> {
        let mut inner = statement;
        // EXPLAIN and PREPARE wrap statements; what EXPLAIN puts out is not the query's.
        let mut explained = false;
        loop {
            match inner {
                Statement::Explain { statement, .. } => {
                    explained = true;
                    inner = statement;
                }
                Statement::Prepare { statement, .. } => inner = statement,
                _ => break,
            }
        }
        let outputs = match inner {
            Statement::Query(query) => self.query(query)?,
            Statement::CreateView(view) => {
                let outputs = self.query(&mut view.query)?;
                columns_of_relation(outputs, view.columns.len())?
            }
            Statement::CreateTable(table) => match &mut table.query {
                Some(query) => {
                    let outputs = self.query(query)?;
                    columns_of_relation(outputs, table.columns.len())?
                }
                None => Vec::new(),
            },
            Statement::Declare { stmts } => {
                let mut outputs = Vec::new();
                for query in stmts.iter_mut().filter_map(|declare| declare.for_query.as_mut()) {
                    outputs = self.query(query)?;
                }
                outputs
            }
            Statement::Copy { source: CopySource::Query(query), .. } => self.query(query)?,
            Statement::Copy { source: CopySource::Table { table_name, columns }, to, .. } => {
                let outputs = self.copied(table_name, columns)?;
                if *to { outputs } else { Vec::new() }
            }
            Statement::Insert(insert) => self.insert(insert)?,
            Statement::Update(update) => self.update(update)?,
            Statement::Delete(delete) => self.delete(delete)?,
            Statement::Merge(merge) => self.merge(merge)?,
            _ => Vec::new(),
        };
        Ok(if explained { Vec::new() } else { outputs })
    }
}

/// The columns of a query that becomes a relation, where two of one name are too many. The first
/// `named` get other names.
fn columns_of_relation(outputs: Vec<Output>, named: usize) -> Result<Vec<Output>> {
    match outputs.iter().skip(named).find(|output| output.name != output.label) {
        None => Ok(outputs),
        Some(twice) => {
            let message = format!("column \"{}\" specified more than once", twice.label);
            Err(NameError::new(SqlState::DUPLICATE_COLUMN, message))
        }
    }
}
