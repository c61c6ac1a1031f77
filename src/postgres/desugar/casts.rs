//! Casts and comparisons that read or print: names of catalog rows, arrays written as text,
//! one-letter texts.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, ExprSchema, Result, ScalarValue, not_impl_err};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, GetFieldAccess, LogicalPlan, LogicalPlanBuilder, ScalarUDF, lit,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::functions::system::{REGISTERED_TYPES, is_vector, read_array_text, system_functions};
use crate::functions::{compares_items, is_comparison, jsonb_part};
use crate::types::{POSTGRES_TYPE, type_of};

/// Reads and prints what casts and comparisons ask for.
///
/// As a planner of operators it sees comparisons before their types are checked, as an analyzer
/// rule the rest.
#[derive(Debug)]
pub(crate) struct CatalogCasts {
    /// `regclassin`, `regclassout`, ...
    functions: Vec<Arc<ScalarUDF>>,
}

impl CatalogCasts {
    pub(crate) fn new() -> Self {
        let wanted = |name: &str| {
            ["oidin", "charin", "array_out"].contains(&name)
                || REGISTERED_TYPES.iter().any(|known| name.starts_with(known))
        };
        Self { functions: system_functions().into_iter().filter(|function| wanted(function.name())).collect() }
    }

    fn call(&self, name: &str, argument: Expr) -> Option<Expr> {
        let function = self.functions.iter().find(|function| function.name() == name)?;
        Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), vec![argument])))
    }

    /// `text::regclass`, `regclass::text`, `'{a,b}'::text[]`, `array::text`, `text::"char"`
    fn cast(&self, cast: Cast, schema: &dyn ExprSchema) -> Result<Transformed<Expr>> {
        let Cast { expr, field } = cast;
        let from = source(&expr, schema);
        let unchanged = |expr| Ok(Transformed::no(Expr::Cast(Cast { expr, field: Arc::clone(&field) })));
        let textual =
            from.as_ref().is_none_or(|from| from.data_type().is_string() || from.data_type() == &DataType::Null);
        let to = postgres_type(&field);
        if let Some(to) = to
            && (REGISTERED_TYPES.contains(&to) || to == "oid")
        {
            if !textual {
                return unchanged(expr);
            }
            let cast = self.call(&format!("{to}in"), *expr.clone());
            return Ok(cast.map_or_else(|| Transformed::no(*expr), Transformed::yes));
        }
        // One letter, whatever the text.
        if to == Some("char") {
            if !textual {
                return not_impl_err!("a cast of other types than texts to \"char\" is not supported");
            }
            if let Some(cast) = self.call("charin", *expr.clone()) {
                return Ok(Transformed::yes(cast));
            }
        }
        // Of what is held as a string, `jsonb` alone is no text.
        if field.data_type().is_string() && field.data_type() != &DataType::LargeUtf8 {
            if let Some(from) = from.as_ref().and_then(|from| postgres_type(from))
                && REGISTERED_TYPES.contains(&from)
                && let Some(printed) = self.call(&format!("{from}out"), *expr.clone())
            {
                return Ok(Transformed::yes(printed));
            }
            if from.as_ref().is_some_and(|from| matches!(from.data_type(), DataType::List(_)))
                && let Some(printed) = self.call("array_out", *expr.clone())
            {
                return Ok(Transformed::yes(match field.metadata().is_empty() {
                    true => printed,
                    false => Expr::Cast(Cast { expr: Box::new(printed), field }),
                }));
            }
        }
        if let DataType::List(_) = field.data_type()
            && let Some(list) = array_literal(&expr, &field)?
            && !matches!(list, Expr::Cast(_))
        {
            return Ok(Transformed::yes(Expr::Cast(Cast { expr: Box::new(list), field })));
        }
        unchanged(expr)
    }

    /// One side says what the text on the other is.
    fn comparison(&self, left: Expr, right: Expr, schema: &dyn ExprSchema) -> Result<(Expr, Expr, bool)> {
        if let Some(read) = self.read_as(&left, &right, schema)? {
            return Ok((left, read, true));
        }
        if let Some(read) = self.read_as(&right, &left, schema)? {
            return Ok((read, right, true));
        }
        Ok((left, right, false))
    }

    fn read_as(&self, typed: &Expr, literal: &Expr, schema: &dyn ExprSchema) -> Result<Option<Expr>> {
        if literal_text(literal).is_none() {
            return Ok(None);
        }
        let Some(field) = source(typed, schema) else { return Ok(None) };
        match postgres_type(&field) {
            Some(name) if REGISTERED_TYPES.contains(&name) => Ok(self.call(&format!("{name}in"), literal.clone())),
            Some("oid" | "xid" | "cid") => Ok(self.call("oidin", literal.clone())),
            _ => match field.data_type() {
                DataType::List(_) => array_literal(literal, &field),
                _ => Ok(None),
            },
        }
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        match expr {
            Expr::Cast(cast) => self.cast(cast, schema),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
                let (left, right, changed) = self.comparison(*left, *right, schema)?;
                let expr = Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
                Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
            }
            Expr::InList(InList { expr, list, negated }) => {
                let mut changed = false;
                let mut read = Vec::with_capacity(list.len());
                for item in list {
                    match self.read_as(&expr, &item, schema)? {
                        Some(item) => {
                            changed = true;
                            read.push(item);
                        }
                        None => read.push(item),
                    }
                }
                let expr = Expr::InList(InList::new(expr, read, negated));
                Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
            }
            // `x = ANY ('{a,b}')`: the array's type is that of an array of x.
            Expr::ScalarFunction(ScalarFunction { func, args }) if compares_items(func.name()) => {
                let [array, item] = args.as_slice() else {
                    return Ok(Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })));
                };
                let item_type = item.get_type(schema).unwrap_or(DataType::Utf8View);
                let list = DataType::new_list(item_type, true);
                let list = Field::new("", list, true);
                match array_literal(array, &list)? {
                    Some(array) => {
                        let args = vec![array, item.clone()];
                        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args })))
                    }
                    None => Ok(Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args }))),
                }
            }
            expr => Ok(Transformed::no(expr)),
        }
    }

    /// Prints the registered types among a statement's columns: what leaves the server is a name.
    pub(crate) fn print_output(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let schema = Arc::clone(plan.schema());
        let registered = |field: &FieldRef| {
            postgres_type(field).is_some_and(|name| REGISTERED_TYPES.contains(&name))
                && field.data_type() == &DataType::UInt32
        };
        if !schema.fields().iter().any(registered) {
            return Ok(plan);
        }
        let columns = schema.iter().map(|(qualifier, field)| {
            let column = Expr::from((qualifier, field));
            let name = postgres_type(field).filter(|_| registered(field));
            match name.and_then(|name| self.call(&format!("{name}out"), column.clone())) {
                Some(printed) => printed.alias_qualified(qualifier.cloned(), field.name()),
                None => column,
            }
        });
        let columns: Vec<_> = columns.collect();
        LogicalPlanBuilder::from(plan).project(columns)?.build()
    }
}

