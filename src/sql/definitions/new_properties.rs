//! INSERT of properties that have no columns yet, as the Table service takes them: where the
//! setting `rowkey.new_properties` is on, the columns that an INSERT names and its table does not
//! have are added, as ALTER TABLE would add them.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, ColumnDef, Expr, Ident, Insert, TableObject, UnaryOperator, Value};

use super::alter_table::set_columns;
use super::tables::declared;
use crate::planner::{PUBLIC, StatementPlanner, goes_by_name, insert_of};
use crate::provider::TableColumns;
use crate::writes::{Action, Source, Write, is_default, is_untyped, syntax, too_few};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::TableName;
use rowkey_postgres::parameters::data_type;
use rowkey_postgres::syntax::Statement;
use rowkey_postgres::types::{PostgresType, oid, type_by_oid, type_of};
use rowkey_storage::{Edit, Table};

/// Expressions of VALUES that are typed by one query.
const EXPRESSIONS_AT_ONCE: usize = 400;

/// The edit that gives a table the columns which an INSERT names and the table does not have;
/// `None` where there are no such. `declared` are the types of parameters that are known.
///
/// # Errors
/// Those of the statement; those of ALTER TABLE ADD COLUMN for a name or a type that no property
/// has.
pub(crate) async fn new_properties(
    planner: &StatementPlanner,
    parsed: &Statement,
    written: &ast::Statement,
    declared: &[Option<&'static PostgresType>],
) -> Result<Option<Edit>> {
    let Some(insert) = insert_of(written) else { return Ok(None) };
    if !goes_by_name(insert) && NewColumns::of(planner, insert).is_none() {
        return Ok(None);
    }
    let mut expanded = written.clone();
    planner.expand(parsed, &mut expanded)?;
    let Some(new) = insert_of(&expanded).and_then(|insert| NewColumns::of(planner, insert)) else { return Ok(None) };
    // Names of the statement are resolved with the columns, whatever their types.
    let text = vec![known(oid::TEXT)?; new.columns.len()];
    let snapshot = planner.snapshot().with_edits(&[new.edit(&text)?])?;
    let planner = planner.seeing(&snapshot);
    let write = Write::read(&planner, parsed, &expanded)?;
    let types = SourceTypes { planner: &planner, parsed, write: &write, declared }.of(&new).await?;
    new.edit(&types).map(Some)
}

/// The columns that a table does not have, of those that an INSERT lists.
struct NewColumns {
    table: Arc<Table>,
    /// Each with its place in the list.
    columns: Vec<(usize, Ident)>,
}

impl NewColumns {
    /// `None` where there are none, or no such table.
    fn of(planner: &StatementPlanner, insert: &Insert) -> Option<Self> {
        let TableObject::TableName(name) = &insert.table else { return None };
        let (_, name) = planner.relation_named(name).filter(|(schema, _)| schema == PUBLIC)?;
        let table = planner.catalog().table(planner.account(), &TableName::parse(&name).ok()?)?;
        let columns = TableColumns::of(table);
        // Hidden columns too, which are no properties and cannot become ones.
        let mut names: Vec<&str> = columns.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let mut new = Vec::new();
        for (place, name) in insert.columns.iter().enumerate() {
            // What has several parts is no column, which the resolver says.
            let [part] = name.0.as_slice() else { continue };
            let Some(ident) = part.as_ident() else { continue };
            let is_known = |name: &&str| {
                *name == ident.value || ident.quote_style.is_none() && name.eq_ignore_ascii_case(&ident.value)
            };
            if !names.iter().any(is_known) {
                names.push(&ident.value);
                new.push((place, ident.clone()));
            }
        }
        (!new.is_empty()).then(|| Self { table: Arc::clone(table), columns: new })
    }

    /// The edit that adds the columns with these types.
    fn edit(&self, types: &[&'static PostgresType]) -> Result<Edit> {
        let mut columns = self.table.columns.clone();
        for ((_, name), ty) in self.columns.iter().zip(types) {
            let definition = ColumnDef { name: name.clone(), data_type: data_type(ty), options: Vec::new() };
            columns.extend(declared(&definition)?);
        }
        set_columns(&self.table, columns)
    }
}

/// The types that the rows of an INSERT have by themselves.
struct SourceTypes<'a> {
    planner: &'a StatementPlanner,
    parsed: &'a Statement,
    /// Planned with the new columns.
    write: &'a Write,
    declared: &'a [Option<&'static PostgresType>],
}

