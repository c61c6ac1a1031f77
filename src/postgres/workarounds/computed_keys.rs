//! Computed keys of sorts, windows and ordered aggregates, and large arguments of windows.
//!
//! A comparison of what a function gives has bounds of another type than the function says, which
//! is an error inside the check whether rows are sorted as a window or a merge wants: it then says
//! that they are not, and refuses the plan. So such keys are computed below, and are columns. So
//! are values of windows that are much larger than what they are made of: a window computes those
//! of all rows that it has, a projection those of as many as fit.
//!
//! Keys that are no columns are also computed below several windows of one order, before common
//! expressions are eliminated: that replaces a key in one window and leaves it in the next, whose
//! argument holds a condition, and then they have two orders. So are the terms of grouping sets
//! where aggregates have expressions in common: the rule takes the column of a cast, `v.n`, for the
//! one that is cast.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::{AggregateFunction, Sort, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, BinaryExpr, Expr, GroupingSet, LogicalPlan, Operator, Projection, Window};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::functions::ENLARGING;
use crate::rules::Rules;

/// Behind the rules that would put the keys back.
pub(super) fn install(rules: &mut Rules) -> Result<()> {
    rules.optimizer.before("common_sub_expression_eliminate", Arc::new(ShareWindowKeys))?;
    rules.optimizer.before("common_sub_expression_eliminate", Arc::new(ShareGroupingTerms))?;
    rules.optimizer.last(Arc::new(ComputeKeysBelow));
    Ok(())
}

#[derive(Debug)]
struct ShareWindowKeys;

impl OptimizerRule for ShareWindowKeys {
    fn name(&self) -> &str {
        "share_window_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Window(window) if window.window_expr.len() > 1 && has_computed_keys(&window)? => {
                window_over_keys(window, Keys { computed: Vec::new(), config }, Keys::shared)
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

#[derive(Debug)]
struct ShareGroupingTerms;

impl OptimizerRule for ShareGroupingTerms {
    fn name(&self) -> &str {
        "share_grouping_terms"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(mut aggregate) = plan else { return Ok(Transformed::no(plan)) };
        let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_mut_slice() else {
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        };
        let mut keys = Keys { computed: Vec::new(), config };
        let lists: Vec<&mut Vec<Expr>> = match sets {
            GroupingSet::Rollup(terms) | GroupingSet::Cube(terms) => vec![terms],
            GroupingSet::GroupingSets(sets) => sets.iter_mut().collect(),
        };
        let terms = lists.into_iter().flatten();
        terms.filter(|term| is_computed(term) || is_misread(term)).for_each(|term| keys.once(term));
        if keys.computed.is_empty() {
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        }
        let before = Arc::clone(&aggregate.schema);
        let input = keys.below(aggregate.input)?;
        let grouped =
            LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), aggregate.group_expr, aggregate.aggr_expr)?);
        // Under the names that they had.
        let named = before
            .iter()
            .zip(grouped.schema().columns())
            .map(|((relation, field), column)| Expr::Column(column).alias_qualified(relation.cloned(), field.name()));
        Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(named.collect(), Arc::new(grouped))?)))
    }
}

/// A window over its input with columns for what is replaced in its expressions.
fn window_over_keys<'a>(
    window: Window,
    mut keys: Keys<'a>,
    replaced: impl Fn(&mut Keys<'a>, Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new_for_projection();
    let exprs = window.window_expr.iter().cloned().map(|expr| {
        let name = names.save(&expr);
        let replaced = expr.transform_down(|expr| replaced(&mut keys, expr))?;
        Ok(if replaced.transformed { name.restore(replaced.data) } else { replaced.data })
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    if keys.computed.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let columns = window.schema.columns().into_iter().map(Expr::Column).collect();
    let input = keys.below(window.input)?;
    let window = LogicalPlan::Window(Window::try_new(exprs, Arc::new(input))?);
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(window))?)))
}

#[derive(Debug)]
struct ComputeKeysBelow;

impl OptimizerRule for ComputeKeysBelow {
    fn name(&self) -> &str {
        "compute_keys_below"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let names = NamePreserver::new(&plan);
        let mut keys = Keys { computed: Vec::new(), config };
        let mut columns_for = |exprs: Vec<Expr>| {
            let replaced = exprs.into_iter().map(|expr| {
                let name = names.save(&expr);
                let replaced = expr.transform_down(|expr| keys.replaced(expr))?;
                Ok(if replaced.transformed { name.restore(replaced.data) } else { replaced.data })
            });
            replaced.collect::<Result<Vec<_>>>()
        };
        match plan {
            LogicalPlan::Window(window) => window_over_keys(window, keys, Keys::replaced),
            LogicalPlan::Aggregate(aggregate) => {
                let exprs = columns_for(aggregate.aggr_expr.clone())?;
                if keys.computed.is_empty() {
                    return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
                }
                let input = keys.below(aggregate.input)?;
                let aggregate = Aggregate::try_new(Arc::new(input), aggregate.group_expr, exprs)?;
                Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
            }
            LogicalPlan::Sort(mut sort) => {
                if !keys.sorts(&mut sort.expr) {
                    return Ok(Transformed::no(LogicalPlan::Sort(sort)));
                }
                let columns = sort.input.schema().columns().into_iter().map(Expr::Column).collect();
                sort.input = Arc::new(keys.below(sort.input)?);
                let sorted = Arc::new(LogicalPlan::Sort(sort));
                Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, sorted)?)))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// Keys that are computed below a node.