impl ExprPlanner for CatalogCasts {
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
        let (left, right, _) = self.comparison(left, right, schema)?;
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }

    /// Subscripts of an `int2vector` start at 0, those of the planner at 1.
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { field_access, expr } = access;
        if source(&expr, schema).is_some_and(|field| field.data_type() == &DataType::LargeUtf8) {
            let part = match &field_access {
                GetFieldAccess::ListIndex { key } => jsonb_part(expr.clone(), key.as_ref().clone()),
                GetFieldAccess::NamedStructField { name } => {
                    jsonb_part(expr.clone(), Expr::Literal(name.clone(), None))
                }
                GetFieldAccess::ListRange { .. } => {
                    return not_impl_err!("jsonb subscript does not support slices");
                }
            };
            if let Some(part) = part {
                return Ok(PlannerResult::Planned(part));
            }
        }
        let field_access = match field_access {
            GetFieldAccess::ListIndex { key } if source(&expr, schema).is_some_and(|field| is_vector(&field)) => {
                GetFieldAccess::ListIndex { key: Box::new(*key + lit(1i64)) }
            }
            other => other,
        };
        Ok(PlannerResult::Original(RawFieldAccessExpr { field_access, expr }))
    }
}

impl AnalyzerRule for CatalogCasts {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan
            .transform_up_with_subqueries(|plan| {
                let schema = input_schema(&plan);
                // Nodes above refer to a column by the name that it had.
                let names = NamePreserver::new(&plan);
                let rewritten = plan.map_expressions(|expr| {
                    if !expr.exists(|expr| Ok(may_change(expr)))? {
                        return Ok(Transformed::no(expr));
                    }
                    let name = names.save(&expr);
                    let rewritten = expr.transform_up(|expr| self.rewrite(expr, &schema))?;
                    Ok(rewritten.update_data(|expr| name.restore(expr)))
                })?;
                if rewritten.transformed { rewritten.map_data(LogicalPlan::recompute_schema) } else { Ok(rewritten) }
            })
            .data()?;
        self.print_output(plan)
    }

    fn name(&self) -> &str {
        "catalog_casts"
    }
}

