//! `ALTER TABLE`: columns are added, dropped, renamed; tables are renamed.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    AlterTable, AlterTableOperation, ColumnDef, DropBehavior, Ident, ObjectName, RenameTableNameKind,
};

use super::comment::column_named;
use super::dependents::{Dependents, broken_views};
use super::relation_name::{Relation, existing, identifiers, name_in_public};
use super::rewritten::{PropertyChange, Rewritten};
use super::tables::{declared, key_column, unsupported};
use super::{Definition, Notice};
use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::{TableName, validate_property_name};
use rowkey_storage::{COLUMNS_MAX, Edit, PropertyColumn, Table};

/// The edits of ALTER TABLE.
pub(super) async fn alter_table(alter: AlterTable, planner: &StatementPlanner) -> Result<Definition> {
    let parts = identifiers(&alter.name)?;
    let table = match existing(&parts, planner) {
        Ok(Relation::Table(table)) => table,
        Ok(Relation::View(view)) => {
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", view.name)));
        }
        Err(error) if alter.if_exists && error.sqlstate() == SqlState::UNDEFINED_TABLE => {
            let notice = Notice::from(format!("{error}, skipping"));
            return Ok(Definition { notices: vec![notice], ..Definition::default() });
        }
        Err(error) => return Err(error),
    };
    match alter.operations.as_slice() {
        [AlterTableOperation::RenameTable { table_name }] => rename_table(&table, table_name, planner).await,
        [AlterTableOperation::RenameColumn { old_column_name, new_column_name }] => {
            rename_column(&table, old_column_name, new_column_name, planner).await
        }
        operations => {
            let mut altered = Altered { columns: table.columns.clone(), table, definition: Definition::default() };
            // Dropped columns make room for added ones, wherever they stand.
            for operation in operations {
                if let AlterTableOperation::DropColumn { column_names, if_exists, drop_behavior, .. } = operation {
                    let cascade = matches!(drop_behavior, Some(DropBehavior::Cascade));
                    for name in column_names {
                        altered.drop_column(name, *if_exists, cascade, planner).await?;
                    }
                }
            }
            let dropped = altered.columns.clone();
            for operation in operations {
                match operation {
                    AlterTableOperation::DropColumn { .. } => {}
                    AlterTableOperation::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                        altered.add_column(column_def, *if_not_exists)?;
                    }
                    other => return Err(unsupported(format!("ALTER TABLE {other}"))),
                }
            }
            let Altered { table, columns, mut definition } = altered;
            let changes = columns != dropped;
            let edit = set_columns(&table, columns)?;
            definition.edits.extend(changes.then_some(edit));
            Ok(definition)
        }
    }
}

/// The edit that gives a table these columns.
pub(super) fn set_columns(table: &Table, columns: Vec<PropertyColumn>) -> Result<Edit> {
    if columns.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns of properties");
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(Edit::SetColumns { table: table.id, columns })
}

/// A table on its way to other columns.
struct Altered {
    table: Arc<Table>,
    columns: Vec<PropertyColumn>,
    definition: Definition,
}

