//! Guids in expressions: compared with text, the text is read as a Guid; cast to text, they are written as one.

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, TryCast};
use datafusion::optimizer::AnalyzerRule;

use super::functions::guid_text;

/// Guids are 16 bytes to the query engine, which would compare them with the bytes of a text.
#[derive(Debug)]
pub struct GuidLiterals;

const GUID: DataType = DataType::FixedSizeBinary(16);

impl AnalyzerRule for GuidLiterals {
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
        "guid_literals"
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let guid = |expr: &Expr| expr.get_type(schema).is_ok_and(|data_type| data_type == GUID);
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(op) => {
            let (left, right) = match (guid(&left), guid(&right)) {
                (true, false) => (*left, as_guid(*right)?),
                (false, true) => (as_guid(*left)?, *right),
                _ => (*left, *right),
            };
            Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
        }
        Expr::InList(InList { expr, list, negated }) if guid(&expr) => {
            let list = list.into_iter().map(as_guid).collect::<Result<_>>()?;
            Transformed::yes(Expr::InList(InList::new(expr, list, negated)))
        }
        Expr::Between(Between { expr, negated, low, high }) if guid(&expr) => {
            let (low, high) = (Box::new(as_guid(*low)?), Box::new(as_guid(*high)?));
            Transformed::yes(Expr::Between(Between::new(expr, negated, low, high)))
        }
        Expr::Cast(Cast { expr, field }) if guid(&expr) && is_text(field.data_type()) => text_of(*expr),
        Expr::TryCast(TryCast { expr, field }) if guid(&expr) && is_text(field.data_type()) => text_of(*expr),
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

/// A text literal as a Guid; anything else stays what it is.
fn as_guid(expr: Expr) -> Result<Expr> {
    let text = match &expr {
        Expr::Literal(ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text), _) => text,
        _ => return Ok(expr),
    };
    let guid = match text.as_deref().map(uuid::Uuid::try_parse) {
        None => None,
        Some(Ok(guid)) => Some(guid.as_bytes().to_vec()),
        Some(Err(_)) => {
            return plan_err!("invalid input syntax for type uuid: \"{}\"", text.as_deref().unwrap_or_default());
        }
    };
    Ok(Expr::Literal(ScalarValue::FixedSizeBinary(16, guid), None))
}
