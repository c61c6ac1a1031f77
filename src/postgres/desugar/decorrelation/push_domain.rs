//! Pushes the domain down into the plan of a subquery, and its columns up through it.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result, not_impl_err};
use datafusion::functions::expr_fn::coalesce;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, Distinct, DistinctOn, EmptyRelation, Expr, ExprSchemable, Filter, Join, LogicalPlan, LogicalPlanBuilder,
    Operator, SortExpr, Values, Window, binary_expr, when,
};

use super::decorrelator::Decorrelator;
use super::domain::Domain;
use super::lateral::lateral_of;
use super::outer_references::{outer_columns, substitute, substitute_in};
use crate::functions::behind_barriers;

impl Decorrelator<'_> {
    /// The plan with the domain's columns before its own: for each value of the domain, the rows
    /// that the plan has for it.
    pub(super) fn push_domain(&mut self, plan: &LogicalPlan, domain: &Domain) -> Result<LogicalPlan> {
        if !self.needs_domain(plan, domain)? {
            if matches!(plan, LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, .. })) {
                return Ok(domain.plan.clone());
            }
            return LogicalPlanBuilder::from(domain.plan.clone()).cross_join(plan.clone())?.build();
        }
        let inputs = merge_schema(&plan.inputs());
        let put = |expr: &Expr| substitute(expr.clone(), &domain.columns, &inputs);
        let names = NamePreserver::new(plan);
        let put_named = |expr: &Expr| Ok(names.save(expr).restore(put(expr)?));
        match plan {
            LogicalPlan::Filter(filter) => {
                let input = self.push_domain(&filter.input, domain)?;
                Ok(LogicalPlan::Filter(Filter::try_new(put(&filter.predicate)?, Arc::new(input))?))
            }
            LogicalPlan::Projection(projection) => {
                let input = self.push_domain(&projection.input, domain)?;
                let exprs = projection.expr.iter().map(put_named).collect::<Result<Vec<_>>>()?;
                LogicalPlanBuilder::from(input).project(domain.exprs().chain(exprs).collect::<Vec<_>>())?.build()
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.push_domain(&alias.input, domain)?;
                let aliased = LogicalPlanBuilder::from(input).alias(alias.alias.clone())?;
                // The domain's columns stay without a qualifier.
                let unqualified = domain.columns.iter().map(|(_, column)| {
                    Expr::Column(Column::new(Some(alias.alias.clone()), &column.name)).alias(&column.name)
                });
                let own = alias.schema.columns().into_iter().map(Expr::Column);
                aliased.project(unqualified.chain(own).collect::<Vec<_>>())?.build()
            }
            LogicalPlan::Subquery(lateral) => self.push_domain(&lateral.subquery, domain),
            LogicalPlan::Sort(sort) => {
                let input = self.push_domain(&sort.input, domain)?;
                LogicalPlanBuilder::from(input).sort(order(&sort.expr, domain, &inputs)?)?.build()
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let pushed = self.push_domain(input, domain)?;
                LogicalPlanBuilder::from(pushed).project(whole(domain, input.schema()))?.distinct()?.build()
            }
            LogicalPlan::Distinct(Distinct::On(DistinctOn { on_expr, select_expr, sort_expr, input, .. })) => {
                let pushed = self.push_domain(input, domain)?;
                let on = on_expr.iter().map(put).collect::<Result<Vec<_>>>()?;
                let select = select_expr.iter().map(put_named).collect::<Result<Vec<_>>>()?;
                let order = match sort_expr {
                    Some(by) => Some(domain_order(domain).chain(order(by, domain, &inputs)?).collect::<Vec<_>>()),
                    None => None,
                };
                let (on, select) = (domain.exprs().chain(on).collect(), domain.exprs().chain(select).collect());
                LogicalPlanBuilder::from(pushed).distinct_on(on, select, order)?.build()
            }
            LogicalPlan::Unnest(unnest) => {
                let input = self.push_domain(&unnest.input, domain)?;
                LogicalPlanBuilder::from(input)
                    .unnest_columns_with_options(unnest.exec_columns.clone(), unnest.options.clone())?
                    .build()
            }
            LogicalPlan::Union(union) => {
                let mut pushed = Vec::with_capacity(union.inputs.len());
                for input in &union.inputs {
                    self.charge_plan(&domain.plan)?;
                    let plan = self.push_domain(input, domain)?;
                    pushed.push(LogicalPlanBuilder::from(plan).project(whole(domain, input.schema()))?.build()?);
                }
                united(pushed)
            }
            LogicalPlan::Values(values) => {
                values.values.iter().try_for_each(|_| self.charge_plan(&domain.plan))?;
                of_values(values, domain)
            }
            LogicalPlan::Window(window) => self.window(window, domain, &inputs),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate, domain, &inputs),
            LogicalPlan::Limit(limit) => self.limit(limit, domain),
            LogicalPlan::Join(join) => self.push_into_join(join, domain, &inputs),
            LogicalPlan::RecursiveQuery(query) => self.recursive(query, domain),
            LogicalPlan::TableScan(scan) => match self.work_table(scan, domain)? {
                Some(rows) => Ok(rows),
                None => not_impl_err!("a table function that refers to a query around it is not supported here"),
            },
            plan => {
                not_impl_err!("a subquery that refers to a query around it in {} is not supported", node_name(plan))
            }
        }
    }

    /// Whether the columns of the domain have to go into a plan: it refers to them, or reads rows
    /// that have them.
    fn needs_domain(&self, plan: &LogicalPlan, domain: &Domain) -> Result<bool> {
        Ok(refers_to_domain(plan, domain)? || self.reads_work_table(plan)?)
    }

    /// Partitions each window by the domain as well.
    fn window(&mut self, window: &Window, domain: &Domain, inputs: &DFSchema) -> Result<LogicalPlan> {
        let input = self.push_domain(&window.input, domain)?;
        let exprs = window.window_expr.iter().map(|expr| {
            let name = NamePreserver::new_for_projection().save(expr);
            let partitioned = substitute(expr.clone(), &domain.columns, inputs)?.transform_down(|expr| match expr {
                Expr::WindowFunction(mut function) => {
                    let own = std::mem::take(&mut function.params.partition_by);
                    function.params.partition_by = behind_barriers(domain.exprs()).chain(own).collect();
                    Ok(Transformed::new(Expr::WindowFunction(function), true, TreeNodeRecursion::Jump))
                }
                expr => Ok(Transformed::no(expr)),
            });
            Ok(name.restore(partitioned.data()?))
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        LogicalPlanBuilder::from(input).window(exprs)?.build()
    }

    /// Groups by the domain as well. An aggregate without GROUP BY has a row for every value of the
    /// domain, also where no row was aggregated.
    fn aggregate(&mut self, aggregate: &Aggregate, domain: &Domain, inputs: &DFSchema) -> Result<LogicalPlan> {
        if aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
            return not_impl_err!("GROUPING SETS in a subquery that refers to a query around it are not supported");
        }
        let input = self.push_domain(&aggregate.input, domain)?;
        let put = |expr: &Expr| {
            let name = NamePreserver::new_for_projection().save(expr);
            Ok(name.restore(substitute(expr.clone(), &domain.columns, inputs)?))
        };
        let groups = aggregate.group_expr.iter().map(put).collect::<Result<Vec<_>>>()?;
        let values = aggregate.aggr_expr.iter().map(put).collect::<Result<Vec<_>>>()?;
        let alone = groups.is_empty();
        let groups: Vec<_> = domain.exprs().chain(groups).collect();
        let grouped = LogicalPlanBuilder::from(input).aggregate(groups, values)?.build()?;
        if !alone {
            return Ok(grouped);
        }
        let all = self.renamed(domain)?;
        let keys = (
            all.columns.iter().map(|(_, column)| column.clone()).collect::<Vec<_>>(),
            domain.columns.iter().map(|(_, column)| column.clone()).collect::<Vec<_>>(),
        );
        let mut columns: Vec<Expr> = Vec::new();
        for ((_, new), (_, old)) in all.columns.iter().zip(&domain.columns) {
            columns.push(Expr::Column(new.clone()).alias(&old.name));
        }
        for (expr, (qualifier, field)) in aggregate.aggr_expr.iter().zip(aggregate.schema.iter()) {
            let column = Expr::from((qualifier, field));
            let Expr::AggregateFunction(AggregateFunction { func, .. }) = expr.clone().unalias() else {
                return not_impl_err!("{expr} in a subquery that refers to a query around it is not supported");
            };
            let of_nothing = func.default_value(field.data_type())?;
            columns.push(if of_nothing.is_null() {
                column
            } else {
                let value = when(column.clone().is_null(), Expr::Literal(of_nothing, None)).otherwise(column)?;
                value.alias_qualified(qualifier.cloned(), field.name())
            });
        }
        LogicalPlanBuilder::from(all.plan)
            .join_detailed(grouped, JoinType::Left, keys, None, NullEquality::NullEqualsNull)?
            .project(columns)?
            .build()
    }

    fn push_into_join(&mut self, join: &Join, domain: &Domain, inputs: &DFSchema) -> Result<LogicalPlan> {
        if lateral_of(&join.right).is_some() {
            return self.push_into_lateral(join, domain);
        }
        let put = |expr: &Expr| substitute(expr.clone(), &domain.columns, inputs);
        let mut on = Vec::with_capacity(join.on.len());
        for (left, right) in &join.on {
            on.push((put(left)?, put(right)?));
        }
        let filter = join.filter.as_ref().map(put).transpose()?;
        let (left_refers, right_refers) =
            (self.needs_domain(&join.left, domain)?, self.needs_domain(&join.right, domain)?);
        // The side whose rows the join preserves gets the domain.
        let keeps_left = match join.join_type {
            // What a recursive query reads has it already.
            JoinType::Inner if self.reads_work_table(&join.right)? => false,
            JoinType::Inner => left_refers || !right_refers,
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::Full => true,
            JoinType::Right => false,
            other => {
                return not_impl_err!(
                    "{other} JOIN in a subquery whose sides refer to a query around it is not supported"
                );
            }
        };
        let (kept, other, other_refers) = match keeps_left {
            true => (&join.left, &join.right, right_refers),
            false => (&join.right, &join.left, left_refers),
        };
        let kept = self.push_domain(kept, domain)?;
        let keeps_both = join.join_type == JoinType::Full;
        let mut same = Vec::new();
        let other = if other_refers || keeps_both {
            let renamed = self.renamed(domain)?;
            for ((_, kept), (_, other)) in domain.columns.iter().zip(&renamed.columns) {
                same.push((Expr::Column(kept.clone()), Expr::Column(other.clone())));
            }
            self.push_domain(other, &renamed)?
        } else {
            other.as_ref().clone()
        };
        let (left, right) = if keeps_left { (kept, other) } else { (other, kept) };
        let nulls_are_equal = join.null_equality == NullEquality::NullEqualsNull;
        let mut filter = filter;
        // A row of a full join has the domain's values from the side that it is of.
        let shown = keeps_both.then(|| {
            let values = same
                .iter()
                .zip(&domain.columns)
                .map(|((kept, other), (_, column))| coalesce(vec![kept.clone(), other.clone()]).alias(&column.name));
            values.chain(join.schema.columns().into_iter().map(Expr::Column)).collect::<Vec<_>>()
        });
        for (kept, other) in same {
            if nulls_are_equal {
                on.push(if keeps_left { (kept, other) } else { (other, kept) });
            } else {
                let equal = binary_expr(kept, Operator::IsNotDistinctFrom, other);
                filter = Some(filter.map_or(equal.clone(), |filter| filter.and(equal)));
            }
        }
        let joined = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            on,
            filter,
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?;
        match shown {
            Some(shown) => LogicalPlanBuilder::from(LogicalPlan::Join(joined)).project(shown)?.build(),
            None => Ok(LogicalPlan::Join(joined)),
        }
    }

    /// LATERAL inside the subquery: it refers to the left side, which gets the domain.
    fn push_into_lateral(&mut self, join: &Join, domain: &Domain) -> Result<LogicalPlan> {
        if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
            return not_impl_err!("LATERAL on this side of an outer join is not supported");
        }
        let left = self.push_domain(&join.left, domain)?;
        let right = within_lateral(&join.right, &mut |subquery| {
            let subquery = substitute_in(subquery.clone(), &domain.columns, join.left.schema())?;
            let outer_ref_columns = subquery.subquery.all_out_ref_exprs();
            Ok(Subquery { outer_ref_columns, ..subquery })
        })?;
        let inputs = merge_schema(&[&join.left, &join.right]);
        let mut conditions = Vec::new();
        for (left, right) in &join.on {
            conditions.push(left.clone().eq(right.clone()));
        }
        conditions.extend(join.filter.clone());
        let conditions = conditions
            .into_iter()
            .map(|condition| substitute(condition, &domain.columns, &inputs))
            .collect::<Result<Vec<_>>>()?;
        LogicalPlanBuilder::from(left).join_on(right, join.join_type, conditions)?.build()
    }
}

