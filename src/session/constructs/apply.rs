//! Sub-queries that refer to their surroundings, where the optimizer refuses them, as joins.
//!
//! The distinct values that a sub-query asks its surroundings for are its *domain*. Put under the sub-query and carried up through
//! it as columns, they make it a plan that stands alone and answers for all of them at once; its answers are then joined to the
//! rows that asked. This works for every shape below; the optimizer's own way, which needs no domain, is left to do what it can.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result, ScalarValue};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{AggregateFunction, Exists, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{FetchType, SkipType, Subquery};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Distinct, EmptyRelation, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder,
    Operator, Projection, SortExpr, WindowFunctionDefinition, lit, when,
};
use datafusion::optimizer::AnalyzerRule;

use super::outer_references::{
    Substitution, optimizer_decorrelates, outer_columns, refers_outside, subquery_of, substitute, substitute_in,
};
use crate::functions::system::single_value;

/// Runs after types are settled, and before the check that refuses such sub-queries.
#[derive(Debug)]
pub struct ApplySubqueries {
    single_value: Arc<AggregateUDF>,
}

impl ApplySubqueries {
    pub fn new() -> Self {
        Self { single_value: single_value() }
    }
}

impl AnalyzerRule for ApplySubqueries {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut names = 0;
        plan.transform_down_with_subqueries(|plan| {
            let mut apply = Apply { single_value: &self.single_value, names: &mut names };
            match plan {
                LogicalPlan::Projection(_) | LogicalPlan::Filter(_) => apply.expressions(plan),
                LogicalPlan::Join(join) => apply.lateral(join),
                plan => Ok(Transformed::no(plan)),
            }
        })
        .data()
    }

    fn name(&self) -> &str {
        "apply_subqueries"
    }
}

struct Apply<'a> {
    single_value: &'a Arc<AggregateUDF>,
    /// Counts the names given out.
    names: &'a mut usize,
}

/// What a sub-query asks for: a plan of columns, and which outer column each is.
#[derive(Clone)]
struct Domain {
    plan: LogicalPlan,
    columns: Vec<Substitution>,
}

impl Domain {
    fn exprs(&self) -> impl Iterator<Item = Expr> {
        self.columns.iter().map(|(_, column)| Expr::Column(column.clone()))
    }
}

