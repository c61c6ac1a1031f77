//! The queries of a statement that writes, for EXPLAIN ANALYZE.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;

/// The queries that a statement which writes has run, and what they counted.
#[derive(Debug, Default)]
pub(crate) struct RanQueries {
    plans: Mutex<Vec<Arc<dyn ExecutionPlan>>>,
    planned_in: AtomicU64,
}

impl RanQueries {
    /// The plans, and how long planning them took.
    pub(crate) fn into_plans(self) -> (Vec<Arc<dyn ExecutionPlan>>, Duration) {
        let plans = self.plans.into_inner().unwrap_or_else(PoisonError::into_inner);
        (plans, Duration::from_nanos(self.planned_in.into_inner()))
    }

    pub(super) fn add(&self, plan: Arc<dyn ExecutionPlan>, planned_in: Duration) {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).push(plan);
        let nanos = u64::try_from(planned_in.as_nanos()).unwrap_or(u64::MAX);
        self.planned_in.fetch_add(nanos, Ordering::Relaxed);
    }
}
