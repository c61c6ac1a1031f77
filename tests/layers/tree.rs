//! The files of `src` and the modules they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::scan::{Scan, scan};

/// Texts of source files by path below the repository, with `/` between folders.
pub(crate) type Sources = BTreeMap<String, String>;

/// A file that is a module.
#[derive(Debug)]
pub(crate) struct Module {
    pub file: String,
    /// The folder of its crate below `src`; `rowkey` for the facade, `main` for the binary.
    pub member: String,
    /// Its path from the crate root; empty for the root itself.
    pub path: Vec<String>,
    /// It exists in tests only.
    pub test: bool,
    pub scan: Scan,
}

/// The roots of crates, with the names of their members.
fn roots(sources: &Sources) -> Vec<(String, String)> {
    let mut roots = vec![("src/lib.rs".to_owned(), "rowkey".to_owned()), ("src/main.rs".to_owned(), "main".to_owned())];
    roots.extend(sources.keys().filter_map(|file| {
        let member = file.strip_prefix("src/")?.strip_suffix("/lib.rs")?;
        (!member.contains('/')).then(|| (file.clone(), member.to_owned()))
    }));
    roots
}

/// Reads all `.rs` files of a folder.
pub(crate) fn read(root: &Path, folder: &str) -> Sources {
    let mut sources = Sources::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        for entry in fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())) {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(name);
            } else if name.ends_with(".rs") {
                sources.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    sources
}

/// The modules that can be reached from the roots, and the files that no module declares.
pub(crate) fn modules(sources: &Sources) -> (Vec<Module>, Vec<String>) {
    let mut modules = Vec::new();
    let mut unreached: BTreeSet<&String> = sources.keys().collect();
    let mut next: Vec<_> = roots(sources).into_iter().map(|(file, member)| (file, member, vec![], false)).collect();
    while let Some((file, member, path, test)) = next.pop() {
        let Some(text) = sources.get(&file) else { continue };
        if !unreached.remove(&file) {
            continue;
        }
        let scan = scan(text);
        let folder = match file.strip_suffix("/mod.rs").or_else(|| file.strip_suffix("/lib.rs")) {
            Some(folder) => folder.to_owned(),
            None => file.strip_suffix("/main.rs").unwrap_or(file.trim_end_matches(".rs")).to_owned(),
        };
        for declared in &scan.modules {
            let names: Vec<String> = declared.inside.iter().chain(&declared.path).cloned().collect();
            let below = format!("{folder}/{}", names.join("/"));
            let path: Vec<String> = path.iter().cloned().chain(names).collect();
            for file in [format!("{below}.rs"), format!("{below}/mod.rs")] {
                next.push((file, member.clone(), path.clone(), test || declared.test));
            }
        }
        let test = test || file.ends_with("/tests.rs") || file.contains("/tests/");
        modules.push(Module { file, member, path, test, scan });
    }
    modules.sort_by(|a, b| a.file.cmp(&b.file));
    // Build scripts are crates of their own.
    (modules, unreached.into_iter().filter(|file| !file.ends_with("/build.rs")).cloned().collect())
}

#[cfg(test)]
pub(crate) fn sources<const N: usize>(files: [(&str, &str); N]) -> Sources {
    files.into_iter().map(|(file, text)| (file.to_owned(), text.to_owned())).collect()
}

#[test]
fn modules_are_followed_from_the_roots() {
    let sources = sources([
        ("src/lib.rs", ""),
        ("src/main.rs", "mod flags;"),
        ("src/flags.rs", ""),
        ("src/one/lib.rs", "pub mod a;\nmod inline { mod deep; }"),
        ("src/one/a/mod.rs", "mod b;\n#[cfg(test)]\nmod made;"),
        ("src/one/a/b.rs", "#[cfg(test)]\nmod tests;"),
        ("src/one/a/b/tests.rs", ""),
        ("src/one/a/made.rs", "mod more;"),
        ("src/one/a/made/more.rs", ""),
        ("src/one/inline/deep.rs", ""),
        ("src/one/a/lost.rs", ""),
        ("src/two/lib.rs", ""),
        ("src/b.rs", "mod c;"),
    ]);
    let (modules, unreached) = modules(&sources);
    let seen: Vec<_> =
        modules.iter().map(|m| (m.file.as_str(), m.member.as_str(), m.path.join("::"), m.test)).collect();
    let expected = [
        ("src/flags.rs", "main", "flags", false),
        ("src/lib.rs", "rowkey", "", false),
        ("src/main.rs", "main", "", false),
        ("src/one/a/b.rs", "one", "a::b", false),
        ("src/one/a/b/tests.rs", "one", "a::b::tests", true),
        ("src/one/a/made.rs", "one", "a::made", true),
        ("src/one/a/made/more.rs", "one", "a::made::more", true),
        ("src/one/a/mod.rs", "one", "a", false),
        ("src/one/inline/deep.rs", "one", "inline::deep", false),
        ("src/one/lib.rs", "one", "", false),
        ("src/two/lib.rs", "two", "", false),
    ];
    assert_eq!(seen, expected.map(|(file, member, path, test)| (file, member, path.to_owned(), test)));
    assert_eq!(unreached, ["src/b.rs", "src/one/a/lost.rs"]);
}
