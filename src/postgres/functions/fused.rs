//! Deep expressions as single calls.
//!
//! DataFusion's rules walk every expression, and at each node many of them make the name of all
//! that is below it: a chain of 300 operators takes seconds. So a part that has become deep is
//! fused: it becomes one call of a function whose arguments are the columns in it, and whose body
//! no rule looks into. What lies above it is deep again and fused with that call inside, so that
//! no expression of a plan is deeper than [`DEPTH_MAX`] for long.
//!
//! A body is evaluated as one expression: branches of CASE and the like are as lazy as before.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DFSchemaRef, ExprSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use super::cast::PostgresCast;
use super::constant_bytes::{FUSED, FUSED_CONSTANT_BYTES_MAX, constant_bytes};
use super::enlarging::ENLARGING;
use super::resolution::is_comparison;
use super::scalar::Scalar;
use crate::carried::Stop;

/// Deeper parts of expressions are fused.
pub(super) const DEPTH_MAX: usize = 16;
/// Calls that do not evaluate all their arguments for all rows.
const LAZY: [&str; 2] = ["coalesce", "nullif"];

/// The body of a call, which is named by what it computes: calls are equal if their bodies are.
pub(super) struct FusedExpression {
    /// Over the columns of `schema`, with DataFusion's coercions.
    body: Arc<Expr>,
    /// The arguments, named by their places.
    schema: DFSchemaRef,
    /// The result.
    field: FieldRef,
    signature: Signature,
    /// Of the body, found once.
    hash: u64,
    /// Whether some of it may not be evaluated for a row.
    lazy: bool,
    /// Of the constant texts in it.
    constant_bytes: usize,
    /// Operators, calls and values in it, those in bodies within it as well.
    operations: usize,
    /// What the body is in the statement that saw it last.
    prepared: Mutex<Option<Prepared>>,
}

/// A body for the options of a statement, which its functions may depend on.
struct Prepared {
    options: Arc<ConfigOptions>,
    simplified: Arc<Expr>,
    /// Once it is evaluated.
    physical: Option<Arc<dyn PhysicalExpr>>,
}

/// How many operators, calls and values are in a body, if the expression is a call of one.
pub(super) fn operations_within(expr: &Expr) -> usize {
    match expr {
        Expr::ScalarFunction(call) => {
            call.func.inner().downcast_ref::<FusedExpression>().map_or(0, |fused| fused.operations)
        }
        _ => 0,
    }
}

impl FusedExpression {
    /// The expression as one call. `Err`: it is none that can be, and as it was.
    ///
    /// `lazily`: whether what is not evaluated for each row may be in it. Where columns may be
    /// computed, a rule may put what computes them into their place, and arguments are evaluated
    /// for each row.
    pub(super) fn of(expr: Expr, schema: &DFSchema, lazily: bool) -> std::result::Result<Expr, Expr> {
        match Self::fused(&expr, schema, lazily) {
            Ok(Some(fused)) => Ok(fused),
            // What is wrong with its types is said where DataFusion finds it.
            Ok(None) | Err(_) => Err(expr),
        }
    }

    fn fused(expr: &Expr, schema: &DFSchema, lazily: bool) -> Result<Option<Expr>> {
        let Some(parts) = Parts::of(expr, schema)? else { return Ok(None) };
        if parts.lazy && !lazily {
            return Ok(None);
        }
        let field = expr.to_field(schema)?.1;
        // Conditions are where keys and keys of joins are found.
        if matches!(field.data_type(), DataType::Boolean | DataType::Null) {
            return Ok(None);
        }
        let place = |column: &Column| parts.columns.iter().position(|known| known == column);
        let body = expr.clone().transform_up(|expr| match &expr {
            Expr::Column(column) => match place(column) {
                Some(place) => Ok(Transformed::yes(Expr::Column(argument(place)))),
                None => Ok(Transformed::no(expr)),
            },
            _ => Ok(Transformed::no(expr)),
        });
        let arguments = parts.columns.iter().enumerate().map(|(place, column)| {
            let field = schema.field_from_column(column)?.as_ref().clone();
            Ok(field.with_name(argument(place).name).with_nullable(true))
        });
        let arguments = Schema::new(arguments.collect::<Result<Vec<_>>>()?);
        let arguments = Arc::new(DFSchema::try_from(arguments)?);
        let simplifier = ExprSimplifier::new(SimplifyContext::builder().with_schema(Arc::clone(&arguments)).build());
        let body = simplifier.coerce(body.data()?, &arguments)?;
        if body.get_type(&arguments)? != *field.data_type() {
            return Ok(None);
        }
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let signature = match parts.columns.len() {
            0 => Signature::nullary(parts.volatility),
            columns => Signature::any(columns, parts.volatility),
        };
        let function = Self {
            body: Arc::new(body),
            schema: arguments,
            field: Arc::new(field.as_ref().clone().with_name("fused")),
            signature,
            hash: hasher.finish(),
            lazy: parts.lazy,
            constant_bytes: parts.constant_bytes,
            operations: parts.operations,
            prepared: Mutex::new(None),
        };
        let arguments = parts.columns.into_iter().map(Expr::Column).collect();
        let function = Arc::new(ScalarUDF::new_from_impl(function));
        Ok(Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments))))
    }

    /// The body of this statement. It is simplified once: bodies within it are, too.
    fn prepared(&self, options: &Arc<ConfigOptions>) -> Result<MutexGuard<'_, Option<Prepared>>> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if prepared.as_ref().is_none_or(|prepared| !Arc::ptr_eq(&prepared.options, options)) {
            let context = SimplifyContext::builder()
                .with_schema(Arc::clone(&self.schema))
                .with_config_options(Arc::clone(options))
                .build();
            let simplified = Arc::new(ExprSimplifier::new(context).simplify(self.body.as_ref().clone())?);
            *prepared = Some(Prepared { options: Arc::clone(options), simplified, physical: None });
        }
        Ok(prepared)
    }

    fn physical(&self, options: &Arc<ConfigOptions>) -> Result<Arc<dyn PhysicalExpr>> {
        let mut prepared = self.prepared(options)?;
        let Some(prepared) = prepared.as_mut() else { return internal_err!("an expression was not prepared") };
        if let Some(physical) = &prepared.physical {
            return Ok(Arc::clone(physical));
        }
        let mut properties = ExecutionProps::new();
        properties.config_options = Some(Arc::clone(options));
        let (body, context) = (prepared.simplified.as_ref(), PhysicalPlanningContext::default());
        let physical = create_physical_expr(body, &self.schema, &properties, &context)?;
        prepared.physical = Some(Arc::clone(&physical));
        Ok(physical)
    }
}

