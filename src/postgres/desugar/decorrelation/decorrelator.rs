//! The analyzer rule, and subqueries in the expressions of projections and filters.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, JoinType, NullEquality, Result, ScalarValue, not_impl_err};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::logical_expr::expr::Exists;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    AggregateUDF, Distinct, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Projection, lit,
};
use datafusion::optimizer::AnalyzerRule;

use super::allow_list::{self, is_aggregated};
use super::domain::{Domain, on_values_of_domain};
use super::hoist::refuse_subqueries;
use super::outer_references::{has_subqueries, holds_subquery, outer_columns, refers_outside, subquery_of};
use super::work_table::WorkTable;
use crate::functions::system::single_value;
use crate::workarounds::recomputed;

/// Runs after types are settled, and before DataFusion's check that refuses such subqueries.
#[derive(Debug)]
pub(crate) struct DecorrelateSubqueries {
    single_value: Arc<AggregateUDF>,
    min: Arc<AggregateUDF>,
    max: Arc<AggregateUDF>,
}

impl DecorrelateSubqueries {
    /// `min` and `max` order values as comparisons do.
    pub(crate) fn new(min: Arc<AggregateUDF>, max: Arc<AggregateUDF>) -> Self {
        Self { single_value: single_value(), min, max }
    }
}

impl AnalyzerRule for DecorrelateSubqueries {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let (mut names, mut copied) = (0, 0);
        let applied = plan.transform_down_with_subqueries(|plan| {
            let mut apply = Decorrelator {
                single_value: &self.single_value,
                min: &self.min,
                max: &self.max,
                names: &mut names,
                copied: &mut copied,
                work_tables: Vec::new(),
            };
            apply.node(plan)
        })?;
        if !applied.transformed {
            return Ok(applied.data);
        }
        // Answers come by outer joins: columns above that were never NULL may be now.
        recomputed(applied.data)
    }

    fn name(&self) -> &str {
        "decorrelate_subqueries"
    }
}

pub(super) struct Decorrelator<'a> {
    pub single_value: &'a Arc<AggregateUDF>,
    pub min: &'a Arc<AggregateUDF>,
    pub max: &'a Arc<AggregateUDF>,
    /// Counts the names given out.
    pub names: &'a mut usize,
    /// Nodes of plans that were copied.
    pub copied: &'a mut usize,
    /// Tables of the recursive queries that are pushed into, the innermost last.
    pub work_tables: Vec<WorkTable>,
}

/// The rows of a subquery for all values of its domain; an uncorrelated one has no domain.
pub(super) struct Answers {
    pub plan: LogicalPlan,
    pub domain: Option<Domain>,
}

/// Subqueries that were joined already, and the expression that replaces each.
type Known = Vec<(Expr, Expr)>;

