//! The architecture as a test: who may import whom, and which calls have their places. Reads `src` as text.
//!
//! `rules.rs` has the table; the scanner under it has tests of its own, so that it does not pass for want of finding
//! anything.

mod rules;
mod scan;
mod tokens;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn src_keeps_to_the_rules() {
    let broken = rules::violations(&tree::read(repository(), "src"));
    assert!(broken.is_empty(), "{} places break a rule:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn the_whole_of_src_was_looked_at() {
    let sources = tree::read(repository(), "src");
    assert!(sources.len() > 100, "only {} files", sources.len());
    let (modules, _) = tree::modules(&sources);
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    let mut imports = 0;
    for module in &modules {
        *files.entry(module.path.first().map_or("", String::as_str)).or_default() += 1;
        let own = module.path.first();
        imports += rules::used_modules(module).filter(|(_, used)| Some(used) != own).count();
    }
    for (layer, _) in rules::LAYERS {
        assert!(files.contains_key(layer), "no file of the layer {layer} among {files:?}");
    }
    assert!(imports > 200, "only {imports} imports between layers");
}
