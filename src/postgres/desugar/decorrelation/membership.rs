//! `IN`, `ANY` and `ALL` over a subquery as values: true, false or unknown.

use std::sync::Arc;

use datafusion::common::{Column, Result, ScalarValue, not_impl_err, plan_err};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::logical_expr::expr::{InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{
    AggregateUDF, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Projection, lit, when,
};

use super::decorrelator::{Answers, Decorrelator, empty};
use super::domain::Domain;
use crate::functions::{comparison_key, comparison_of_keys};

impl Decorrelator<'_> {
    /// `x IN (SELECT y ...)`: true where x is among the ys; else false if there are none; else
    /// unknown if x is NULL or a y is.
    pub(super) fn member(
        &mut self,
        within: &InSubquery,
        input: &LogicalPlan,
        joined: &mut LogicalPlan,
    ) -> Result<Expr> {
        let InSubquery { expr, subquery, negated } = within;
        let column = only_column(subquery)?;
        let Answers { plan, domain } = self.answers(subquery, input)?;
        let domain = domain.as_ref();
        let sought = self.probe_column(expr, joined)?;
        let nullable =
            column.nullable(plan.schema())? || Expr::Column(sought.clone()).nullable(joined.schema().as_ref())?;
        let counts = match nullable {
            true => Some(self.counted(&plan, domain, &column, &[], joined)?),
            false => None,
        };

        let (key, found) = (self.name("key"), self.name("found"));
        let exprs = keys(domain).chain([column.alias(&key.name)]).collect::<Vec<_>>();
        let kept = keys(domain).chain([Expr::Column(key.clone())]);
        // A filter of these would be pushed below the condition of the subquery, and computed for
        // rows that it leaves out.
        let mark = when(Expr::Column(key.clone()).is_not_null(), lit(true)).end()?;
        let marked = kept.chain([mark.alias(&found.name)]).collect::<Vec<_>>();
        let matches = LogicalPlanBuilder::from(plan).project(exprs)?.distinct()?.project(marked)?.build()?;
        let (mut outer, mut inner) = domain.map(Domain::keys).unwrap_or_default();
        outer.push(sought.clone());
        inner.push(key);
        self.join_answers(joined, matches, (outer, inner))?;
        let found = Expr::Column(found);
        let Some(counts) = counts else { return Ok(if *negated { found.is_null() } else { found.is_not_null() }) };
        let (same, other) = if *negated { (false, true) } else { (true, false) };
        when(found.is_not_null(), lit(same))
            .when(counts.no_rows(), lit(other))
            .when(counts.unknown(Expr::Column(sought)), lit(ScalarValue::Boolean(None)))
            .otherwise(lit(other))
    }

    /// `x < ANY (SELECT y ...)` and its like, by the least and the greatest y.
    pub(super) fn compared(
        &mut self,
        comparison: &SetComparison,
        input: &LogicalPlan,
        joined: &mut LogicalPlan,
    ) -> Result<Expr> {
        let SetComparison { expr, subquery, op, quantifier } = comparison;
        let Answers { plan, domain } = self.answers(subquery, input)?;
        let column = comparison_key(only_column(subquery)?, plan.schema());
        let x = comparison_key(expr.as_ref().clone(), joined.schema());
        let (least, greatest) = (Arc::clone(self.min), Arc::clone(self.max));
        let any = matches!(quantifier, SetQuantifier::Any);
        let extremes = match (op, any) {
            (Operator::Lt | Operator::LtEq, true) | (Operator::Gt | Operator::GtEq, false) => vec![greatest],
            (Operator::Lt | Operator::LtEq, false) | (Operator::Gt | Operator::GtEq, true) => vec![least],
            (Operator::Eq, _) | (Operator::NotEq, _) => vec![least, greatest],
            _ => return not_impl_err!("{op} before ANY or ALL with a subquery is not supported"),
        };
        let counts = self.counted(&plan, domain.as_ref(), &column, &extremes, joined)?;
        let schema = Arc::clone(joined.schema());
        let compare = |y: &Column| comparison_of_keys(x.clone(), *op, Expr::Column(y.clone()), &schema);
        let compared = counts.extremes.iter().map(compare).reduce(|a, b| match (op, any) {
            (Operator::NotEq, true) => a.or(b),
            _ => a.and(b),
        });
        let Some(compared) = compared else { return plan_err!("nothing to compare with") };
        let (same, decided) = match (op, any) {
            // `= ANY` and `<> ALL` do not follow from the extremes; they were normalized to IN.
            (Operator::Eq, true) | (Operator::NotEq, false) => {
                return not_impl_err!("{op} before ANY or ALL with a subquery is not supported");
            }
            (_, true) => (true, compared),
            (_, false) => (false, Expr::Not(Box::new(compared))),
        };
        when(counts.no_rows(), lit(!same))
            .when(decided, lit(same))
            .when(counts.unknown(x), lit(ScalarValue::Boolean(None)))
            .otherwise(lit(!same))
    }

    /// The column of `joined` that holds the left operand; one is added unless it is a column.
    pub(super) fn probe_column(&mut self, expr: &Expr, joined: &mut LogicalPlan) -> Result<Column> {
        if let Expr::Column(column) = expr {
            return Ok(column.clone());
        }
        let name = self.name("sought");
        let columns = joined.schema().columns().into_iter().map(Expr::Column);
        let exprs: Vec<_> = columns.chain([expr.clone().alias(&name.name)]).collect();
        let rows = std::mem::replace(joined, empty());
        *joined = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(rows))?);
        Ok(name)
    }

    /// Joins to the outer rows how many rows the subquery has for each, how many of them are not
    /// NULL, and their extremes.
    fn counted(
        &mut self,
        plan: &LogicalPlan,
        domain: Option<&Domain>,
        column: &Expr,
        extremes: &[Arc<AggregateUDF>],
        joined: &mut LogicalPlan,
    ) -> Result<Counts> {
        self.charge_plan(plan)?;
        let (rows, values) = (self.name("rows"), self.name("values"));
        let mut aggregates = vec![
            count_udaf().call(vec![lit(ScalarValue::Int64(Some(1)))]).alias(&rows.name),
            count_udaf().call(vec![column.clone()]).alias(&values.name),
        ];
        let mut named = Vec::with_capacity(extremes.len());
        for function in extremes {
            let name = self.name("extreme");
            aggregates.push(function.call(vec![column.clone()]).alias(&name.name));
            named.push(name);
        }
        let counted =
            LogicalPlanBuilder::from(plan.clone()).aggregate(keys(domain).collect::<Vec<_>>(), aggregates)?.build()?;
        match domain {
            Some(domain) => self.join_answers(joined, counted, domain.keys())?,
            None => {
                let outer = std::mem::replace(joined, empty());
                *joined = LogicalPlanBuilder::from(outer).cross_join(counted)?.build()?;
            }
        }
        Ok(Counts { rows, values, extremes: named })
    }
}

struct Counts {
    rows: Column,
    values: Column,
    extremes: Vec<Column>,
}

impl Counts {
    fn no_rows(&self) -> Expr {
        let rows = Expr::Column(self.rows.clone());
        rows.clone().is_null().or(rows.eq(lit(0i64)))
    }

    /// Whether a NULL on either side makes the answer unknown, where nothing decides it.
    fn unknown(&self, sought: Expr) -> Expr {
        sought.is_null().or(Expr::Column(self.values.clone()).lt(Expr::Column(self.rows.clone())))
    }
}

fn keys(domain: Option<&Domain>) -> impl Iterator<Item = Expr> {
    domain.into_iter().flat_map(Domain::exprs)
}

fn only_column(subquery: &Subquery) -> Result<Expr> {
    match subquery.subquery.schema().columns().as_slice() {
        [column] => Ok(Expr::Column(column.clone())),
        _ => plan_err!("subquery has too many columns"),
    }
}
