//! `rowkey.odata(table, filter)` in FROM: the entities of a table that a `$filter` of the Table
//! service holds for (specification, section 2.9), with the columns of the table.

use rowkey_base::{Error, Result, SqlState};

use super::snapshot_catalog::{PUBLIC, SnapshotCatalog};
use crate::odata::Filter;

const USAGE: &str = "for example rowkey.odata('Employees', $$PartitionKey eq 'Sales' and Age gt 30$$)";

/// `SELECT * FROM table WHERE condition`. `arguments` are `None` where they are no constant texts.
///
/// # Errors
/// `UNDEFINED_TABLE` for a table that is not there, `INVALID_STATEMENT` for arguments that are not
/// two texts, and those of [`Filter::parse`].
pub(super) fn sql(arguments: Option<&[&str]>, tables: &SnapshotCatalog) -> Result<String> {
    let (name, filter) = match arguments {
        Some([table, filter]) => (*table, Filter::parse(filter)?),
        Some(_) => return Err(wrong("rowkey.odata takes the name of a table and a filter")),
        None => return Err(wrong("the arguments of rowkey.odata are texts, and no parameters or expressions")),
    };
    let of_view = || wrong(&format!("rowkey.odata reads tables, and \"{name}\" is a view"));
    let table = tables.table_called(name, of_view)?;
    let condition = filter.to_sql(table, &tables.columns.of(table))?;
    Ok(format!("SELECT * FROM \"{PUBLIC}\".\"{}\" WHERE {condition}", table.name))
}

fn wrong(message: &str) -> Error {
    Error::new(SqlState::INVALID_STATEMENT, message).with_hint(USAGE)
}
