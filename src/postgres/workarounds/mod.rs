//! Workarounds of faults in DataFusion.

mod computed_keys;
mod deep_statistics;
mod filter_pushdown;
mod forgotten_properties;
mod functional_dependencies;
mod guarded;
mod inlined_columns;
mod misplaced_limits;
mod missing_sorts;
mod null_equal_joins;
mod partitioned_join_filters;
mod replayed_joins;
mod schemas_above_joins;
mod sorts_without_columns;
mod spilling_sorts;
mod unambiguous_filters;
mod unprojected_keys;
mod values_of_subqueries;
mod window_input_order;

#[cfg(test)]
mod canaries;

use datafusion::common::Result;
use datafusion::execution::context::SessionState;

use crate::rules::Rules;
pub(crate) use functional_dependencies::has_repeated_key;
pub(crate) use replayed_joins::with_replayed_input;
pub(crate) use schemas_above_joins::recomputed;
pub(crate) use sorts_without_columns::without_needless_sort;
pub(crate) use spilling_sorts::HEAP_ROWS_MAX;

/// The workaround of one fault.
#[derive(Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "names and places are for canaries, and for readers"))]
struct Workaround {
    name: &'static str,
    /// The upstream issue; of a fault without one, the statement of its canary describes it.
    upstream: Option<&'static str>,
    install: fn(&mut Rules) -> Result<()>,
}

/// In the order in which they are installed: of two that wrap one rule, the outer comes later.
/// `canaries` has for each the smallest statement that shows the fault.
const WORKAROUNDS: [Workaround; 16] = [
    Workaround {
        name: "filters over columns of one name",
        upstream: Some("https://github.com/apache/datafusion/issues/25296"),
        install: unambiguous_filters::install,
    },
    Workaround { name: "keys of windows that compare", upstream: None, install: computed_keys::install },
    Workaround {
        name: "conditions that double at each projection",
        upstream: Some("https://github.com/apache/datafusion/issues/25329"),
        install: inlined_columns::install,
    },
    Workaround { name: "heaps of sorts that do not spill", upstream: None, install: spilling_sorts::install },
    Workaround { name: "statistics of deep plans", upstream: None, install: deep_statistics::install },
    Workaround { name: "limits between orders", upstream: None, install: misplaced_limits::install },
    Workaround { name: "order of the input of windows", upstream: None, install: window_input_order::install },
    Workaround {
        name: "partitions of joins that wait for one another",
        upstream: None,
        install: partitioned_join_filters::install,
    },
    Workaround { name: "orders of unions", upstream: None, install: missing_sorts::install },
    Workaround { name: "keys of joins where NULL equals NULL", upstream: None, install: null_equal_joins::install },
    Workaround {
        name: "conditions above aggregates, windows, DISTINCT and UNNEST",
        upstream: Some("https://github.com/apache/datafusion/issues/11748"),
        install: filter_pushdown::install,
    },
    Workaround {
        name: "schemas above subqueries that became joins",
        upstream: Some("https://github.com/apache/datafusion/issues/13190"),
        install: schemas_above_joins::install,
    },
    Workaround {
        name: "keys that a join repeats",
        upstream: Some("https://github.com/apache/datafusion/issues/23626"),
        install: functional_dependencies::install,
    },
    Workaround { name: "properties below operators", upstream: None, install: forgotten_properties::install },
    Workaround { name: "subqueries among VALUES", upstream: None, install: values_of_subqueries::install },
    Workaround { name: "keys of aggregates below projections", upstream: None, install: unprojected_keys::install },
];

/// Adds the workarounds to the rules of a state.
///
/// # Errors
/// DataFusion has no rule of a name that a workaround wraps.
pub(crate) fn install(state: SessionState) -> Result<SessionState> {
    install_some(state, |_| true)
}

fn install_some(state: SessionState, wanted: impl Fn(&Workaround) -> bool) -> Result<SessionState> {
    let mut rules = Rules::of(&state);
    for workaround in WORKAROUNDS.iter().filter(|workaround| wanted(workaround)) {
        (workaround.install)(&mut rules)?;
    }
    Ok(rules.put_into(state))
}
