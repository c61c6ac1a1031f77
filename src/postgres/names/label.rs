//! What PostgreSQL calls an output column that has no alias.

use std::borrow::Cow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, DataType, ExactNumberInfo, Expr, Function, Ident, Query, SelectItem,
    SetExpr, TimezoneInfo, TrimWhereField,
};

use super::column::fold;
use super::function::{keyword_call, keyword_column};

/// The label of an expression that says nothing about its name.
pub(super) const NAMELESS: &str = "?column?";

/// Where the label of an expression comes from.
#[derive(Debug, PartialEq)]
pub(super) enum Label {
    Text(String),
    /// It is the name of this column, which a scope knows.
    Column(Vec<Ident>),
    /// It is the label of the one column of the subquery inside, known when that has been resolved.
    Subquery,
}

/// The label of an expression that has not been resolved yet: a column's or function's name,
/// through casts, subscripts and the ELSE of a CASE; failing that, the type of the outermost cast
/// or `case`.
pub(super) fn label(expr: &Expr) -> Label {
    let mut inner = expr;
    let mut weak = None;
    loop {
        let strong = match inner {
            Expr::Nested(next) | Expr::Collate { expr: next, .. } => {
                inner = next;
                continue;
            }
            Expr::Cast { expr: next, data_type, .. } => {
                weak.get_or_insert_with(|| type_name(data_type));
                inner = next;
                continue;
            }
            Expr::Case { else_result, .. } => {
                weak.get_or_insert_with(|| "case".to_owned());
                let Some(next) = else_result else { break };
                inner = next;
                continue;
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                let names = dots(access_chain);
                let field = access_chain[names.len()..].iter().rev().find_map(|access| match access {
                    AccessExpr::Dot(Expr::Identifier(field)) => Some(field),
                    _ => None,
                });
                let field = match (root.as_ref(), field) {
                    (Expr::Identifier(ident), None) => {
                        return Label::Column(whole(std::slice::from_ref(ident), &names));
                    }
                    (Expr::CompoundIdentifier(parts), None) => return Label::Column(whole(parts, &names)),
                    (_, field) => field.or(names.last().copied()),
                };
                match field {
                    Some(field) => Cow::Owned(fold(field)),
                    None => {
                        inner = root;
                        continue;
                    }
                }
            }
            Expr::BinaryOp { op: BinaryOperator::Overlaps, .. } => Cow::Borrowed("overlaps"),
            Expr::Identifier(ident) if keyword_call(ident).is_some() => Cow::Owned(fold(ident)),
            Expr::Identifier(ident) => return Label::Column(vec![ident.clone()]),
            Expr::CompoundIdentifier(parts) => return Label::Column(parts.clone()),
            Expr::Subquery(_) => return Label::Subquery,
            Expr::Function(function) => match keyword_column(function) {
                Some(parts) => return Label::Column(parts),
                None => Cow::Owned(function_label(function)),
            },
            Expr::Exists { negated: false, .. } => Cow::Borrowed("exists"),
            Expr::Array(_) => Cow::Borrowed("array"),
            Expr::Tuple(_) => Cow::Borrowed("row"),
            Expr::Extract { .. } => Cow::Borrowed("extract"),
            Expr::Position { .. } => Cow::Borrowed("position"),
            Expr::Substring { shorthand, .. } => Cow::Borrowed(if *shorthand { "substr" } else { "substring" }),
            Expr::Overlay { .. } => Cow::Borrowed("overlay"),
            Expr::Ceil { .. } => Cow::Borrowed("ceil"),
            Expr::Floor { .. } => Cow::Borrowed("floor"),
            Expr::AtTimeZone { .. } => Cow::Borrowed("timezone"),
            Expr::IsNormalized { .. } => Cow::Borrowed("is_normalized"),
            Expr::Trim { trim_where, .. } => Cow::Borrowed(match trim_where {
                None | Some(TrimWhereField::Both) => "btrim",
                Some(TrimWhereField::Leading) => "ltrim",
                Some(TrimWhereField::Trailing) => "rtrim",
            }),
            Expr::TypedString(typed) => {
                weak.get_or_insert_with(|| type_name(&typed.data_type));
                break;
            }
            Expr::Interval(_) => {
                weak.get_or_insert_with(|| "interval".to_owned());
                break;
            }
            _ => break,
        };
        return Label::Text(strong.into_owned());
    }
    Label::Text(weak.unwrap_or_else(|| NAMELESS.to_owned()))
}

