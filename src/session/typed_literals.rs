//! Texts compared with Guids and times are read as such; Guids cast to text are written as one.

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, TryCast};
use datafusion::optimizer::AnalyzerRule;

use super::functions::guid_text;
use crate::storage::run::utc_micros;

/// Guids are 16 bytes to the query engine, which would compare them with the bytes of a text; and it would compare times and
/// texts in nanoseconds, which end in 2262.
#[derive(Debug)]
pub struct TypedLiterals;

const GUID: DataType = DataType::FixedSizeBinary(16);

impl AnalyzerRule for TypedLiterals {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                schema.merge(&scan.projected_schema);
            }
            schema.merge(plan.schema());
            plan.map_expressions(|expr| expr.transform_up(|expr| rewrite(expr, &schema)))
        })
        .data()
    }

    fn name(&self) -> &str {
        "typed_literals"
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let typed =
        |expr: &Expr| expr.get_type(schema).ok().filter(|data_type| *data_type == GUID || *data_type == utc_micros());
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(op) => {
            let (left, right) = match (typed(&left), typed(&right)) {
                (Some(data_type), None) => (*left, read(*right, &data_type)?),
                (None, Some(data_type)) => (read(*left, &data_type)?, *right),
                _ => (*left, *right),
            };
            Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let list = match typed(&expr) {
                Some(data_type) => list.into_iter().map(|item| read(item, &data_type)).collect::<Result<_>>()?,
                None => list,
            };
            Transformed::yes(Expr::InList(InList::new(expr, list, negated)))
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let (low, high) = match typed(&expr) {
                Some(data_type) => (Box::new(read(*low, &data_type)?), Box::new(read(*high, &data_type)?)),
                None => (low, high),
            };
            Transformed::yes(Expr::Between(Between::new(expr, negated, low, high)))
        }
        Expr::Cast(Cast { expr, field }) if typed(&expr) == Some(GUID) && is_text(field.data_type()) => text_of(*expr),
        Expr::TryCast(TryCast { expr, field }) if typed(&expr) == Some(GUID) && is_text(field.data_type()) => {
            text_of(*expr)
        }
        expr => Transformed::no(expr),
    })
}

fn compares(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn text_of(guid: Expr) -> Transformed<Expr> {
    Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(guid_text(), vec![guid])))
}

/// A text literal as a value of `data_type`; anything else stays what it is.
fn read(expr: Expr, data_type: &DataType) -> Result<Expr> {
    let text = match &expr {
        Expr::Literal(ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text), _) => text,
        _ => return Ok(expr),
    };
    let Some(text) = text else { return Ok(Expr::Literal(ScalarValue::try_from(data_type)?, None)) };
    let value = if *data_type == GUID {
        match uuid::Uuid::try_parse(text) {
            Ok(guid) => ScalarValue::FixedSizeBinary(16, Some(guid.as_bytes().to_vec())),
            Err(_) => return plan_err!("invalid input syntax for type uuid: \"{text}\""),
        }
    } else {
        match ScalarValue::Utf8(Some(text.clone())).cast_to(data_type) {
            Ok(at) => at,
            Err(_) => return plan_err!("invalid input syntax for type timestamp with time zone: \"{text}\""),
        }
    };
    Ok(Expr::Literal(value, None))
}
