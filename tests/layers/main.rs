//! The architecture as a test: what the members of the workspace may depend on, which modules may
//! reach each other, and which calls have their places. Reads `src` as text.
//!
//! The tables stand at the top of `members`, `cycles` and `rules`; each of them, and the scanner
//! under them, has tests of its own, so that none passes for want of finding anything.

mod cycles;
mod members;
mod rules;
mod scan;
mod tokens;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use members::{FEATURES, MEMBERS, Manifest};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn assert_none(broken: &[String]) {
    assert!(broken.is_empty(), "{} places break a rule:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn src_keeps_to_the_rules() {
    let sources = tree::read(repository(), "src");
    assert_none(&rules::violations(&sources));
    assert_none(&rules::unused_permissions(&sources));
}

#[test]
fn modules_do_not_reach_each_other() {
    assert_none(&cycles::violations(&tree::read(repository(), "src"), cycles::PERMITTED));
}

#[test]
fn members_depend_on_what_they_may() {
    let mut manifests = BTreeMap::new();
    for entry in fs::read_dir(repository().join("src")).unwrap() {
        let folder = entry.unwrap().path();
        if let Ok(text) = fs::read_to_string(folder.join("Cargo.toml")) {
            manifests.insert(folder.file_name().unwrap().to_str().unwrap().to_owned(), Manifest::parse(&text));
        }
    }
    assert!(manifests.remove(FEATURES).is_some());
    assert_eq!(manifests.len(), MEMBERS.len(), "{manifests:?}");
    assert_none(&members::violations(&manifests, &tree::read(repository(), "src")));
}

#[test]
fn the_whole_of_src_was_looked_at() {
    let sources = tree::read(repository(), "src");
    let (modules, _) = tree::modules(&sources);
    for member in MEMBERS {
        let files: Vec<_> = modules.iter().filter(|module| module.member == member).collect();
        assert!(!files.is_empty(), "no file of {member}");
        assert!(files.iter().any(|module| !module.scan.paths.is_empty()), "no import in {member}");
    }
    assert!(modules.len() > 400, "only {} modules", modules.len());
}
