//! Every setting there is.

use std::sync::LazyLock;

use super::definitions::{Definition, OWN};
use super::recorded::recorded;

/// All settings, by name.
pub static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let mut all: Vec<Definition> = OWN.iter().copied().chain(recorded()).collect();
    all.sort_by_key(|definition| definition.name.to_ascii_lowercase());
    all
});

/// The definition of a setting, by its name in any case.
pub fn definition(name: &str) -> Option<&'static Definition> {
    let name = name.to_ascii_lowercase();
    let found = DEFINITIONS.binary_search_by(|definition| {
        let letters = definition.name.bytes().map(|byte| byte.to_ascii_lowercase());
        letters.cmp(name.bytes())
    });
    found.ok().and_then(|at| DEFINITIONS.get(at))
}