impl Decorrelator<'_> {
    /// A node's replacement is visited in turn: it has none of the node's subqueries, only copies
    /// of what was below it. How much is copied is limited, and how often as well.
    fn node(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let answered = self.answered_node(plan)?;
        if answered.transformed {
            self.charge(1)?;
        }
        Ok(answered)
    }

    fn answered_node(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Join(join) => self.join(join),
            plan if !has_subqueries(&plan)? => Ok(Transformed::no(plan)),
            LogicalPlan::Projection(_) | LogicalPlan::Filter(_) => self.expressions(plan),
            LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Distinct(Distinct::On(_)) => self.hoist(plan),
            plan => {
                refuse_subqueries(&plan)?;
                Ok(Transformed::no(plan))
            }
        }
    }

    /// Subqueries in the expressions of a projection or filter.
    pub(super) fn expressions(&mut self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let Some(input) = plan.inputs().into_iter().next().cloned() else { return Ok(Transformed::no(plan)) };
        let mut joined = input.clone();
        let mut known = Known::new();
        match plan {
            LogicalPlan::Projection(projection) => {
                let names = NamePreserver::new_for_projection();
                let mut exprs = Vec::with_capacity(projection.expr.len());
                for expr in &projection.expr {
                    let name = names.save(expr);
                    exprs.push(name.restore(self.answered(expr.clone(), &input, &mut joined, &mut known)?));
                }
                if known.is_empty() {
                    return Ok(Transformed::no(LogicalPlan::Projection(projection)));
                }
                Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(joined))?)))
            }
            LogicalPlan::Filter(filter) => {
                // What else the rows have to be is asked first: values of the outer query are taken
                // from fewer rows, and not from all that tables behind commas give together.
                let conjuncts = split_conjunction_owned(filter.predicate.clone());
                let (asking, plain): (Vec<_>, Vec<_>) =
                    conjuncts.into_iter().partition(|conjunct| holds_subquery(conjunct) || conjunct.is_volatile());
                let input = match conjunction(plain) {
                    Some(plain) => LogicalPlan::Filter(Filter::try_new(plain, Arc::new(input))?),
                    None => input,
                };
                joined = input.clone();
                let mut conjuncts = Vec::new();
                for conjunct in asking {
                    conjuncts.push(self.condition(conjunct, &input, &mut joined, &mut known)?);
                }
                let Some(predicate) = conjuncts.into_iter().reduce(Expr::and).filter(|_| !known.is_empty()) else {
                    return Ok(Transformed::no(LogicalPlan::Filter(filter)));
                };
                let columns: Vec<_> = input.schema().columns().into_iter().map(Expr::Column).collect();
                let filtered = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(joined))?);
                Ok(Transformed::yes(LogicalPlanBuilder::from(filtered).project(columns)?.build()?))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }

    /// One conjunct of a filter. Those on the allow list stay.
    fn condition(
        &mut self,
        conjunct: Expr,
        input: &LogicalPlan,
        joined: &mut LogicalPlan,
        known: &mut Known,
    ) -> Result<Expr> {
        match conjunct {
            Expr::InSubquery(mut within) if allow_list::condition(&Expr::InSubquery(within.clone()))? => {
                within.expr = Box::new(self.answered(*within.expr, input, joined, known)?);
                // The rule asks columns whether they may be NULL, not what is computed of them.
                let may_be_null = within.negated && !matches!(within.expr.as_ref(), Expr::Column(_));
                if may_be_null || any_refers_outside(&within.expr)? {
                    // A join key must not hold a subquery.
                    let column = Expr::Column(self.probe_column(&within.expr, joined)?);
                    known.push((*within.expr, column.clone()));
                    within.expr = Box::new(column);
                }
                Ok(Expr::InSubquery(within))
            }
            conjunct if allow_list::condition(&conjunct)? => Ok(conjunct),
            conjunct => self.answered(conjunct, input, joined, known),
        }
    }

    /// The expression with its subqueries replaced by their answers, which are joined to `joined`.
    fn answered(
        &mut self,
        expr: Expr,
        input: &LogicalPlan,
        joined: &mut LogicalPlan,
        known: &mut Known,
    ) -> Result<Expr> {
        if !holds_subquery(&expr) {
            return Ok(expr);
        }
        expr.transform_up(|expr| {
            if subquery_of(&expr).is_none() {
                return Ok(Transformed::no(expr));
            }
            if let Some((_, answer)) = known.iter().find(|(asked, _)| *asked == expr) {
                return Ok(Transformed::yes(answer.clone()));
            }
            match self.answer(&expr, input, joined)? {
                Some(answer) => {
                    known.push((expr, answer.clone()));
                    Ok(Transformed::yes(answer))
                }
                None => Ok(Transformed::no(expr)),
            }
        })
        .data()
    }

    /// Joins the answers of a subquery to the outer rows; the expression that replaces it. `None`
    /// if it may stay.
    fn answer(&mut self, expr: &Expr, input: &LogicalPlan, joined: &mut LogicalPlan) -> Result<Option<Expr>> {
        match expr {
            Expr::ScalarSubquery(subquery) => self.scalar(subquery, input, joined),
            Expr::Exists(exists) => self.exists(exists, input, joined).map(Some),
            Expr::InSubquery(within) => self.member(within, input, joined).map(Some),
            Expr::SetComparison(comparison) => self.compared(comparison, input, joined).map(Some),
            _ => Ok(None),
        }
    }

    /// The answers of a subquery for all rows of `input`.
    pub(super) fn answers(&mut self, subquery: &Subquery, input: &LogicalPlan) -> Result<Answers> {
        let plan = &subquery.subquery;
        let outer = outer_columns(plan, input.schema())?;
        if outer.is_empty() {
            if refers_outside(plan)? {
                return not_impl_err!(
                    "a subquery that refers to columns which are not at hand in this place is not supported"
                );
            }
            return Ok(Answers { plan: plan.as_ref().clone(), domain: None });
        }
        let domain = self.domain(outer, input)?;
        let plan = self.push_domain(plan, &domain)?;
        Ok(Answers { plan, domain: Some(domain) })
    }

    /// Joins `answers`, which have at most one row for each value of the keys, to the outer rows.
    /// The keys are columns of `joined`, and of `answers`.
    pub(super) fn join_answers(
        &self,
        joined: &mut LogicalPlan,
        answers: LogicalPlan,
        (outer, inner): (Vec<Column>, Vec<Column>),
    ) -> Result<()> {
        let rows = std::mem::replace(joined, empty());
        let answered = answers.schema().columns().into_iter().filter(|column| !inner.contains(column));
        let columns: Vec<_> = rows.schema().columns().into_iter().chain(answered).map(Expr::Column).collect();
        let rows = LogicalPlanBuilder::from(rows)
            .join_detailed(answers, JoinType::Left, (outer, inner), None, NullEquality::NullEqualsNull)?
            .build()?;
        // The builder would look through all of the plan for each column.
        *joined = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(on_values_of_domain(rows)))?);
        Ok(())
    }

    fn scalar(&mut self, subquery: &Subquery, input: &LogicalPlan, joined: &mut LogicalPlan) -> Result<Option<Expr>> {
        let plan = &subquery.subquery;
        let Some((qualifier, field)) = plan.schema().iter().next() else { return Ok(None) };
        let column = Expr::from((qualifier, field));
        if !refers_outside(plan)? {
            // Without a row it is NULL, also where the schema says that the column never is, or
            // says so once constants are folded.
            if is_aggregated(plan) || field.is_nullable() && !computes_columns(plan)? {
                return Ok(None);
            }
            let name = self.name("answer");
            let single = self.single_value.call(vec![column]).alias(&name.name);
            let plan = LogicalPlanBuilder::from(plan.as_ref().clone()).aggregate(Vec::<Expr>::new(), [single])?;
            let subquery = Subquery { subquery: Arc::new(plan.build()?), ..subquery.clone() };
            return Ok(Some(Expr::ScalarSubquery(subquery)));
        }
        if allow_list::scalar(plan)? {
            return Ok(None);
        }
        let Answers { plan: answers, domain: Some(domain) } = self.answers(subquery, input)? else { return Ok(None) };
        let value = self.name("answer");
        let answers = if is_aggregated(plan) {
            let columns: Vec<_> = domain.exprs().chain([column.alias(&value.name)]).collect();
            LogicalPlanBuilder::from(answers).project(columns)?.build()?
        } else {
            let single = self.single_value.call(vec![column]).alias(&value.name);
            LogicalPlanBuilder::from(answers).aggregate(domain.exprs().collect::<Vec<_>>(), [single])?.build()?
        };
        self.join_answers(joined, answers, domain.keys())?;
        Ok(Some(Expr::Column(value)))
    }

    fn exists(&mut self, exists: &Exists, input: &LogicalPlan, joined: &mut LogicalPlan) -> Result<Expr> {
        let Answers { plan, domain } = self.answers(&exists.subquery, input)?;
        let Some(domain) = domain else { return any_row(exists, plan) };
        let value = self.name("answer");
        let marked = domain.exprs().chain([lit(true).alias(&value.name)]).collect::<Vec<_>>();
        let rows = LogicalPlanBuilder::from(plan).project(domain.exprs().collect::<Vec<_>>())?.distinct()?;
        let answers = rows.project(marked)?.build()?;
        self.join_answers(joined, answers, domain.keys())?;
        let answer = Expr::Column(value);
        Ok(if exists.negated { answer.is_null() } else { answer.is_not_null() })
    }
}

