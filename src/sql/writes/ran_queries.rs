//! The queries of a statement that writes, for EXPLAIN ANALYZE, statistics and the log of plans.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;

/// The queries that a statement which writes has run, and what they counted.
#[derive(Debug, Default)]
pub(crate) struct RanQueries(Mutex<Ran>);

#[derive(Debug, Default)]
struct Ran {
    plans: Vec<Arc<dyn ExecutionPlan>>,
    planned_in: Duration,
}

impl RanQueries {
    /// The plans so far.
    pub(crate) fn plans(&self) -> Vec<Arc<dyn ExecutionPlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).plans.clone()
    }

    /// The plans, and how long planning them took.
    pub(crate) fn into_plans(self) -> (Vec<Arc<dyn ExecutionPlan>>, Duration) {
        let Ran { plans, planned_in } = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        (plans, planned_in)
    }

    pub(super) fn add(&self, plan: Arc<dyn ExecutionPlan>, planned_in: Duration) {
        let mut ran = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ran.plans.push(plan);
        ran.planned_in += planned_in;
    }
}