/// Whether an expression is one of truth, as can be seen at once.
pub(super) fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => op.is_logic_operator() || is_comparison(*op),
        Expr::Not(_) | Expr::InList(_) | Expr::Between(_) | Expr::Like(_) => true,
        _ => false,
    }
}

fn argument(place: usize) -> Column {
    Column::new_unqualified(format!("${place}"))
}

/// What an expression consists of.
struct Parts {
    columns: Vec<Column>,
    volatility: Volatility,
    lazy: bool,
    constant_bytes: usize,
    operations: usize,
}

impl Parts {
    /// `None`: there is something in it that has to stay visible.
    fn of(expr: &Expr, schema: &DFSchema) -> Result<Option<Self>> {
        let mut parts = Self {
            columns: Vec::new(),
            volatility: Volatility::Immutable,
            lazy: false,
            constant_bytes: 0,
            operations: 0,
        };
        let end = expr.apply(|expr| {
            Ok(if parts.take(expr, schema) { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        })?;
        Ok((end != TreeNodeRecursion::Stop).then_some(parts))
    }

    fn take(&mut self, expr: &Expr, schema: &DFSchema) -> bool {
        self.operations = self.operations.saturating_add(1 + operations_within(expr));
        match expr {
            Expr::Column(column) => {
                if !self.columns.contains(column) {
                    self.columns.push(column.clone());
                }
                schema.has_column(column)
            }
            Expr::Literal(value, _) => {
                // Larger ones stay visible: who runs a plan makes its batches small for them.
                self.constant_bytes += constant_bytes(expr);
                value.size().max(self.constant_bytes) < FUSED_CONSTANT_BYTES_MAX
            }
            Expr::ScalarFunction(call) => self.take_call(call),
            Expr::BinaryExpr(BinaryExpr { op, .. }) => {
                self.lazy |= matches!(op, Operator::And | Operator::Or);
                true
            }
            Expr::Case(_) => {
                self.lazy = true;
                true
            }
            Expr::Cast(_)
            | Expr::Not(_)
            | Expr::Negative(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::Between(_)
            | Expr::Like(_)
            | Expr::InList(_) => true,
            _ => false,
        }
    }

    fn take_call(&mut self, call: &ScalarFunction) -> bool {
        let inner = call.func.inner();
        if ENLARGING.contains(&call.func.name()) {
            return false;
        }
        if let Some(fused) = inner.downcast_ref::<FusedExpression>() {
            self.lazy |= fused.lazy;
            self.constant_bytes += fused.constant_bytes;
            if self.constant_bytes >= FUSED_CONSTANT_BYTES_MAX {
                return false;
            }
        }
        self.lazy |= LAZY.contains(&call.func.name());
        match call.func.signature().volatility {
            Volatility::Immutable => true,
            // They depend on settings only, which bodies are made for.
            Volatility::Stable
                if inner.is::<Scalar>() || inner.is::<PostgresCast>() || inner.is::<FusedExpression>() =>
            {
                self.volatility = Volatility::Stable;
                true
            }
            _ => false,
        }
    }
}

impl std::fmt::Debug for FusedExpression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fused {:016x}", self.hash)
    }
}

impl PartialEq for FusedExpression {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && self.field == other.field
            && (Arc::ptr_eq(&self.body, &other.body) || (self.schema == other.schema && self.body == other.body))
    }
}

impl Eq for FusedExpression {}

impl Hash for FusedExpression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl ScalarUDFImpl for FusedExpression {
    fn name(&self) -> &str {
        FUSED
    }

    /// Short, and another one for another body.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("fused_{:016x}({})", self.hash, args.join(",")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::clone(&self.field))
    }

    /// What turns out to be constant is visible again: branches that are never taken, for one.
    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let prepared = self.prepared(info.config_options())?;
        match prepared.as_ref().map(|prepared| prepared.simplified.as_ref()) {
            Some(Expr::Literal(value, metadata)) if value.data_type() == *self.field.data_type() => {
                Ok(ExprSimplifyResult::Simplified(Expr::Literal(value.clone(), metadata.clone())))
            }
            _ => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Stop::of(&args.config_options).check()?;
        let physical = self.physical(&args.config_options)?;
        let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let columns = args.args.iter().zip(self.schema.fields()).map(|(arg, field)| {
            let column = arg.to_array(rows)?;
            Ok(if column.data_type() == field.data_type() { column } else { cast(&column, field.data_type())? })
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(self.schema.inner()), columns, &options)?;
        match physical.evaluate(&batch)? {
            ColumnarValue::Array(array) if constant => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
            }
            values => Ok(values),
        }
    }
}

#[cfg(test)]
mod tests;
