//! The root of a plan that has WITH queries to compute once.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::common::{DFSchemaRef, Result, plan_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};

/// A WITH query whose rows are computed once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cte {
    /// For EXPLAIN.
    pub name: String,
    pub plan: LogicalPlan,
}

/// A plan, and the WITH queries that it reads. It is taken apart before DataFusion's rules run: no
/// rule meets it but those that walk over a whole statement.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct With {
    /// Each reads only those before it.
    pub queries: Vec<Cte>,
    pub main: LogicalPlan,
}

impl With {
    /// The root of a plan, if it has WITH queries.
    pub fn of(plan: &LogicalPlan) -> Option<&Self> {
        match plan {
            LogicalPlan::Extension(Extension { node }) => node.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// A volatile query that depends on a row of a query around it: it stays where it is named, and
    /// may be there once.
    pub(super) fn dependent(main: LogicalPlan) -> LogicalPlan {
        Self { queries: Vec::new(), main }.into_plan()
    }

    /// Its name, if this is one.
    pub(super) fn name_of_dependent(&self) -> Option<String> {
        match &self.main {
            LogicalPlan::SubqueryAlias(alias) if self.queries.is_empty() => Some(alias.alias.to_string()),
            _ => None,
        }
    }

    pub(super) fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
}

impl PartialOrd for With {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.main.partial_cmp(&other.main)
    }
}

impl UserDefinedLogicalNodeCore for With {
    fn name(&self) -> &str {
        "With"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.queries.iter().map(|query| &query.plan).chain([&self.main]).collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        self.main.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("With:")?;
        self.queries.iter().try_for_each(|query| write!(f, " {}", query.name))
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.pop() {
            Some(main) if inputs.len() == self.queries.len() => {
                let names = self.queries.iter().map(|query| query.name.clone());
                Ok(Self { queries: names.zip(inputs).map(|(name, plan)| Cte { name, plan }).collect(), main })
            }
            _ => plan_err!("WITH has its queries and one more input"),
        }
    }
}
