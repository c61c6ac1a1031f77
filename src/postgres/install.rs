//! The whole dialect, put into a session's state.

use std::sync::Arc;

use datafusion::execution::context::SessionState;

use crate::error::from_datafusion;
use crate::functions::{self, ObjectNames};
use crate::{desugar, workarounds};
use rowkey_base::Result;
use rowkey_base::clock::Clock;

/// A state that plans and runs statements as PostgreSQL does. `state` has DataFusion's defaults and
/// a configuration that went through [`functions::configure`].
///
/// The order matters. Functions come first: the rules of the others name them. Types are settled
/// before DataFusion's `type_coercion` and subqueries after it; workarounds see the rules of all
/// others.
///
/// # Errors
/// DataFusion has no rule or function of a name that something here is built on.
pub fn install(state: SessionState, clock: &Arc<dyn Clock>) -> Result<SessionState> {
    let with_all = || {
        let state = functions::register(state, clock, ObjectNames::default())?;
        let state = desugar::install(state)?;
        let mut state = workarounds::install(state)?;
        functions::system::register(&mut state)?;
        Ok(state)
    };
    with_all().map_err(from_datafusion)
}
