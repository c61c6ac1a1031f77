//! Statements that contain names of relations and columns.

use datafusion::sql::sqlparser::ast::{CopySource, Statement};

use super::column::Output;
use super::error::{NameError, Result};
use super::scope::Resolver;

impl Resolver<'_> {
    /// Names everything in a statement; returns the output columns if it is a query or has RETURNING.
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
            Statement::CreateView(view) => self.query(&mut view.query)?,
            Statement::CreateTable(table) => match &mut table.query {
                Some(query) => self.query(query)?,
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
            Statement::Insert(insert) => self.insert(insert)?,
            Statement::Update(update) => self.update(update)?,
            Statement::Delete(delete) => self.delete(delete)?,
            Statement::Merge(_) => return Err(NameError::unsupported("MERGE is not supported")),
            _ => Vec::new(),
        };
        Ok(if explained { Vec::new() } else { outputs })
    }
}
