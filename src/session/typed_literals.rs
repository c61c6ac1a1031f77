//! Texts compared with Guids and times are read as such; Guids cast to text are written as one.

use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, TryCast};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::functions::guid_text;
use crate::storage::run::utc_micros;

/// Guids are 16 bytes to the query engine, which would compare them with the bytes of a text; and it would compare times and
/// texts in nanoseconds, which end in 2262.
///
/// As a planner of operators it sees comparisons before their types are checked, as an analyzer rule the rest.
#[derive(Debug)]
pub struct TypedLiterals;

impl ExprPlanner for TypedLiterals {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let compares = matches!(
            expr.op,
            BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
        );
        if !compares {
            return Ok(PlannerResult::Original(expr));
        }
        let RawBinaryExpr { op, left, right } = expr;
        refuse_text_and_number(&left, &right, schema)?;
        refuse_text_and_number(&right, &left, schema)?;
        let (left, right) = match (typed(&left, schema), typed(&right, schema)) {
            (Some(data_type), None) => (left, read(right, &data_type)?),
            (None, Some(data_type)) => (read(left, &data_type)?, right),
            _ => (left, right),
        };
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

/// PostgreSQL has no such operator either; the query engine would read every text as a number, and fail at the first that is none.
fn refuse_text_and_number(text: &Expr, number: &Expr, schema: &DFSchema) -> Result<()> {
    let Expr::Literal(value, _) = number else { return Ok(()) };
    let Expr::Column(column) = text else { return Ok(()) };
    if value.data_type().is_numeric() && text.get_type(schema).is_ok_and(|data_type| is_text(&data_type)) {
        return plan_err!("\"{}\" is text and {value} a number: write the number in quotes, '{value}'", column.name);
    }
    Ok(())
}

/// The type of an expression, if texts compared with it have to be read.
fn typed(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let data_type = expr.get_type(schema).ok()?;
    (data_type == GUID || data_type == utc_micros() || data_type == DataType::BinaryView).then_some(data_type)
}

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
    let typed = |expr: &Expr| typed(expr, schema);
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
    } else if *data_type == DataType::BinaryView {
        // As PostgreSQL writes bytes, and as they are printed here.
        let Some(digits) = text.strip_prefix("\\x") else { return Ok(expr) };
        let bytes = digits.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        });
        match bytes.collect::<Option<Vec<u8>>>() {
            Some(bytes) => ScalarValue::BinaryView(Some(bytes)),
            None => return plan_err!("invalid input syntax for type bytea: \"{text}\""),
        }
    } else {
        match ScalarValue::Utf8(Some(text.clone())).cast_to(data_type) {
            Ok(at) => at,
            Err(_) => return plan_err!("invalid input syntax for type timestamp with time zone: \"{text}\""),
        }
    };
    Ok(Expr::Literal(value, None))
}
