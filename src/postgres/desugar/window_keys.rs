//! Keys of windows above joins.
//!
//! Where a join makes a key of PARTITION BY equal to another column, DataFusion sorts by one of
//! them and misses the other when the window is run. Behind a barrier, and computed below, the key
//! equals nothing.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Window};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::decorrelation::optimization_barrier;

/// What the names of keys behind barriers begin with.
const KEY: &str = "__window_key";

#[derive(Debug)]
pub(super) struct WindowKeysAboveJoins;

impl OptimizerRule for WindowKeysAboveJoins {
    fn name(&self) -> &str {
        "window_keys_above_joins"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = plan else { return Ok(Transformed::no(plan)) };
        if !window.window_expr.iter().any(|expr| bare_keys(expr) > 0) || !makes_equal(&window.input)? {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let outputs = window.schema.columns().into_iter().map(Expr::Column).collect();
        let columns = window.input.schema().columns().into_iter().map(Expr::Column);
        let names = NamePreserver::new_for_projection();
        let mut keys: Vec<(Column, String)> = Vec::new();
        let exprs = window.window_expr.into_iter().map(|expr| {
            let name = names.save(&expr);
            let replaced = expr.transform_down(|expr| Ok(with_keys(expr, &mut keys, config)))?;
            Ok(if replaced.transformed { name.restore(replaced.data) } else { replaced.data })
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        // Each behind one more, so that two keys that are equal do not equal each other either.
        let computed = keys.into_iter().enumerate().map(|(place, (key, name))| {
            (0..=place).fold(Expr::Column(key), |key, _| optimization_barrier(key)).alias(name)
        });
        let input = Projection::try_new(columns.chain(computed).collect(), window.input)?;
        let window = Window::try_new(exprs, Arc::new(LogicalPlan::Projection(input)))?;
        let plan = Projection::try_new(outputs, Arc::new(LogicalPlan::Window(window)))?;
        Ok(Transformed::yes(LogicalPlan::Projection(plan)))
    }
}

/// How many keys of PARTITION BY are columns as they are.
fn bare_keys(expr: &Expr) -> usize {
    match expr {
        Expr::Alias(alias) => bare_keys(&alias.expr),
        Expr::WindowFunction(window) => window.params.partition_by.iter().filter(|key| bare(key).is_some()).count(),
        _ => 0,
    }
}

fn makes_equal(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(join) if !join.on.is_empty())))
}

/// A window with the columns of its keys behind barriers, under names that only this rule gives.
fn with_keys(expr: Expr, keys: &mut Vec<(Column, String)>, config: &dyn OptimizerConfig) -> Transformed<Expr> {
    let Expr::WindowFunction(mut window) = expr else { return Transformed::no(expr) };
    let mut changed = false;
    for key in &mut window.params.partition_by {
        let Some(column) = bare(key).cloned() else { continue };
        let known = keys.iter().find(|(other, _)| *other == column).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = config.alias_generator().next(KEY);
            keys.push((column, name.clone()));
            name
        });
        *key = Expr::Column(Column::new_unqualified(name));
        changed = true;
    }
    Transformed::new_transformed(Expr::WindowFunction(window), changed)
}

/// The column that a key is.
fn bare(key: &Expr) -> Option<&Column> {
    match key {
        Expr::Column(column) if !column.name.starts_with(KEY) => Some(column),
        _ => None,
    }
}
