//! Forms of SQL that the query engine plans in nanoseconds or not at all, as calls and casts that it leaves to us.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    Interval, ObjectName, Statement, Value, ValueWithSpan, visit_expressions_mut,
};

use super::decimal::Decimal;

/// Rewrites a statement in place: `x AT TIME ZONE z` into `timezone(z, x)`, `INTERVAL '...'` into a cast of the text.
pub fn rewrite_syntax(statement: &mut Statement) {
    let visited: ControlFlow<()> = visit_expressions_mut(statement, |expr| {
        let taken = std::mem::replace(expr, Expr::value(Value::Null));
        *expr = rewritten(taken);
        ControlFlow::Continue(())
    });
    debug_assert!(visited.is_continue());
}

fn rewritten(expr: Expr) -> Expr {
    match expr {
        Expr::AtTimeZone { timestamp, time_zone } => call("timezone", vec![*time_zone, *timestamp]),
        Expr::Interval(interval) => cast_interval(interval),
        Expr::Value(value) => match value.value {
            // More digits than a numeric holds here: a double.
            Value::Number(number, _) if number.contains(['e', 'E']) && Decimal::parse(&number).is_none() => {
                cast_text(number, DataType::DoublePrecision)
            }
            other => Expr::Value(ValueWithSpan { value: other, span: value.span }),
        },
        other => other,
    }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// `INTERVAL '3' DAY` is `'3 day'::interval`. What is more than a text and a unit stays for the engine.
fn cast_interval(interval: Interval) -> Expr {
    let simple = interval.leading_precision.is_none()
        && interval.last_field.is_none()
        && interval.fractional_seconds_precision.is_none();
    let text = match interval.value.as_ref() {
        Expr::Value(value) if simple => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    let Some(text) = text else { return Expr::Interval(interval) };
    let text = match &interval.leading_field {
        Some(unit) if text.trim().parse::<f64>().is_ok() => format!("{text} {unit}"),
        _ => text,
    };
    cast_text(text, DataType::Interval { fields: None, precision: None })
}

fn cast_text(text: String, data_type: DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::value(Value::SingleQuotedString(text))),
        data_type,
        array: false,
        format: None,
    }
}
