//! Which statements that write are writes by key, by their syntax trees.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, BinaryOperator, Expr};

use crate::by_key::key_write::{KeyAction, KeyWrite, OnConflict};
use crate::planner::PlanningSettings;
use crate::writes::{Action, Conflict, ConstantExpr, Source, Target, Write, cast_parameter, constant_assignments};
use rowkey_model::Value;
use rowkey_postgres::parameters::place_of;
use rowkey_postgres::settings::Settings;
use rowkey_postgres::types::{PostgresType, oid};
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY};

/// Rows of VALUES that are written this way; of longer statements, planning is a small part.
const ROWS_MAX: usize = 1000;

/// Recognises `INSERT ... VALUES` of constants and parameters, `UPDATE ... SET` of such, or of such
/// added to the column, and `DELETE`, both `WHERE "PartitionKey" = .. AND "RowKey" = ..`.
pub(super) fn recognize(write: &Write, parameters: &[&'static PostgresType], settings: &Settings) -> Option<KeyWrite> {
    if write.returning.is_some() || write.with.is_some() || !write.others.is_empty() {
        return None;
    }
    let style = settings.style();
    let action = match &write.action {
        Action::Insert { columns, source: Source::Values(rows), conflict } if rows.len() <= ROWS_MAX => {
            let row = |row: &Vec<Expr>| {
                let cells = columns.iter().zip(row);
                cells
                    .map(|(at, expr)| ConstantExpr::read(expr, &write.target.columns[*at], style))
                    .collect::<Option<Vec<_>>>()
            };
            let rows = rows.iter().map(row).collect::<Option<Vec<_>>>()?;
            let on_conflict = match conflict {
                Conflict::Fail => OnConflict::Fail,
                Conflict::Nothing => OnConflict::Skip,
                Conflict::Replace => OnConflict::Replace,
                Conflict::Update { assignments, selection: None } => {
                    OnConflict::Update(constant_assignments(write, assignments, columns, style)?)
                }
                Conflict::Update { .. } => return None,
            };
            // Which row counts of those with one key is left to the query.
            if rows.len() > 1 && !matches!(on_conflict, OnConflict::Fail) {
                return None;
            }
            KeyAction::Insert { columns: columns.clone(), rows, on_conflict }
        }
        Action::Update { assignments, selection: Some(selection) } => {
            let key = key_of(selection, &write.alias)?;
            KeyAction::Update { key, assignments: constant_assignments(write, assignments, &[], style)? }
        }
        Action::Delete { selection: Some(selection) } => KeyAction::Delete { key: key_of(selection, &write.alias)? },
        _ => return None,
    };
    Some(KeyWrite {
        target: Target {
            snapshot: write.target.snapshot.without_content(),
            columns: Arc::clone(&write.target.columns),
            hidden: Arc::clone(&write.target.hidden),
        },
        seen: Arc::downgrade(write.target.table()),
        action,
        types: parameters.to_vec(),
        settings: settings.clone(),
        planning: PlanningSettings::of(settings),
    })
}

/// The one key that WHERE selects.
fn key_of(selection: &Expr, alias: &str) -> Option<(ConstantExpr, ConstantExpr)> {
    let (mut partition, mut row) = (None, None);
    let mut parts = vec![selection];
    while let Some(part) = parts.pop() {
        match part {
            Expr::Nested(inner) => parts.push(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => parts.extend([left.as_ref(), right.as_ref()]),
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                let (name, value) = match (key_column(left, alias), key_column(right, alias)) {
                    (Some(name), None) => (name, right),
                    (None, Some(name)) => (name, left),
                    _ => return None,
                };
                let slot = if name == PARTITION_KEY { &mut partition } else { &mut row };
                if slot.is_some() {
                    return None;
                }
                *slot = Some(key_part(value)?);
            }
            _ => return None,
        }
    }
    Some((partition?, row?))
}

fn key_column<'a>(expr: &'a Expr, alias: &str) -> Option<&'a str> {
    match expr {
        Expr::Nested(inner) => key_column(inner, alias),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, name] if relation.value == alias => {
                [PARTITION_KEY, ROW_KEY].contains(&name.value.as_str()).then_some(&*name.value)
            }
            _ => None,
        },
        _ => None,
    }
}

fn key_part(expr: &Expr) -> Option<ConstantExpr> {
    // A parameter of another type is found out with its value.
    if let Some((number, oid::TEXT | oid::VARCHAR)) = cast_parameter(expr).map(|(number, ty)| (number, ty.oid)) {
        return Some(ConstantExpr::Parameter(number.checked_sub(1)?));
    }
    let Expr::Value(value) = expr else { return None };
    match &value.value {
        ast::Value::SingleQuotedString(text) => Some(ConstantExpr::Literal(Some(Value::String(text.clone())))),
        ast::Value::Placeholder(name) => place_of(name).map(ConstantExpr::Parameter),
        _ => None,
    }
}