/// The columns that a node's expressions may name.
fn input_schema(plan: &LogicalPlan) -> DFSchemaRef {
    if let LogicalPlan::TableScan(scan) = plan {
        return Arc::clone(&scan.projected_schema);
    }
    match plan.inputs().as_slice() {
        [input] => Arc::clone(input.schema()),
        inputs => Arc::new(merge_schema(inputs)),
    }
}

/// Most expressions are none of these, and cost nothing more.
fn may_change(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(_) | Expr::InList(_) => true,
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            is_comparison(*op) && (literal_text(left).is_some() || literal_text(right).is_some())
        }
        Expr::ScalarFunction(function) => compares_items(function.name()),
        _ => false,
    }
}

/// The field of an expression, if it has one yet: parameters do not.
fn source(expr: &Expr, schema: &dyn ExprSchema) -> Option<FieldRef> {
    match expr {
        Expr::Placeholder(_) => None,
        expr => expr.to_field(schema).ok().map(|(_, field)| field),
    }
}

/// The type that a field names, if its values can be of it: a cast carries along what its source
/// says of itself.
fn postgres_type(field: &FieldRef) -> Option<&'static str> {
    let named = field.metadata().get(POSTGRES_TYPE)?;
    type_of(field).map(|ty| ty.name).filter(|name| name == named)
}

/// The text of a literal without a type.
fn literal_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

/// A text literal read as an array of a type; `None` if the expression is no text literal.
///
/// The items are read by the cast from text to their type.
fn array_literal(expr: &Expr, list: &Field) -> Result<Option<Expr>> {
    let (Some(text), DataType::List(item)) = (literal_text(expr), list.data_type()) else { return Ok(None) };
    let items = if is_vector(list) {
        text.split_ascii_whitespace().map(|item| Some(item.to_owned())).collect()
    } else {
        read_array_text(text)?
    };
    // What DataFusion cannot read, or reads otherwise, is cast as a whole, where the zone is known.
    let in_words = item.data_type().is_temporal()
        || item.data_type().is_binary()
        || matches!(item.data_type(), DataType::FixedSizeBinary(_) | DataType::Decimal128(..) | DataType::LargeUtf8);
    if in_words && !is_vector(list) {
        return Ok(Some(Expr::Cast(Cast::new_from_field(Box::new(expr.clone()), Arc::new(list.clone())))));
    }
    let items: Vec<_> = items.into_iter().map(ScalarValue::Utf8View).collect();
    let items = items.iter().map(|text| text.cast_to(item.data_type())).collect::<Result<Vec<_>>>()?;
    let values = ScalarValue::new_list(&items, item.data_type(), true);
    Ok(Some(Expr::Literal(ScalarValue::List(values), None)))
}