/// Whether a column is computed anywhere, and so may become a constant.
fn computes_columns(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| {
        let LogicalPlan::Projection(projection) = node else { return Ok(false) };
        let is_column = |expr: &Expr| match expr {
            Expr::Alias(alias) => matches!(alias.expr.as_ref(), Expr::Column(_)),
            expr => matches!(expr, Expr::Column(_)),
        };
        Ok(!projection.expr.iter().all(is_column))
    })
}

/// A plan without rows and columns, to swap for one that is taken out.
pub(super) fn empty() -> LogicalPlan {
    LogicalPlanBuilder::empty(false).plan().clone()
}

/// Whether a subquery of an expression is correlated.
fn any_refers_outside(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| subquery_of(expr).map_or(Ok(false), |subquery| refers_outside(&subquery.subquery)))
}

/// EXISTS of an uncorrelated subquery.
fn any_row(exists: &Exists, plan: LogicalPlan) -> Result<Expr> {
    let count = count_udaf().call(vec![lit(ScalarValue::Int64(Some(1)))]).alias("__rows");
    let rows = LogicalPlanBuilder::from(plan).limit(0, Some(1))?.aggregate(Vec::<Expr>::new(), [count])?.build()?;
    let count = Expr::ScalarSubquery(Subquery {
        subquery: Arc::new(rows),
        outer_ref_columns: Vec::new(),
        spans: exists.subquery.spans.clone(),
    });
    Ok(if exists.negated { count.eq(lit(0i64)) } else { count.gt(lit(0i64)) })
}
