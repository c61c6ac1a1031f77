//! What the members of the workspace depend on. The compiler keeps them to their manifests; here is
//! what a manifest may say.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Sources, modules};

/// The members from the ground up: each may depend on those before it, doors on no other door, but
/// that the command line starts the servers.
pub(crate) const MEMBERS: [&str; 11] =
    ["base", "model", "storage", "formats", "postgres", "sql", "authorization", "embedded", "wire", "rest", "command"];
const DOORS: [&str; 4] = ["embedded", "wire", "rest", "command"];
/// Who starts which servers.
const STARTS: [(&str, &str); 2] = [("command", "wire"), ("command", "rest")];

/// Walls between members that their order does not make: what a member does not depend on.
const WALLS: [(&str, &[&str]); 2] = [("formats", &["storage"]), ("postgres", &["model", "storage", "formats"])];
/// What no door depends on: the entity service and sessions are their way to it.
const BEHIND_DOORS: &str = "storage";

/// The members where an outside crate is at home; no other may depend on it.
const HOMES: [(&str, &[&str]); 16] = [
    ("datafusion", &["postgres", "sql"]),
    ("parquet", &["storage", "formats", "sql"]),
    ("object_store", &["model"]),
    ("pgwire", &["wire"]),
    ("axum", &["rest"]),
    ("hyper", &["rest"]),
    ("hmac", &["authorization"]),
    ("quick-xml", &["rest"]),
    ("rustls", &["rest"]),
    ("tokio-rustls", &["rest"]),
    ("rcgen", &["rest"]),
    ("clap", &["command"]),
    ("rustyline", &["command"]),
    ("chrono-tz", &["postgres"]),
    ("zstd", &["formats"]),
    ("flate2", &["formats"]),
];

/// The member without code, on which only tests depend: it unifies the features of dependencies.
pub(crate) const FEATURES: &str = "features";

/// What a member depends on.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    dependencies: BTreeSet<String>,
    dev_dependencies: BTreeSet<String>,
    /// Those of them that a feature brings in.
    optional: BTreeSet<String>,
}

impl Manifest {
    pub(crate) fn parse(text: &str) -> Self {
        let (mut manifest, mut section) = (Self::default(), "");
        for line in text.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let name = key.trim().trim_end_matches(".workspace").to_owned();
            if value.contains("optional = true") {
                manifest.optional.insert(name.clone());
            }
            match section {
                "[dependencies]" => drop(manifest.dependencies.insert(name)),
                "[dev-dependencies]" => drop(manifest.dev_dependencies.insert(name)),
                _ => {}
            }
        }
        manifest
    }
}

/// Everything that manifests say and must not, and what they say in vain.
pub(crate) fn violations(manifests: &BTreeMap<String, Manifest>, sources: &Sources) -> Vec<String> {
    let mut broken = Vec::new();
    for (member, manifest) in manifests {
        let Some(level) = MEMBERS.iter().position(|name| name == member) else {
            broken.push(format!("src/{member}: not in the list of members: put it where it belongs"));
            continue;
        };
        for used in manifest.dependencies.iter().filter_map(|name| name.strip_prefix("rowkey-")) {
            let is_door = DOORS.contains(&member.as_str());
            let between_doors = is_door && DOORS.contains(&used) && !STARTS.contains(&(member.as_str(), used));
            let walled = WALLS.iter().any(|(name, walled_off)| name == member && walled_off.contains(&used))
                || is_door && used == BEHIND_DOORS;
            if between_doors || walled || MEMBERS.iter().position(|name| *name == used).is_none_or(|at| at >= level) {
                broken.push(format!("src/{member} depends on rowkey-{used}, and must not"));
            }
        }
        for (outside, homes) in HOMES {
            let depends = manifest.dependencies.contains(outside);
            if depends && !homes.contains(&member.as_str()) {
                broken.push(format!("src/{member} depends on {outside}, which is at home in: {}", homes.join(", ")));
            }
            if !depends && homes.contains(&member.as_str()) {
                broken.push(format!("{outside} is at home in src/{member}, which does not depend on it: say so"));
            }
        }
        let (product, tests) = used_crates(member, sources);
        // What a feature for tests brings in need not be used by anything else.
        let for_tests = |name: &String| manifest.optional.contains(name) && tests.contains(&crate_name(name));
        let used = |name: &String| product.contains(&crate_name(name)) || for_tests(name);
        let unused = manifest.dependencies.iter().filter(|name| !used(name));
        broken.extend(unused.map(|name| format!("src/{member} depends on {name} and does not use it")));
        let is_feature = |name: &str| name.starts_with("rowkey-");
        let unused =
            manifest.dev_dependencies.iter().filter(|name| !is_feature(name) && !tests.contains(&crate_name(name)));
        broken.extend(unused.map(|name| format!("the tests of src/{member} depend on {name} and do not use it")));
    }
    broken
}