fn within_lateral(plan: &LogicalPlan, change: &mut dyn FnMut(&Subquery) -> Result<Subquery>) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Subquery(subquery) => Ok(LogicalPlan::Subquery(change(subquery)?)),
        plan => {
            let inputs = plan.inputs().into_iter().map(|input| within_lateral(input, change)).collect::<Result<_>>()?;
            plan.with_new_exprs(plan.expressions(), inputs)
        }
    }
}

/// The rows of VALUES, each for every value of the domain.
fn of_values(values: &Values, domain: &Domain) -> Result<LogicalPlan> {
    let none = DFSchema::empty();
    let mut rows = Vec::with_capacity(values.values.len());
    for row in &values.values {
        let mut exprs: Vec<Expr> = domain.exprs().collect();
        for (expr, field) in row.iter().zip(values.schema.fields()) {
            let value = substitute(expr.clone(), &domain.columns, &none)?;
            let value = value.cast_to(field.data_type(), domain.plan.schema())?;
            exprs.push(value.alias(field.name()));
        }
        rows.push(LogicalPlanBuilder::from(domain.plan.clone()).project(exprs)?.build()?);
    }
    united(rows)
}

fn united(plans: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    let mut plans = plans.into_iter();
    let Some(first) = plans.next() else { return not_impl_err!("a UNION of nothing") };
    plans.try_fold(LogicalPlanBuilder::from(first), LogicalPlanBuilder::union)?.build()
}

