//! Types of the parameters of a statement that writes, and of what it returns.

use datafusion::sql::sqlparser::ast;

use super::constants::constant_assignments;
use super::on_conflict::conflict_query;
use super::returning::{Returned, refuse_other_rows, returning_query};
use super::rows::MemoryColumn;
use super::run::check_types;
use super::syntax::{self, item};
use super::target::mismatch;
use super::values::{Cell, keeps_values, refuse_misfit};
use super::write::{Action, Clause, Conflict, KEY_COLUMNS, Source, Write};
use crate::planner::Column;
use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::syntax::Statement;
use rowkey_postgres::types::{PostgresType, TextStyle, type_by_name};

/// The types of a statement, which are known before its values are.
#[derive(Debug)]
pub(crate) struct WriteTypes {
    pub parameters: Vec<&'static PostgresType>,
    /// Of RETURNING.
    pub columns: Option<Vec<Column>>,
}

/// Types of parameters as far as they are inferred, by number.
struct ParameterTypes {
    known: Vec<Option<&'static PostgresType>>,
}

impl ParameterTypes {
    fn set(&mut self, number: usize, ty: &'static PostgresType) {
        if let Some(known) = self.known.get_mut(number - 1) {
            known.get_or_insert(ty);
        }
    }

    fn get(&self, number: usize) -> Option<&'static PostgresType> {
        self.known.get(number.checked_sub(1)?).copied().flatten()
    }
}