impl Altered {
    fn add_column(&mut self, column: &ColumnDef, if_not_exists: bool) -> Result<()> {
        let added = declared(column)?;
        let name = added.as_ref().map_or(column.name.value.as_str(), |column| &column.name);
        if added.is_none() || self.columns.iter().any(|column| *column.name == *name) {
            let message = format!("column \"{name}\" of relation \"{}\" already exists", self.table.name);
            if if_not_exists {
                self.definition.notices.push(Notice::from(format!("{message}, skipping")));
                return Ok(());
            }
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        self.columns.extend(added);
        Ok(())
    }

    async fn drop_column(
        &mut self,
        written: &Ident,
        if_exists: bool,
        cascade: bool,
        planner: &StatementPlanner,
    ) -> Result<()> {
        let found = property_of(&self.table, written, "drop").and_then(|name| {
            let gone = || no_column(&self.table, written);
            self.columns.iter().position(|column| column.name == name).ok_or_else(gone).map(|place| (place, name))
        });
        let (place, name) = match found {
            Err(error) if if_exists && error.sqlstate() == SqlState::UNDEFINED_COLUMN => {
                self.definition.notices.push(Notice::from(format!("{error}, skipping")));
                return Ok(());
            }
            found => found?,
        };
        let table = &self.table;
        let edit = Edit::DropColumn { table: table.id, name: Arc::clone(&name) };
        let broken = broken_views(planner, table.id, std::slice::from_ref(&edit)).await?;
        let dropped = |id: u64| self.definition.edits.contains(&Edit::DropView { id });
        let broken: Vec<_> = broken.into_iter().filter(|view| !dropped(view.id)).collect();
        let what = format!("column {name} of table {}", table.name);
        let dependents = Dependents::among(broken, |view| view.reads.contains(&table.id), &what);
        if !cascade {
            let message = format!("cannot drop {what} because other objects depend on it");
            Dependents::refuse(&dependents.lines, message)?;
        }
        self.definition.notices.extend(Dependents::cascade(&dependents.views));
        self.definition.edits.extend(dependents.views.iter().map(|view| Edit::DropView { id: view.id }));
        self.definition.edits.push(edit);
        self.columns.remove(place);
        let change = PropertyChange::Dropped(name);
        match self.definition.rewritten.first_mut() {
            Some(rewritten) => rewritten.changes.push(change),
            None => self.definition.rewritten.push(Rewritten { table: table.id, changes: vec![change] }),
        }
        Ok(())
    }
}

fn no_column(table: &Table, written: &Ident) -> Error {
    let message = format!("column \"{}\" of relation \"{}\" does not exist", written.value, table.name);
    Error::new(SqlState::UNDEFINED_COLUMN, message)
}

/// The property whose column is named, if it is one that can be changed.
fn property_of(table: &Arc<Table>, written: &Ident, verb: &str) -> Result<Arc<str>> {
    let name = column_named(&Relation::Table(Arc::clone(table)), written)?;
    if key_column(&Ident::with_quote('"', &name)).is_some() {
        let message = format!("cannot {verb} column \"{name}\": every entity has it");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let property = table.columns.iter().find(|column| *column.name == *name).map(|column| Arc::clone(&column.name));
    property.ok_or_else(|| {
        let message = format!("cannot {verb} column \"{name}\": it is one of several of its property");
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            .with_hint(format!("{verb} the column that has the name of the property, without a type"))
    })
}

async fn rename_column(table: &Arc<Table>, from: &Ident, to: &Ident, planner: &StatementPlanner) -> Result<Definition> {
    let from = property_of(table, from, "rename").map_err(|error| match error.sqlstate() {
        SqlState::UNDEFINED_COLUMN => {
            Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{}\" does not exist", from.value))
        }
        _ => error,
    })?;
    let taken = |name: &str| key_column(to).is_some() || table.columns.iter().any(|column| *column.name == *name);
    if taken(&to.value) {
        let message = format!("column \"{}\" of relation \"{}\" already exists", to.value, table.name);
        return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
    }
    validate_property_name(&to.value)?;
    let to: Arc<str> = Arc::from(to.value.as_str());
    let edit = Edit::RenameColumn { table: table.id, from: Arc::clone(&from), to: Arc::clone(&to) };
    let what = format!("column {from} of table {}", table.name);
    refuse_if_views_break(planner, table, &edit, &what).await?;
    let changes = vec![PropertyChange::Renamed { from, to }];
    let rewritten = vec![Rewritten { table: table.id, changes }];
    Ok(Definition { edits: vec![edit], rewritten, ..Definition::default() })
}

async fn rename_table(table: &Arc<Table>, to: &RenameTableNameKind, planner: &StatementPlanner) -> Result<Definition> {
    let name: &ObjectName = match to {
        RenameTableNameKind::To(name) => name,
        RenameTableNameKind::As(_) => return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"AS\"")),
    };
    let parts = identifiers(name)?;
    if parts.len() > 1 {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \".\""));
    }
    let name = TableName::parse(&name_in_public(&parts, planner)?.value)?;
    if let Some(found) = Relation::named(planner.catalog(), planner.account(), name.as_str())
        && (found.id() != table.id || table.name == name.as_str())
    {
        return Err(Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{}\" already exists", found.name())));
    }
    let edit = Edit::RenameTable { id: table.id, name: name.as_str().to_owned() };
    refuse_if_views_break(planner, table, &edit, &format!("table {}", table.name)).await?;
    Ok(Definition { edits: vec![edit], ..Definition::default() })
}

/// Views are kept as texts, in which a name stays what it is.
async fn refuse_if_views_break(planner: &StatementPlanner, table: &Table, edit: &Edit, what: &str) -> Result<()> {
    let broken = broken_views(planner, table.id, std::slice::from_ref(edit)).await?;
    let dependents = Dependents::among(broken, |view| view.reads.contains(&table.id), what);
    if dependents.lines.is_empty() {
        return Ok(());
    }
    let message = format!("cannot rename {what} because views name it");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_detail(dependents.lines.join("\n"))
        .with_hint("drop the views, rename, and create them again"))
}