impl Apply<'_> {
    fn name(&mut self, what: &str) -> Column {
        *self.names += 1;
        Column::new_unqualified(format!("__{what}_{}", self.names))
    }

    /// The sub-queries among the expressions of a projection or filter.
    fn expressions(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let projects = matches!(plan, LogicalPlan::Projection(_));
        let mut found = Vec::new();
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                if subquery_of(expr).is_some() && !found.contains(expr) && self.is_ours(expr, projects)? {
                    found.push(expr.clone());
                }
                Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
            })
        })?;
        let Some(input) = plan.inputs().into_iter().next().cloned() else { return Ok(Transformed::no(plan)) };
        let mut joined = input.clone();
        let mut answers: Vec<(Expr, Expr)> = Vec::new();
        for expr in found {
            if let Some((plan, answer)) = self.answer(&expr, &input, joined.clone())? {
                joined = plan;
                answers.push((expr, answer));
            }
        }
        if answers.is_empty() {
            return Ok(Transformed::no(plan));
        }
        let put = |expr: Expr| {
            expr.transform_down(|expr| match answers.iter().find(|(asked, _)| *asked == expr) {
                Some((_, answer)) => Ok(Transformed::yes(answer.clone())),
                None => Ok(Transformed::no(expr)),
            })
            .data()
        };
        let names = NamePreserver::new(&plan);
        Ok(Transformed::yes(match plan {
            LogicalPlan::Projection(Projection { expr, .. }) => {
                let exprs = expr.into_iter().map(|expr| {
                    let name = names.save(&expr);
                    Ok(name.restore(put(expr)?))
                });
                let exprs = exprs.collect::<Result<Vec<_>>>()?;
                LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(joined))?)
            }
            LogicalPlan::Filter(filter) => {
                let columns: Vec<_> = input.schema().columns().into_iter().map(Expr::Column).collect();
                LogicalPlanBuilder::from(joined).filter(put(filter.predicate)?)?.project(columns)?.build()?
            }
            plan => plan,
        }))
    }

    /// Whether a sub-query is one that the optimizer refuses.
    fn is_ours(&self, expr: &Expr, projects: bool) -> Result<bool> {
        match expr {
            Expr::ScalarSubquery(subquery) => {
                let plan = &subquery.subquery;
                if !refers_outside(plan)? {
                    return Ok(false);
                }
                Ok(!is_aggregated(plan) || !optimizer_decorrelates(plan, false)?)
            }
            Expr::Exists(exists) => Ok(projects || !optimizer_decorrelates(&exists.subquery.subquery, false)?),
            _ => Ok(false),
        }
    }

    /// Joins the answers of a sub-query to the rows that ask; with what to read in its place.
    fn answer(&mut self, expr: &Expr, input: &LogicalPlan, joined: LogicalPlan) -> Result<Option<(LogicalPlan, Expr)>> {
        let Some(subquery) = subquery_of(expr) else { return Ok(None) };
        let asked = outer_columns(&subquery.subquery, input.schema())?;
        if asked.is_empty() {
            return match expr {
                Expr::Exists(exists) if !refers_outside(&subquery.subquery)? => Ok(Some((joined, any_row(exists)?))),
                _ => Ok(None),
            };
        }
        let domain = self.domain(asked, input)?;
        let Some(answers) = self.attach(&subquery.subquery, &domain)? else { return Ok(None) };
        let value = self.name("answer");
        let answer = Expr::Column(value.clone());
        let (answers, read) = match expr {
            Expr::Exists(Exists { negated, .. }) => {
                let marked = domain.exprs().chain([lit(true).alias(&value.name)]).collect::<Vec<_>>();
                let rows = LogicalPlanBuilder::from(answers).project(domain.exprs().collect::<Vec<_>>())?.distinct()?;
                let read = if *negated { answer.is_null() } else { answer.is_not_null() };
                (rows.project(marked)?.build()?, read)
            }
            _ => {
                let Some((qualifier, field)) = subquery.subquery.schema().iter().next() else { return Ok(None) };
                let column = Expr::from((qualifier, field));
                let answers = if is_aggregated(&subquery.subquery) {
                    let columns: Vec<_> = domain.exprs().chain([column.alias(&value.name)]).collect();
                    LogicalPlanBuilder::from(answers).project(columns)?.build()?
                } else {
                    let single = self.single_value.call(vec![column]).alias(&value.name);
                    LogicalPlanBuilder::from(answers)
                        .aggregate(domain.exprs().collect::<Vec<_>>(), [single])?
                        .build()?
                };
                (answers, answer)
            }
        };
        let (asking, asked) = domain.columns.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let keys = (asking, asked);
        let joined = LogicalPlanBuilder::from(joined)
            .join_detailed(answers, JoinType::Left, keys, None, NullEquality::NullEqualsNull)?
            .build()?;
        Ok(Some((joined, read)))
    }

    fn domain(&mut self, asked: Vec<Column>, input: &LogicalPlan) -> Result<Domain> {
        let columns: Vec<Substitution> = asked.into_iter().map(|column| (column, self.name("outer"))).collect();
        let exprs = columns.iter().map(|(outer, column)| Expr::Column(outer.clone()).alias(&column.name));
        let plan = LogicalPlanBuilder::from(input.clone()).project(exprs.collect::<Vec<_>>())?.distinct()?.build()?;
        Ok(Domain { plan, columns })
    }

    /// A domain of the same values under new names.
    fn renamed(&mut self, domain: &Domain) -> Result<Domain> {
        let columns: Vec<Substitution> =
            domain.columns.iter().map(|(outer, _)| (outer.clone(), self.name("outer"))).collect();
        let pairs = domain.columns.iter().zip(&columns);
        let exprs = pairs.map(|((_, old), (_, new))| Expr::Column(old.clone()).alias(&new.name));
        let plan = LogicalPlanBuilder::from(domain.plan.clone()).project(exprs.collect::<Vec<_>>())?.build()?;
        Ok(Domain { plan, columns })
    }

    /// `LATERAL`: the right side asks the left one.
    fn lateral(&mut self, join: Join) -> Result<Transformed<LogicalPlan>> {
        let (alias, subquery) = match join.right.as_ref() {
            LogicalPlan::Subquery(subquery) => (None, subquery),
            LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
                LogicalPlan::Subquery(subquery) => (Some(alias.alias.clone()), subquery),
                _ => return Ok(Transformed::no(LogicalPlan::Join(join))),
            },
            _ => return Ok(Transformed::no(LogicalPlan::Join(join))),
        };
        if !matches!(join.join_type, JoinType::Inner | JoinType::Left)
            || optimizer_decorrelates(&subquery.subquery, false)?
        {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let asked = outer_columns(&subquery.subquery, join.left.schema())?;
        if asked.is_empty() {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let domain = self.domain(asked, &join.left)?;
        let Some(answers) = self.attach(&subquery.subquery, &domain)? else {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        };
        let answers = match alias {
            Some(alias) => LogicalPlanBuilder::from(answers).alias(alias)?.build()?,
            None => answers,
        };
        let columns: Vec<_> = join.schema.columns().into_iter().map(Expr::Column).collect();
        let filter = join.on.into_iter().map(|(left, right)| left.eq(right)).chain(join.filter).reduce(Expr::and);
        let (asking, asked) = domain.columns.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let keys = (asking, asked);
        let plan = LogicalPlanBuilder::from(join.left)
            .join_detailed(answers, join.join_type, keys, filter, NullEquality::NullEqualsNull)?
            .project(columns)?
            .build()?;
        Ok(Transformed::yes(plan))
    }

    /// The plan with the domain's columns among its own; `None` for shapes that cannot have them.
    fn attach(&mut self, plan: &LogicalPlan, domain: &Domain) -> Result<Option<LogicalPlan>> {
        let asks = |plan: &LogicalPlan| asks(plan, domain);
        if !asks(plan)? {
            if matches!(plan, LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, .. })) {
                return Ok(Some(domain.plan.clone()));
            }
            return Ok(Some(LogicalPlanBuilder::from(domain.plan.clone()).cross_join(plan.clone())?.build()?));
        }
        let inputs = merge_schema(&plan.inputs());
        let put = |expr: &Expr| substitute(expr.clone(), &domain.columns, &inputs);
        let names = NamePreserver::new(plan);
        let put_named = |expr: &Expr| Ok(names.save(expr).restore(put(expr)?));
        Ok(Some(match plan {
            LogicalPlan::Filter(filter) => {
                let Some(input) = self.attach(&filter.input, domain)? else { return Ok(None) };
                LogicalPlanBuilder::from(input).filter(put(&filter.predicate)?)?.build()?
            }
            LogicalPlan::Projection(projection) => {
                let Some(input) = self.attach(&projection.input, domain)? else { return Ok(None) };
                let exprs = projection.expr.iter().map(put_named).collect::<Result<Vec<_>>>()?;
                LogicalPlanBuilder::from(input).project(domain.exprs().chain(exprs).collect::<Vec<_>>())?.build()?
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let Some(input) = self.attach(&alias.input, domain)? else { return Ok(None) };
                LogicalPlanBuilder::from(input).alias(alias.alias.clone())?.build()?
            }
            // First in its FROM: there is nothing beside it that it could ask.
            LogicalPlan::Subquery(lateral) => return self.attach(&lateral.subquery, domain),
            LogicalPlan::Sort(sort) => {
                let Some(input) = self.attach(&sort.input, domain)? else { return Ok(None) };
                let order = self.order(&sort.expr, domain, &inputs)?;
                LogicalPlanBuilder::from(input).sort(order)?.build()?
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Some(attached) = self.attach(input, domain)? else { return Ok(None) };
                let columns = whole(domain, input.schema());
                LogicalPlanBuilder::from(attached).project(columns)?.distinct()?.build()?
            }
            LogicalPlan::Unnest(unnest) => {
                let Some(input) = self.attach(&unnest.input, domain)? else { return Ok(None) };
                LogicalPlanBuilder::from(input)
                    .unnest_columns_with_options(unnest.exec_columns.clone(), unnest.options.clone())?
                    .build()?
            }
            LogicalPlan::Union(union) => {
                let mut attached = Vec::with_capacity(union.inputs.len());
                for input in &union.inputs {
                    let Some(plan) = self.attach(input, domain)? else { return Ok(None) };
                    let columns = whole(domain, input.schema());
                    attached.push(LogicalPlanBuilder::from(plan).project(columns)?.build()?);
                }
                let mut attached = attached.into_iter();
                let Some(first) = attached.next() else { return Ok(None) };
                attached.try_fold(LogicalPlanBuilder::from(first), LogicalPlanBuilder::union)?.build()?
            }
            LogicalPlan::Aggregate(aggregate) => return self.aggregate(aggregate, domain, &inputs),
            LogicalPlan::Limit(limit) => {
                let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
                    (limit.get_skip_type()?, limit.get_fetch_type()?)
                else {
                    return Ok(None);
                };
                let (order, input) = match limit.input.as_ref() {
                    LogicalPlan::Sort(sort) => (self.order(&sort.expr, domain, &inputs)?, &sort.input),
                    _ => (Vec::new(), &limit.input),
                };
                let Some(attached) = self.attach(input, domain)? else { return Ok(None) };
                self.first_rows(attached, domain, order, skip, fetch, limit.input.schema())?
            }
            LogicalPlan::Join(join) => return self.join(join, domain, &inputs),
            _ => return Ok(None),
        }))
    }

    fn order(&self, order: &[SortExpr], domain: &Domain, inputs: &DFSchema) -> Result<Vec<SortExpr>> {
        let put =
            |by: &SortExpr| Ok(SortExpr { expr: substitute(by.expr.clone(), &domain.columns, inputs)?, ..by.clone() });
        order.iter().map(put).collect()
    }

    /// LIMIT and OFFSET for each value of the domain by itself.
    fn first_rows(
        &mut self,
        plan: LogicalPlan,
        domain: &Domain,
        order: Vec<SortExpr>,
        skip: usize,
        fetch: Option<usize>,
        schema: &DFSchema,
    ) -> Result<LogicalPlan> {
        let number = self.name("row");
        let row_number = WindowFunctionDefinition::WindowUDF(row_number_udwf());
        let row_number = Expr::from(WindowFunction::new(row_number, Vec::new()))
            .partition_by(domain.exprs().collect())
            .order_by(order)
            .build()?
            .alias(&number.name);
        let number = Expr::Column(number);
        let mut kept = number.clone().gt(lit(skip as u64));
        if let Some(fetch) = fetch {
            kept = kept.and(number.lt_eq(lit(skip.saturating_add(fetch) as u64)));
        }
        let columns = whole(domain, schema);
        LogicalPlanBuilder::from(plan).window([row_number])?.filter(kept)?.project(columns)?.build()
    }

    /// Groups by the domain as well. Without groups of its own an aggregate answers for every value, seen or not.
    fn aggregate(&mut self, aggregate: &Aggregate, domain: &Domain, inputs: &DFSchema) -> Result<Option<LogicalPlan>> {
        let Some(input) = self.attach(&aggregate.input, domain)? else { return Ok(None) };
        if aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
            return Ok(None);
        }
        let put = |expr: &Expr| {
            let name = expr.schema_name().to_string();
            let new = substitute(expr.clone(), &domain.columns, inputs)?;
            Ok(if new.schema_name().to_string() == name { new } else { new.alias(name) })
        };
        let groups = aggregate.group_expr.iter().map(put).collect::<Result<Vec<_>>>()?;
        let values = aggregate.aggr_expr.iter().map(put).collect::<Result<Vec<_>>>()?;
        let alone = groups.is_empty();
        let groups: Vec<_> = domain.exprs().chain(groups).collect();
        let grouped = LogicalPlanBuilder::from(input).aggregate(groups, values)?.build()?;
        if !alone {
            return Ok(Some(grouped));
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
            let function = match expr.clone().unalias() {
                Expr::AggregateFunction(AggregateFunction { func, .. }) => func,
                _ => return Ok(None),
            };
            let of_nothing = function.default_value(field.data_type())?;
            columns.push(if of_nothing.is_null() {
                column
            } else {
                let value = when(column.clone().is_null(), Expr::Literal(of_nothing, None)).otherwise(column)?;
                value.alias_qualified(qualifier.cloned(), field.name())
            });
        }
        let plan = LogicalPlanBuilder::from(all.plan)
            .join_detailed(grouped, JoinType::Left, keys, None, NullEquality::NullEqualsNull)?
            .project(columns)?
            .build()?;
        Ok(Some(plan))
    }

    fn join(&mut self, join: &Join, domain: &Domain, inputs: &DFSchema) -> Result<Option<LogicalPlan>> {
        let put = |expr: &Expr| substitute(expr.clone(), &domain.columns, inputs);
        if join.null_equality != NullEquality::NullEqualsNothing
            || !matches!(join.join_type, JoinType::Inner | JoinType::Left)
        {
            return Ok(None);
        }
        let mut conditions = Vec::new();
        for (left, right) in &join.on {
            conditions.push(put(left)?.eq(put(right)?));
        }
        if let Some(filter) = &join.filter {
            conditions.push(put(filter)?);
        }
        let right_asks = asks(&join.right, domain)?;
        let left_asks = asks(&join.left, domain)?;
        if let Some(lateral) = lateral_of(&join.right) {
            // It asks the left side, which has the domain from now on.
            let Some(left) = self.attach(&join.left, domain)? else { return Ok(None) };
            let subquery = substitute_in(lateral.clone(), &domain.columns, join.left.schema())?;
            let columns = subquery.subquery.all_out_ref_exprs();
            let subquery = LogicalPlan::Subquery(Subquery { outer_ref_columns: columns, ..subquery });
            let right = match join.right.as_ref() {
                LogicalPlan::SubqueryAlias(alias) => {
                    LogicalPlanBuilder::from(subquery).alias(alias.alias.clone())?.build()?
                }
                _ => subquery,
            };
            return Ok(Some(LogicalPlanBuilder::from(left).join_on(right, join.join_type, conditions)?.build()?));
        }
        let (left, right) = if right_asks && !left_asks && join.join_type == JoinType::Inner {
            let Some(right) = self.attach(&join.right, domain)? else { return Ok(None) };
            (join.left.as_ref().clone(), right)
        } else {
            let Some(left) = self.attach(&join.left, domain)? else { return Ok(None) };
            let right = if right_asks {
                let other = self.renamed(domain)?;
                let Some(right) = self.attach(&join.right, &other)? else { return Ok(None) };
                for ((_, left), (_, right)) in domain.columns.iter().zip(&other.columns) {
                    conditions.push(datafusion::logical_expr::binary_expr(
                        Expr::Column(left.clone()),
                        Operator::IsNotDistinctFrom,
                        Expr::Column(right.clone()),
                    ));
                }
                right
            } else {
                join.right.as_ref().clone()
            };
            (left, right)
        };
        Ok(Some(LogicalPlanBuilder::from(left).join_on(right, join.join_type, conditions)?.build()?))
    }
}