/// Field names before the first subscript.
fn dots(chain: &[AccessExpr]) -> Vec<&Ident> {
    chain
        .iter()
        .map_while(|access| match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => Some(ident),
            _ => None,
        })
        .collect()
}

fn whole(parts: &[Ident], more: &[&Ident]) -> Vec<Ident> {
    parts.iter().chain(more.iter().copied()).cloned().collect()
}

fn function_label(function: &Function) -> String {
    function.name.0.last().and_then(|part| part.as_ident()).map_or_else(|| NAMELESS.to_owned(), fold)
}

/// The label that a resolved expression has from the subquery in it.
pub(super) fn subquery_label(expr: &Expr) -> String {
    let mut inner = expr;
    loop {
        match inner {
            Expr::Nested(next) | Expr::Collate { expr: next, .. } | Expr::Cast { expr: next, .. } => inner = next,
            Expr::Case { else_result: Some(next), .. } => inner = next,
            Expr::CompoundFieldAccess { root, .. } => inner = root,
            Expr::Subquery(query) => return first_output(query),
            _ => return NAMELESS.to_owned(),
        }
    }
}

/// The first output column of a resolved query: the first one always keeps its label as its name.
fn first_output(query: &Query) -> String {
    let mut body = query.body.as_ref();
    loop {
        match body {
            SetExpr::Query(query) => body = &query.body,
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Values(_) => return "column1".to_owned(),
            SetExpr::Select(select) => {
                return match select.projection.first() {
                    Some(SelectItem::ExprWithAlias { alias, .. }) => alias.value.clone(),
                    Some(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))) => {
                        parts.last().map_or_else(|| NAMELESS.to_owned(), |ident| ident.value.clone())
                    }
                    _ => NAMELESS.to_owned(),
                };
            }
            _ => return NAMELESS.to_owned(),
        }
    }
}

/// The name of a type in `pg_type`; for an array that of its elements, as PostgreSQL labels a cast.
fn type_name(data_type: &DataType) -> String {
    let zoned = |zone: &TimezoneInfo| matches!(zone, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone);
    let name = match data_type {
        DataType::Array(element) => match element {
            ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::Parenthesis(element) => return type_name(element),
            ArrayElemTypeDef::None => "array",
        },
        DataType::Custom(name, _) => {
            let last = name.0.last().and_then(|part| part.as_ident());
            return last.map_or_else(|| name.to_string(), fold);
        }
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => "int4",
        DataType::BigInt(_) | DataType::Int8(_) => "int8",
        DataType::SmallInt(_) | DataType::Int2(_) => "int2",
        DataType::Float(ExactNumberInfo::Precision(bits)) if *bits <= 24 => "float4",
        DataType::Real | DataType::Float4 => "float4",
        DataType::Float(_) | DataType::Float8 | DataType::DoublePrecision | DataType::Double(_) => "float8",
        DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => "numeric",
        DataType::Bool | DataType::Boolean => "bool",
        DataType::Varchar(_) | DataType::CharacterVarying(_) | DataType::CharVarying(_) => "varchar",
        DataType::Char(_) | DataType::Character(_) => "bpchar",
        DataType::Timestamp(_, zone) => {
            if zoned(zone) {
                "timestamptz"
            } else {
                "timestamp"
            }
        }
        DataType::Time(_, zone) => {
            if zoned(zone) {
                "timetz"
            } else {
                "time"
            }
        }
        DataType::Interval { .. } => "interval",
        DataType::Bit(_) => "bit",
        DataType::BitVarying(_) | DataType::VarBit(_) => "varbit",
        other => return other.to_string().to_ascii_lowercase(),
    };
    name.to_owned()
}
