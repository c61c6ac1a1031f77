//! Casts while a statement is planned: constants are cast at once, and what DataFusion casts just
//! so stays visible to it.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use arrow_schema::extension::Uuid;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable};

use super::cast::{self, PostgresCast};
use super::error::{SqlState, fail};
use super::kind::{Kind, NUMERIC_DIGITS_MAX, decimal_of, unknown_text};
use super::numeric_like::{numeric_like, numerics_like};
use super::resolution::Resolver;
use super::scalar::type_of;
use super::type_names::{ANY_NUMERIC, NUMERIC_SCALE_DEFAULT, TYPE_LENGTH};
use crate::types::POSTGRES_TYPE;

impl Resolver<'_> {
    /// `expr` in another type, as PostgreSQL casts it. Constants are cast at once.
    pub(super) fn to(&self, expr: Expr, from: &DataType, wanted: &DataType) -> Result<Expr> {
        if from == wanted {
            return Ok(expr);
        }
        let field = Field::new("", wanted.clone(), true);
        // As stored columns are: DataFusion wants alike what is above and below a UNION.
        let is_uuid = Kind::of(wanted) == Kind::Uuid;
        self.cast_to_field(expr, from, Arc::new(if is_uuid { field.with_extension_type(Uuid) } else { field }))
    }

    /// A cast of the statement.
    pub(super) fn planned_cast(&self, expr: Expr, field: &FieldRef) -> Result<Expr> {
        let expr = if Kind::of(field.data_type()) == Kind::Bytea { self.with_blanks(expr) } else { expr };
        let Ok(from) = type_of(&expr, self.schema) else {
            return Ok(Expr::Cast(Cast::new_from_field(Box::new(expr), Arc::clone(field))));
        };
        let named = field.metadata().get(POSTGRES_TYPE).map(String::as_str);
        if named == Some(ANY_NUMERIC) {
            let wanted = numeric_like(&expr, &from);
            return self.to(expr, &from, &wanted);
        }
        if let Some(wanted) = numerics_like(&expr, &from, field) {
            return self.to(expr, &from, &wanted);
        }
        let plain = named.is_none() && !field.metadata().contains_key(TYPE_LENGTH);
        if plain && from == *field.data_type() {
            return Ok(self.as_plain(expr, field));
        }
        self.cast_to_field(expr, &from, Arc::clone(field))
    }

    /// A planned cast again, now that the type of its argument is settled and the zone known.
    pub(super) fn recast(&self, function: ScalarFunction, target: FieldRef) -> Result<Expr> {
        let ScalarFunction { func, mut args } = function;
        match args.pop() {
            Some(argument) if args.is_empty() => {
                let from = type_of(&argument, self.schema)?;
                if from == *target.data_type() && target.metadata().is_empty() {
                    return Ok(self.as_plain(argument, &target));
                }
                self.cast_to_field(argument, &from, target)
            }
            last => {
                args.extend(last);
                Ok(Expr::ScalarFunction(ScalarFunction::new_udf(func, args)))
            }
        }
    }

    fn cast_to_field(&self, expr: Expr, from: &DataType, field: FieldRef) -> Result<Expr> {
        let wanted = field.data_type();
        let plain = field.metadata().is_empty();
        if let (Expr::Literal(value, metadata), Some(zone)) = (&expr, self.zone)
            && plain
        {
            let zone = if unknown_text(&expr).is_some() { self.literals.unwrap_or(zone) } else { zone };
            // How times are read is a setting, so that PostgreSQL reads those of expressions when
            // there are rows.
            let waits = Kind::of(wanted).is_temporal() && Kind::of(from) == Kind::Text && unknown_text(&expr).is_none();
            match cast::cast_value(value, &field, zone, self.limits) {
                // Where a whole column is cast, what is that small is rounded to the digits that
                // the column has.
                Ok(ScalarValue::Decimal128(Some(0), NUMERIC_DIGITS_MAX, NUMERIC_SCALE_DEFAULT))
                    if let Some(number) = float(value).filter(|number| *number != 0.0) =>
                {
                    return fail(
                        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                        format!("numeric {number:e} has more than 38 digits"),
                    );
                }
                Ok(cast) => return Ok(Expr::Literal(cast, metadata.clone())),
                Err(_) if waits || (self.dropped && unknown_text(&expr).is_none()) => {}
                Err(error) => return Err(error),
            }
        }
        // A literal in quotes is read where it stands.
        if let (Expr::Literal(value, _), Some(zone), Kind::Uuid) = (&expr, self.zone, Kind::of(wanted))
            && unknown_text(&expr).is_some()
        {
            cast::cast_value(value, &field, zone, self.limits)?;
        }
        // What DataFusion casts just so stays visible to it.
        let lossless = match (Kind::of(from), Kind::of(wanted)) {
            (Kind::Null, _) => true,
            (from, wanted) if from.is_integer() && (wanted.is_integer() || wanted.is_float()) => {
                from == wanted || from.common(wanted) == Some(wanted)
            }
            (Kind::Oid, Kind::Int8) | (Kind::Float4, Kind::Float8) | (Kind::Text, Kind::Text) => true,
            (left, Kind::Numeric) if left.is_integer() => match (decimal_of(from), decimal_of(wanted)) {
                (Some((digits, _)), Some((precision, scale))) => {
                    i16::from(digits) <= i16::from(precision) - i16::from(scale)
                }
                _ => false,
            },
            _ => false,
        };
        if lossless && plain {
            // As the cast that runs says of itself.
            let nullable = expr.nullable(self.schema).unwrap_or(true);
            let field = Arc::new(field.as_ref().clone().with_nullable(nullable));
            return Ok(Expr::Cast(Cast::new_from_field(Box::new(expr), field)));
        }
        if !cast::exists(Kind::of(from), Kind::of(wanted)) {
            let message = format!("cannot cast type {} to {}", shown_type(from), shown_type(wanted));
            return fail(SqlState::CANNOT_COERCE, message);
        }
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(PostgresCast::udf(field), vec![expr])))
    }
}

/// A type in messages.
fn shown_type(data_type: &DataType) -> String {
    match data_type {
        DataType::List(item) => format!("{}[]", Kind::of(item.data_type()).name()),
        data_type => Kind::of(data_type).name().to_owned(),
    }
}

fn float(value: &ScalarValue) -> Option<f64> {
    match value {
        ScalarValue::Float64(value) => *value,
        ScalarValue::Float32(value) => value.map(f64::from),
        _ => None,
    }
}