/// Whether a plan asks for anything of a domain.
fn asks(plan: &LogicalPlan, domain: &Domain) -> Result<bool> {
    let fields = domain.plan.schema().iter().zip(&domain.columns);
    let fields = fields.map(|((_, field), (outer, _))| {
        let field = field.as_ref().clone().with_name(&outer.name);
        (outer.relation.clone(), Arc::new(field))
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), Default::default())?;
    Ok(!outer_columns(plan, &schema)?.is_empty())
}

fn lateral_of(plan: &LogicalPlan) -> Option<&Subquery> {
    match plan {
        LogicalPlan::Subquery(subquery) => Some(subquery),
        LogicalPlan::SubqueryAlias(alias) => lateral_of(&alias.input),
        _ => None,
    }
}

/// The domain's columns and those of a schema.
fn whole(domain: &Domain, schema: &DFSchema) -> Vec<Expr> {
    domain.exprs().chain(schema.columns().into_iter().map(Expr::Column)).collect()
}

/// Whether a plan is an aggregate without groups under at most projections: one row, always.
fn is_aggregated(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(projection) => is_aggregated(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_aggregated(&alias.input),
        _ => false,
    }
}

/// EXISTS of a sub-query that asks nothing of its surroundings: whether it has a row.
fn any_row(exists: &Exists) -> Result<Expr> {
    let count = count_udaf().call(vec![lit(ScalarValue::Int64(Some(1)))]).alias("__rows");
    let first = LogicalPlanBuilder::from(exists.subquery.subquery.as_ref().clone()).limit(0, Some(1))?;
    let rows = first.aggregate(Vec::<Expr>::new(), [count])?.build()?;
    let count = Expr::ScalarSubquery(Subquery {
        subquery: Arc::new(rows),
        outer_ref_columns: Vec::new(),
        spans: exists.subquery.spans.clone(),
    });
    Ok(if exists.negated { count.eq(lit(0i64)) } else { count.gt(lit(0i64)) })
}
