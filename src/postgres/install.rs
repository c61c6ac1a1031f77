//! The whole dialect, put into a session's state.

use std::sync::Arc;

use datafusion::execution::context::SessionState;

use crate::error::from_datafusion;
use crate::functions::{self, ObjectNames};
use crate::{ctes, deferred_values, desugar, source_order, window_top_k, workarounds};
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
        let state = functions::register(state, clock, names_of_objects())?;
        let state = desugar::install(state)?;
        let state = workarounds::install(state)?;
        let state = source_order::install(window_top_k::install(state)?)?;
        let state = deferred_values::install(state);
        let mut state = ctes::install(state)?;
        functions::system::register(&mut state)?;
        Ok(state)
    };
    with_all().map_err(from_datafusion)
}

/// What shows the names of objects that are held by their oids: `regclassout` and its like.
fn names_of_objects() -> ObjectNames {
    let functions = functions::system::system_functions();
    let output = |of: &str| {
        let function = functions.iter().find(|function| function.name().strip_suffix("out") == Some(of))?;
        Some((of.to_owned(), Arc::clone(function)))
    };
    let to_text = functions::system::REGISTERED_TYPES.iter().filter_map(|of| output(of)).collect();
    ObjectNames { to_text, ..ObjectNames::default() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use datafusion::execution::context::SessionState;
    use datafusion::execution::session_state::SessionStateBuilder;
    use rowkey_base::clock::{Clock, SystemClock};

    /// A state is built again from its functions, each under all of its names and in no order:
    /// where two have a name in common, either may be found.
    #[test]
    fn no_two_functions_share_a_name() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let state: SessionState = SessionStateBuilder::new().with_default_features().build();
        let state = super::install(state, &clock).expect("installed");
        assert_apart(state.scalar_functions().values().map(|function| (function.name(), function.aliases())));
        assert_apart(state.aggregate_functions().values().map(|function| (function.name(), function.aliases())));
        for name in ["array_to_string", "string_to_array", "array_length", "length"] {
            let function = state.scalar_functions().get(name);
            assert_eq!(function.map(|function| function.name()), Some(name));
        }
    }

    fn assert_apart<'a>(functions: impl Iterator<Item = (&'a str, &'a [String])>) {
        let mut names = HashMap::new();
        for (name, aliases) in functions {
            for alias in std::iter::once(name).chain(aliases.iter().map(String::as_str)) {
                let other = *names.entry(alias).or_insert(name);
                assert_eq!(other, name, "two functions are called {alias}");
            }
        }
        assert!(!names.is_empty());
    }
}