impl Write {
    /// Types the parameters as the client declares them, else as the columns they are assigned to,
    /// else by their context, else as text.
    pub(crate) async fn infer_types(
        &self,
        planner: &StatementPlanner,
        statement: &Statement,
        written: &ast::Statement,
        declared: &[Option<&'static PostgresType>],
        style: &TextStyle,
    ) -> Result<WriteTypes> {
        let count = rowkey_postgres::syntax::count(written)?.max(declared.len());
        let mut types = ParameterTypes { known: (0..count).map(|at| declared.get(at).copied().flatten()).collect() };
        let mut fields = Vec::new();
        for (at, expr) in self.assignments() {
            refuse_misfit(expr, &self.target.columns[*at], style)?;
        }
        match &self.action {
            Action::Insert { columns, source, conflict } => {
                if count > 0 {
                    match source {
                        Source::Values(rows) => {
                            self.infer_from_values(planner, statement, columns, rows, style, &mut types).await?
                        }
                        Source::Query(_) => {
                            self.infer_from_query(planner, statement, self.query()?, &mut types).await?;
                        }
                    }
                }
                if let Conflict::Update { assignments, selection } = conflict
                    && (count > 0
                        || selection.is_some()
                        || constant_assignments(self, assignments, columns, style).is_none())
                {
                    // Types are checked whether a row conflicts or not.
                    let (query, rows) = conflict_query(self, assignments, selection.as_deref(), &[], &[])?;
                    let found =
                        self.infer_from_query(&planner.with_rows(rows), statement, Some(query), &mut types).await?;
                    let fields = found.iter().map(|column| &column.field).skip(1);
                    check_types(self, assignments.iter().map(|(at, _)| *at), fields)?;
                }
            }
            Action::Update { assignments, .. } => {
                for (at, expr) in assignments {
                    let column = &self.target.columns[*at];
                    // A parameter of a type that the client declares is no text that could be read
                    // as the column's.
                    if let Cell::Parameter(number) = Cell::read(expr, column, style)?
                        && let Some(Some(ty)) = types.known.get(number - 1)
                        && column.taken(ty).is_none()
                    {
                        return Err(mismatch(column, ty));
                    }
                }
                if count > 0 || self.returns_others() {
                    let columns = self.infer_from_query(planner, statement, self.query()?, &mut types).await?;
                    fields = columns.into_iter().skip(KEY_COLUMNS + assignments.len()).collect();
                }
            }
            Action::Delete { .. } | Action::Merge { .. } => {
                if count > 0 || self.returns_others() {
                    let columns = self.infer_from_query(planner, statement, self.query()?, &mut types).await?;
                    fields = columns.into_iter().skip(KEY_COLUMNS).collect();
                }
            }
        }
        let columns = self.returning_columns(planner, statement, fields, &mut types).await?;
        let text = type_by_name("text").ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "there is no type text"))?;
        Ok(WriteTypes { parameters: types.known.into_iter().map(|ty| ty.unwrap_or(text)).collect(), columns })
    }

    /// The assignments of every SET, and of INSERT in MERGE.
    fn assignments(&self) -> impl Iterator<Item = &(usize, ast::Expr)> {
        let (own, clauses): (&[_], &[Clause]) = match &self.action {
            Action::Insert { conflict: Conflict::Update { assignments, .. }, .. } => (assignments, &[]),
            Action::Update { assignments, .. } => (assignments, &[]),
            Action::Merge { clauses, .. } => (&[], clauses),
            Action::Insert { .. } | Action::Delete { .. } => (&[], &[]),
        };
        own.iter().chain(clauses.iter().flat_map(|clause| clause.action.assignments()))
    }

    /// Whether RETURNING names columns of other relations.
    fn returns_others(&self) -> bool {
        self.returned().iter().any(|(alias, _)| *alias != self.alias)
    }

    /// Types parameters in VALUES: alone as their columns, in expressions by their context.
    async fn infer_from_values(
        &self,
        planner: &StatementPlanner,
        statement: &Statement,
        columns: &[usize],
        rows: &[Vec<ast::Expr>],
        style: &TextStyle,
        types: &mut ParameterTypes,
    ) -> Result<()> {
        let mut computed = Vec::new();
        for row in rows {
            for (at, expr) in columns.iter().zip(row) {
                let column = &self.target.columns[*at];
                match Cell::read(expr, column, style)? {
                    Cell::Constant(_) => {}
                    Cell::Parameter(number) => types.set(number, column.ty),
                    Cell::CastParameter(number, ty) => {
                        types.set(number, ty);
                        if !types.get(number).is_some_and(|from| keeps_values(from, ty, column)) {
                            computed.push(expr.clone());
                        }
                    }
                    Cell::Expression(expr) => computed.push(*expr),
                }
            }
        }
        computed.retain(|expr| rowkey_postgres::syntax::used_in(expr).is_ok_and(|used| !used.is_empty()));
        if computed.is_empty() {
            return Ok(());
        }
        let items = computed.into_iter().enumerate().map(|(place, expr)| item(expr, &format!("(value {place})")));
        let query = syntax::select(self.with.as_ref(), items.collect(), Vec::new(), None)?;
        self.infer_from_query(planner, statement, Some(query), types).await?;
        Ok(())
    }

    /// Types parameters as the planner types those of a query; gives the query's columns.
    async fn infer_from_query(
        &self,
        planner: &StatementPlanner,
        statement: &Statement,
        query: Option<ast::Statement>,
        types: &mut ParameterTypes,
    ) -> Result<Vec<Column>> {
        let Some(query) = query else { return Ok(Vec::new()) };
        let used = rowkey_postgres::syntax::used(&query)?;
        let planned = planner.resolved_query(statement, query, &self.functions, Vec::new(), &types.known).await?;
        for number in used {
            if let Some(ty) = planned.parameters.get(number - 1) {
                types.set(number, ty);
            }
        }
        Ok(planned.columns)
    }

    /// The columns of RETURNING, whose parameters are typed with them.
    async fn returning_columns(
        &self,
        planner: &StatementPlanner,
        statement: &Statement,
        others: Vec<Column>,
        types: &mut ParameterTypes,
    ) -> Result<Option<Vec<Column>>> {
        let others = others.into_iter().map(|column| -> MemoryColumn {
            let values = arrow::array::new_empty_array(column.field.data_type());
            (column.field, values)
        });
        let returned = Returned { others: others.collect(), ..Returned::default() };
        let Some((query, rows)) = returning_query(self, &returned)? else { return Ok(None) };
        let used = rowkey_postgres::syntax::used(&query)?;
        let planner = planner.with_rows(rows);
        let output = self.output.clone();
        let planned = planner.resolved_query(statement, query, &self.functions, output, &types.known).await?;
        refuse_other_rows(&planned.plan)?;
        for number in used {
            if let Some(ty) = planned.parameters.get(number - 1) {
                types.set(number, ty);
            }
        }
        Ok(Some(planned.columns))
    }
}
