//! Keys of windows above joins and conditions.
//!
//! Where a join makes a key of PARTITION BY equal to another column, or a condition equal to a
//! constant, DataFusion sorts by one of them, or by neither, and misses the key when the window is
//! run. Behind a barrier, and computed below, the key equals nothing.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::generate_sort_key;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Projection, Window};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::functions::behind_barriers;

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
        if !window.window_expr.iter().any(|expr| has_key(expr, |_| true)) {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let equal = Equal::of(&window.input)?;
        if !window.window_expr.iter().any(|expr| has_key(expr, |key| equal.has(key))) {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let outputs = window.schema.columns().into_iter().map(Expr::Column).collect();
        let columns = window.input.schema().columns().into_iter().map(Expr::Column);
        let names = NamePreserver::new_for_projection();
        let mut keys: Vec<(Column, String)> = Vec::new();
        let exprs = window.window_expr.into_iter().map(|expr| {
            let name = names.save(&expr);
            let replaced = expr.transform_down(|expr| Ok(with_keys(expr, &equal, &mut keys, config)))?;
            Ok(if replaced.transformed { name.restore(replaced.data) } else { replaced.data })
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        let (keys, names): (Vec<Column>, Vec<String>) = keys.into_iter().unzip();
        let computed =
            behind_barriers(keys.into_iter().map(Expr::Column)).zip(names).map(|(key, name)| key.alias(name));
        let input = Projection::try_new(columns.chain(computed).collect(), window.input)?;
        let windows = by_order(exprs)?.into_iter().try_fold(LogicalPlan::Projection(input), |below, exprs| {
            Window::try_new(exprs, Arc::new(below)).map(LogicalPlan::Window)
        })?;
        let plan = Projection::try_new(outputs, Arc::new(windows))?;
        Ok(Transformed::yes(LogicalPlan::Projection(plan)))
    }
}

/// Windows of one node have one order; by their new keys they may have several.
fn by_order(exprs: Vec<Expr>) -> Result<Vec<Vec<Expr>>> {
    let (mut orders, mut by_order) = (Vec::new(), Vec::<Vec<Expr>>::new());
    for expr in exprs {
        let order = match expr.clone().unalias() {
            Expr::WindowFunction(window) => generate_sort_key(&window.params.partition_by, &window.params.order_by)?,
            _ => Vec::new(),
        };
        match orders.iter().position(|known| *known == order) {
            Some(place) => by_order[place].push(expr),
            None => {
                orders.push(order);
                by_order.push(vec![expr]);
            }
        }
    }
    Ok(by_order)
}

/// Whether some key of PARTITION BY is such a column.
fn has_key(expr: &Expr, is_wanted: impl Fn(&Column) -> bool + Copy) -> bool {
    match expr {
        Expr::Alias(alias) => has_key(&alias.expr, is_wanted),
        Expr::WindowFunction(window) => window.params.partition_by.iter().filter_map(bare).any(is_wanted),
        _ => false,
    }
}

/// What a plan makes equal to something.
#[derive(Default)]
struct Equal {
    /// There is a join: any column may be.
    all: bool,
    /// The names of columns that are equal to a constant.
    constant: HashSet<String>,
}

impl Equal {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let (mut equal, mut renamed) = (Self::default(), Vec::new());
        plan.apply(|node| {
            match node {
                LogicalPlan::Join(join) => equal.all |= !join.on.is_empty(),
                LogicalPlan::Filter(filter) => equal.add_compared(&filter.predicate)?,
                LogicalPlan::TableScan(scan) => {
                    scan.filters.iter().try_for_each(|filter| equal.add_compared(filter))?
                }
                LogicalPlan::Projection(projection) => {
                    for (expr, field) in projection.expr.iter().zip(projection.schema.fields()) {
                        match unaliased(expr) {
                            Expr::Literal(..) => drop(equal.constant.insert(field.name().clone())),
                            Expr::Column(column) => renamed.push((&column.name, field.name())),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        // Those below were found last.
        for (from, to) in renamed.into_iter().rev() {
            if equal.constant.contains(from) {
                equal.constant.insert(to.clone());
            }
        }
        Ok(equal)
    }

    /// Adds the columns that a condition compares with `=`, whatever becomes of that.
    fn add_compared(&mut self, condition: &Expr) -> Result<()> {
        condition.apply(|expr| {
            let compared = match expr {
                Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => [Some(left), Some(right)],
                Expr::InList(list) if list.list.len() == 1 => [Some(&list.expr), None],
                _ => [None, None],
            };
            for side in compared.into_iter().flatten() {
                self.constant.extend(side.column_refs().into_iter().map(|column| column.name.clone()));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }

    fn has(&self, column: &Column) -> bool {
        self.all || self.constant.contains(&column.name)
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        expr => expr,
    }
}

/// A window with the columns of its keys behind barriers, under names that only this rule gives.
fn with_keys(
    expr: Expr,
    equal: &Equal,
    keys: &mut Vec<(Column, String)>,
    config: &dyn OptimizerConfig,
) -> Transformed<Expr> {
    let Expr::WindowFunction(mut window) = expr else { return Transformed::no(expr) };
    let mut changed = false;
    for key in &mut window.params.partition_by {
        let Some(column) = bare(key).filter(|column| equal.has(column)).cloned() else { continue };
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
