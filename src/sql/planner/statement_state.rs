//! The query engine's state for one statement: functions, rules, and the settings of the moment.
//!
//! It holds hundreds of functions in maps, and copying them costs more than a small query. So
//! states are kept when a statement is done, without anything of that statement, and lent to the
//! next one.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList};
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::prelude::SessionConfig;

use super::own_functions::{ACCESS_PATHS, ENTITY_TYPES};
use rowkey_model::DateTime;
use rowkey_postgres::functions::{LiteralStyle, SessionStyle};
use rowkey_postgres::types::TextStyle;

/// States that are kept; statements beyond that many at a time copy theirs.
const KEPT_MAX: usize = 64;
const YEAR_MICROS: i64 = 366 * 24 * 3600 * 1_000_000;

/// The functions, rules and settings that all statements begin with.
#[derive(Debug)]
pub(crate) struct BaseState {
    state: SessionState,
    no_catalogs: Arc<dyn CatalogProviderList>,
    kept: Mutex<Vec<SessionState>>,
}

/// What the states of one statement have in common. It costs little to keep.
#[derive(Debug, Clone)]
pub(crate) struct StatementSettings {
    base: Arc<BaseState>,
    config: SessionConfig,
    now: DateTime,
}

/// A state that goes back where it came from.
#[derive(Debug)]
pub(crate) struct LentState {
    /// None once it is given back.
    state: Option<SessionState>,
    base: Arc<BaseState>,
}

impl BaseState {
    pub(crate) fn new(mut state: SessionState) -> Arc<Self> {
        let no_catalogs: Arc<dyn CatalogProviderList> = Arc::new(MemoryCatalogProviderList::new());
        state.register_catalog_list(Arc::clone(&no_catalogs));
        Arc::new(Self { state, no_catalogs, kept: Mutex::default() })
    }

    /// As it was given.
    pub(crate) fn state(&self) -> &SessionState {
        &self.state
    }

    /// Settings for a statement that begins at `now`.
    pub(crate) fn settings(self: &Arc<Self>, config: SessionConfig, now: DateTime) -> StatementSettings {
        StatementSettings { base: Arc::clone(self), config, now }
    }

    fn take(&self) -> Option<SessionState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Everything that a statement puts into a state is taken out: it may hold files that are to be
    /// removed.
    fn keep(&self, mut state: SessionState) {
        state.register_catalog_list(Arc::clone(&self.no_catalogs));
        state.config_mut().clone_from(self.state.config());
        state.execution_props_mut().clone_from(&ExecutionProps::new());
        for name in [ACCESS_PATHS, ENTITY_TYPES] {
            // Removing what is not there is no error.
            if state.deregister_udtf(name).is_err() {
                return;
            }
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_MAX {
            kept.push(state);
        }
    }
}

impl StatementSettings {
    pub(crate) fn config(&self) -> &SessionConfig {
        &self.config
    }

    pub(crate) fn base(&self) -> &SessionState {
        &self.base.state
    }

    /// The same with literals read in a style of their own; texts are written in the session's.
    pub(crate) fn with_literal_style(&self, style: TextStyle) -> Self {
        let mut settings = self.clone();
        let options = settings.config.options_mut();
        let mut style = style.at(self.now.micros());
        if let Some(SessionStyle(session)) = options.extensions.get::<SessionStyle>() {
            style.bytea_output = session.bytea_output;
            style.extra_float_digits = session.extra_float_digits;
        }
        options.extensions.insert(LiteralStyle(Arc::new(style)));
        settings
    }

    /// The same a year later.
    pub(crate) fn a_year_later(&self) -> Self {
        let now = DateTime::from_micros(self.now.micros().saturating_add(YEAR_MICROS), 0);
        let style = LiteralStyle::in_force(self.config.options());
        let style = style.map_or_else(TextStyle::default, |style| style.as_ref().clone());
        Self { now, ..self.clone() }.with_literal_style(style)
    }

    /// A state for the statement, to which `fill` adds its tables.
    pub(crate) fn lend(&self, fill: impl FnOnce(&mut SessionState)) -> LentState {
        let mut state = self.base.take().unwrap_or_else(|| self.base.state.clone());
        state.config_mut().clone_from(&self.config);
        state.mark_start_execution();
        state.execution_props_mut().query_execution_start_time =
            chrono::DateTime::from_timestamp_micros(self.now.micros());
        fill(&mut state);
        LentState { state: Some(state), base: Arc::clone(&self.base) }
    }

    /// What plans run in. Names of functions are for plans that come from elsewhere; ours hold
    /// theirs.
    pub(crate) fn task_context(&self) -> Arc<TaskContext> {
        Arc::new(TaskContext::new(
            None,
            self.base.state.session_id().to_owned(),
            self.config.clone(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            Arc::clone(self.base.state.runtime_env()),
        ))
    }
}

impl Deref for LentState {
    type Target = SessionState;

    fn deref(&self) -> &SessionState {
        // It is there until it is dropped.
        self.state.as_ref().unwrap_or(&self.base.state)
    }
}

impl Drop for LentState {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.base.keep(state);
        }
    }
}