/// The name in code of a package.
fn crate_name(package: &str) -> String {
    match package {
        "md-5" => "md5".to_owned(),
        package => package.replace('-', "_"),
    }
}

/// The first names of all paths of a member: in its product, and in its tests.
fn used_crates(member: &str, sources: &Sources) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut product, mut tests) = (BTreeSet::new(), BTreeSet::new());
    for module in modules(sources).0.iter().filter(|module| module.member == member) {
        for found in &module.scan.paths {
            let names = if found.test || module.test { &mut tests } else { &mut product };
            names.extend(found.path.first().cloned());
        }
        // The scanner passes over attributes, such as `#[tokio::test]`.
        for name in ["async_trait", "serde", "thiserror", "tokio"] {
            let written = |text: &str| sources.get(&module.file).is_some_and(|source| source.contains(text));
            if written("#[tokio::test") {
                tests.insert("tokio".to_owned());
            } else if written(&format!("{name}::")) {
                let names = if module.test { &mut tests } else { &mut product };
                names.insert(name.to_owned());
            }
        }
    }
    (product, tests)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Manifest, violations};
    use crate::tree::sources;

    fn with(member: &str, dependencies: &str, text: &str) -> Vec<String> {
        let manifest = Manifest::parse(&format!("[package]\nname = \"x\"\n\n[dependencies]\n{dependencies}"));
        let root = format!("src/{member}/lib.rs");
        violations(&BTreeMap::from([(member.to_owned(), manifest)]), &sources([(&root, text)]))
    }

    #[test]
    fn walls_are_kept() {
        let storage = "parquet.workspace = true\n";
        assert_eq!(with("storage", storage, "use parquet::X;"), [""; 0]);
        let more = format!("{storage}datafusion = {{ workspace = true }}\n");
        let text = "use parquet::X;\nuse datafusion::X;";
        assert_eq!(
            with("storage", &more, text),
            ["src/storage depends on datafusion, which is at home in: postgres, sql"]
        );
        let cases = [("model", "storage"), ("embedded", "wire"), ("wire", "command"), ("base", "base"), ("base", "no")];
        for (member, used) in cases {
            let broken = with(member, &format!("rowkey-{used}.workspace = true"), &format!("use rowkey_{used}::X;"));
            let expected = format!("src/{member} depends on rowkey-{used}, and must not");
            assert!(broken.contains(&expected), "{broken:?}");
        }
    }

    #[test]
    fn what_is_not_used_is_found() {
        assert_eq!(with("base", "uuid.workspace = true", "use uuid::X;"), [""; 0]);
        let unused = ["src/base depends on uuid and does not use it"];
        assert_eq!(with("base", "uuid.workspace = true", ""), unused);
        assert_eq!(with("base", "uuid.workspace = true", "#[cfg(test)]\nmod tests { use uuid::X; }"), unused);
        let of_feature = "uuid = { workspace = true, optional = true }";
        assert_eq!(with("base", of_feature, "#[cfg(test)]\nmod tests { use uuid::X; }"), [""; 0]);
        assert_eq!(with("base", of_feature, ""), unused);
        let broken = with("model", "", "");
        assert_eq!(broken, ["object_store is at home in src/model, which does not depend on it: say so"]);
    }
}