pub(super) fn order(order: &[SortExpr], domain: &Domain, inputs: &DFSchema) -> Result<Vec<SortExpr>> {
    let put =
        |by: &SortExpr| Ok(SortExpr { expr: substitute(by.expr.clone(), &domain.columns, inputs)?, ..by.clone() });
    order.iter().map(put).collect()
}

fn domain_order(domain: &Domain) -> impl Iterator<Item = SortExpr> {
    domain.exprs().map(|expr| expr.sort(true, false))
}

/// Whether a plan refers to outer columns of a domain.
pub(super) fn refers_to_domain(plan: &LogicalPlan, domain: &Domain) -> Result<bool> {
    let fields = domain.plan.schema().iter().zip(&domain.columns);
    let fields = fields.map(|((_, field), (outer, _))| {
        let field = field.as_ref().clone().with_name(&outer.name);
        (outer.relation.clone(), Arc::new(field))
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), Default::default())?;
    Ok(!outer_columns(plan, &schema)?.is_empty())
}

/// The domain's columns and those of a schema.
pub(super) fn whole(domain: &Domain, schema: &DFSchema) -> Vec<Expr> {
    domain.exprs().chain(schema.columns().into_iter().map(Expr::Column)).collect()
}

/// The name of the node, for messages.
fn node_name(plan: &LogicalPlan) -> String {
    let line = plan.display().to_string();
    line.split([':', ' ']).next().unwrap_or_default().to_owned()
}