impl SourceTypes<'_> {
    /// Of the new columns. What has no type, such as NULL and a text in quotes, is text.
    async fn of(&self, new: &NewColumns) -> Result<Vec<&'static PostgresType>> {
        let places = new.columns.iter().map(|(place, _)| *place);
        let types: Vec<Option<&'static PostgresType>> = match &self.write.action {
            Action::Insert { source: Source::Query(query), .. } => {
                let query = syntax::statement_of(self.write.with.as_ref(), query);
                let columns = self.of_query(query).await?;
                places.map(|place| columns.get(place).copied().ok_or_else(too_few)).collect::<Result<_>>()?
            }
            Action::Insert { source: Source::Values(rows), .. } => {
                let mut types = Vec::new();
                for place in places {
                    types.push(self.of_values(rows.iter().filter_map(|row| row.get(place))).await?);
                }
                types
            }
            _ => return Err(Error::new(SqlState::INTERNAL_ERROR, "an INSERT became another statement")),
        };
        let text = known(oid::TEXT)?;
        Ok(types.into_iter().map(|ty| ty.unwrap_or(text)).collect())
    }

    /// The types of a query's columns.
    async fn of_query(&self, query: ast::Statement) -> Result<Vec<Option<&'static PostgresType>>> {
        let functions = &self.write.functions;
        let planned = self.planner.resolved_query(self.parsed, query, functions, Vec::new(), self.declared).await?;
        Ok(planned.columns.iter().map(|column| type_of(&column.field)).collect())
    }

    /// The one type of the values of a column; `None` where none of them has one.
    async fn of_values(&self, values: impl Iterator<Item = &Expr>) -> Result<Option<&'static PostgresType>> {
        let (mut common, mut computed) = (None, Vec::new());
        for value in values.filter(|value| !is_default(value)) {
            match self.of_constant(value)? {
                Constant::Typed(ty) => common = Some(common_type(common, ty)?),
                Constant::Untyped => {}
                Constant::Computed => computed.push(value),
            }
        }
        for some in computed.chunks(EXPRESSIONS_AT_ONCE) {
            let items = some.iter().enumerate();
            let items = items.map(|(place, expr)| syntax::item(Expr::clone(expr), &format!("(value {place})")));
            let query = syntax::select(self.write.with.as_ref(), items.collect(), Vec::new(), None)?;
            for ty in self.of_query(query).await?.into_iter().flatten() {
                common = Some(common_type(common, ty)?);
            }
        }
        Ok(common)
    }

    fn of_constant(&self, value: &Expr) -> Result<Constant> {
        Ok(match value {
            Expr::Nested(inner) => self.of_constant(inner)?,
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match self.of_constant(expr)? {
                Constant::Typed(ty) => Constant::Typed(ty),
                _ => Constant::Computed,
            },
            Expr::Value(literal) => match &literal.value {
                Value::Number(digits, _) if digits.parse::<i32>().is_ok() => Constant::Typed(known(oid::INT4)?),
                Value::Number(digits, _) if digits.parse::<i64>().is_ok() => Constant::Typed(known(oid::INT8)?),
                Value::Number(..) => Constant::Typed(known(oid::NUMERIC)?),
                Value::Boolean(_) => Constant::Typed(known(oid::BOOL)?),
                Value::Placeholder(name) => {
                    let number: Option<usize> = name.strip_prefix('$').and_then(|number| number.parse().ok());
                    let place = number.and_then(|number| number.checked_sub(1));
                    match place.and_then(|place| self.declared.get(place).copied().flatten()) {
                        Some(ty) => Constant::Typed(ty),
                        None => Constant::Untyped,
                    }
                }
                _ if is_untyped(value) => Constant::Untyped,
                _ => Constant::Computed,
            },
            _ => Constant::Computed,
        })
    }
}

/// What is known of a value without a plan.
enum Constant {
    Typed(&'static PostgresType),
    Untyped,
    Computed,
}

/// The type that holds values of both, as PostgreSQL finds it for the rows of VALUES.
fn common_type(before: Option<&'static PostgresType>, ty: &'static PostgresType) -> Result<&'static PostgresType> {
    const NUMBERS: [u32; 6] = [oid::INT2, oid::INT4, oid::INT8, oid::NUMERIC, oid::FLOAT4, oid::FLOAT8];
    const TIMES: [u32; 3] = [oid::DATE, oid::TIMESTAMP, oid::TIMESTAMPTZ];
    let Some(before) = before.filter(|before| before.oid != ty.oid) else { return Ok(ty) };
    for order in [&NUMBERS[..], &TIMES[..]] {
        let rank = |ty: &PostgresType| order.iter().position(|oid| *oid == ty.oid);
        if let (Some(one), Some(other)) = (rank(before), rank(ty)) {
            return Ok(if one > other { before } else { ty });
        }
    }
    let is_text = |ty: &PostgresType| matches!(data_type(ty), ast::DataType::Text);
    if is_text(before) && is_text(ty) {
        return known(oid::TEXT);
    }
    let message = format!("VALUES types {} and {} cannot be matched", before.sql_name, ty.sql_name);
    Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
}

fn known(oid: u32) -> Result<&'static PostgresType> {
    type_by_oid(oid).ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, format!("there is no type {oid}")))
}
