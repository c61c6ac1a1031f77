//! The sides of a comparison: key columns, literals, rows of them.

use std::borrow::Cow;

use datafusion::arrow::array::Array;
use datafusion::arrow::datatypes::{DataType, Fields};
use datafusion::logical_expr::Expr;
use datafusion::scalar::ScalarValue;
use rowkey_model::columns::is_text;

/// The name of the PartitionKey column.
pub(super) const PARTITION_KEY: &str = "PartitionKey";

/// The name of the RowKey column.
pub(super) const ROW_KEY: &str = "RowKey";

/// More members than any comparison of keys has, and few enough that comparing them member by
/// member stays cheap.
const ROW_MEMBERS_MAX: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyColumn {
    Partition,
    Row,
}

/// One side of a comparison, as far as it is of use here.
#[derive(Debug)]
pub(super) enum Operand<'a> {
    Key(KeyColumn),
    Text(&'a str),
    /// A NULL of any type.
    Null,
    /// `(a, b)`, which the SQL planner hands on as `struct(a, b)`.
    Row(Vec<Cow<'a, Expr>>),
    Other,
}

impl<'a> Operand<'a> {
    pub(super) fn of(expr: &'a Expr) -> Self {
        let mut expr = expr;
        let mut row_casts = Vec::new();
        let mut text_cast = false;
        loop {
            let (inner, to) = match expr {
                Expr::Alias(alias) => (&alias.expr, None),
                Expr::Cast(cast) => (&cast.expr, Some(cast.field.data_type())),
                Expr::TryCast(cast) => (&cast.expr, Some(cast.field.data_type())),
                _ => break,
            };
            match to {
                Some(DataType::Struct(fields)) => row_casts.push(fields),
                // Between string types a cast changes nothing.
                Some(to) if is_text(to) => text_cast = true,
                Some(_) => return Operand::Other,
                None => {}
            }
            expr = inner;
        }
        match expr {
            Expr::Literal(value, _) if value.is_null() => return Operand::Null,
            Expr::Literal(ScalarValue::Struct(row), _) => {
                let rows_of_text = |fields: &Fields| is_row_of_text(fields, row.num_columns());
                if text_cast || row.len() != 1 || !is_row(row.fields()) || !row_casts.into_iter().all(rows_of_text) {
                    return Operand::Other;
                }
                let members = row.columns().iter().map(|column| ScalarValue::try_from_array(column, 0).ok());
                let members: Option<Vec<_>> = members.collect();
                let literal = |value| Cow::Owned(Expr::Literal(value, None));
                return members.map_or(Operand::Other, |of| Operand::Row(of.into_iter().map(literal).collect()));
            }
            Expr::ScalarFunction(call) if call.name() == "struct" => {
                let rows_of_text = |fields: &Fields| is_row_of_text(fields, call.args.len());
                if text_cast || call.args.len() > ROW_MEMBERS_MAX || !row_casts.into_iter().all(rows_of_text) {
                    return Operand::Other;
                }
                return Operand::Row(call.args.iter().map(Cow::Borrowed).collect());
            }
            _ => {}
        }
        match expr {
            _ if !row_casts.is_empty() => Operand::Other,
            Expr::Column(column) if column.name == PARTITION_KEY => Operand::Key(KeyColumn::Partition),
            Expr::Column(column) if column.name == ROW_KEY => Operand::Key(KeyColumn::Row),
            Expr::Literal(value, _) => value.try_as_str().flatten().map_or(Operand::Other, Operand::Text),
            _ => Operand::Other,
        }
    }
}

/// Whether the fields are named as `struct()` names them: others may be matched by name, in another
/// order.
fn is_row(fields: &Fields) -> bool {
    fields.len() <= ROW_MEMBERS_MAX && fields.iter().enumerate().all(|(at, field)| *field.name() == format!("c{at}"))
}

fn is_row_of_text(fields: &Fields, members: usize) -> bool {
    fields.len() == members && is_row(fields) && fields.iter().all(|field| is_text(field.data_type()))
}