struct Keys<'a> {
    computed: Vec<Expr>,
    config: &'a dyn OptimizerConfig,
}

impl Keys<'_> {
    /// A window, or an aggregate, with columns for its keys.
    fn replaced(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        match expr {
            Expr::WindowFunction(mut window) => {
                let WindowFunction { params, .. } = window.as_mut();
                let mut changed = self.sorts(&mut params.order_by);
                for key in &mut params.partition_by {
                    changed |= self.key(key);
                }
                for argument in &mut params.args {
                    changed |= enlarges(argument) && self.computed(argument);
                }
                Ok(Transformed::new_transformed(Expr::WindowFunction(window), changed))
            }
            // Keys beside DISTINCT are its arguments.
            Expr::AggregateFunction(AggregateFunction { func, mut params }) if !params.distinct => {
                let changed = self.sorts(&mut params.order_by);
                Ok(Transformed::new_transformed(Expr::AggregateFunction(AggregateFunction { func, params }), changed))
            }
            expr => Ok(Transformed::no(expr)),
        }
    }

    /// A window with columns for all keys that are none.
    fn shared(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        let Expr::WindowFunction(mut window) = expr else { return Ok(Transformed::no(expr)) };
        let WindowFunction { params, .. } = window.as_mut();
        let keys = params.partition_by.iter_mut().chain(params.order_by.iter_mut().map(|sort| &mut sort.expr));
        let mut changed = false;
        for key in keys.filter(|key| is_computed(key)) {
            self.once(key);
            changed = true;
        }
        Ok(Transformed::new_transformed(Expr::WindowFunction(window), changed))
    }

    /// A column in the place of an expression, the same for equal ones.
    fn once(&mut self, expr: &mut Expr) {
        let name = self.computed.iter().find_map(|computed| match computed {
            Expr::Alias(alias) if *alias.expr == *expr => Some(&alias.name),
            _ => None,
        });
        match name {
            Some(name) => *expr = Expr::Column(Column::new_unqualified(name)),
            None => {
                self.computed(expr);
            }
        }
    }

    fn sorts(&mut self, sorts: &mut [Sort]) -> bool {
        let mut changed = false;
        for sort in sorts {
            changed |= self.key(&mut sort.expr);
        }
        changed
    }

    fn key(&mut self, key: &mut Expr) -> bool {
        (compares(key) || enlarges(key)) && self.computed(key)
    }

    fn computed(&mut self, expr: &mut Expr) -> bool {
        let name = self.config.alias_generator().next("__key");
        let column = Expr::Column(Column::new_unqualified(&name));
        self.computed.push(std::mem::replace(expr, column).alias(name));
        true
    }

    /// The input, with the keys behind its columns.
    fn below(self, input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        let exprs = columns.chain(self.computed).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(exprs, input)?))
    }
}

/// Whether bounds are computed for a key that is no column.
fn compares(key: &Expr) -> bool {
    let has_bounds = |expr: &Expr| {
        use Operator::{And, Gt, GtEq, Lt, LtEq, Or};
        matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Lt | LtEq | Gt | GtEq | And | Or, .. }))
    };
    // What cannot be walked through is computed below as well.
    key.exists(|expr| Ok(has_bounds(expr))).unwrap_or(true)
}

/// Whether values of rows are made that are much larger than these.
fn enlarges(expr: &Expr) -> bool {
    let calls = |expr: &Expr| matches!(expr, Expr::ScalarFunction(call) if ENLARGING.contains(&call.func.name()));
    expr.any_column_refs() && expr.exists(|expr| Ok(calls(expr))).unwrap_or(true)
}

/// Whether a key is made of columns, and is none.
fn is_computed(key: &Expr) -> bool {
    !matches!(key, Expr::Column(_)) && key.any_column_refs()
}

/// Whether the name of an unqualified column reads as a qualified one: a cast is named as what is
/// cast.
fn is_misread(term: &Expr) -> bool {
    matches!(term, Expr::Column(Column { relation: None, name, .. }) if name.contains('.'))
}

fn has_computed_keys(window: &Window) -> Result<bool> {
    let has = |expr: &Expr| match expr {
        Expr::WindowFunction(function) => {
            let WindowFunctionParams { partition_by, order_by, .. } = &function.params;
            partition_by.iter().chain(order_by.iter().map(|sort| &sort.expr)).any(is_computed)
        }
        _ => false,
    };
    for expr in &window.window_expr {
        if expr.exists(|expr| Ok(has(expr)))? {
            return Ok(true);
        }
    }
    Ok(false)
}
