//! The files of `src` and the modules they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::scan::{Scan, scan};

/// Texts of source files by path below the repository, with `/` between folders.
pub type Sources = BTreeMap<String, String>;

/// A file that is a module.
#[derive(Debug)]
pub struct Module {
    pub file: String,
    /// Its path from the crate root; empty for the root itself.
    pub path: Vec<String>,
    /// It belongs to the binary, whose root is `src/main.rs`.
    pub binary: bool,
    /// It exists in tests only.
    pub test: bool,
    pub scan: Scan,
}

/// Reads all `.rs` files of a folder.
pub fn read(root: &Path, folder: &str) -> Sources {
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
pub fn modules(sources: &Sources) -> (Vec<Module>, Vec<String>) {
    let mut modules = Vec::new();
    let mut unreached: BTreeSet<&String> = sources.keys().collect();
    let mut next =
        vec![("src/lib.rs".to_owned(), vec![], false, false), ("src/main.rs".to_owned(), vec![], true, false)];
    while let Some((file, path, binary, test)) = next.pop() {
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
                next.push((file, path.clone(), binary, test || declared.test));
            }
        }
        let test = test || file.ends_with("/tests.rs") || file.contains("/tests/");
        modules.push(Module { file, path, binary, test, scan });
    }
    modules.sort_by(|a, b| a.file.cmp(&b.file));
    (modules, unreached.into_iter().cloned().collect())
}

#[cfg(test)]
pub fn sources<const N: usize>(files: [(&str, &str); N]) -> Sources {
    files.into_iter().map(|(file, text)| (file.to_owned(), text.to_owned())).collect()
}

#[test]
fn modules_are_followed_from_the_roots() {
    let sources = sources([
        ("src/lib.rs", "pub mod a;\nmod inline { mod deep; }"),
        ("src/main.rs", "mod flags;"),
        ("src/flags.rs", ""),
        ("src/a/mod.rs", "mod b;\n#[cfg(test)]\nmod made;"),
        ("src/a/b.rs", "#[cfg(test)]\nmod tests;"),
        ("src/a/b/tests.rs", ""),
        ("src/a/made.rs", "mod more;"),
        ("src/a/made/more.rs", ""),
        ("src/inline/deep.rs", ""),
        ("src/a/lost.rs", ""),
        ("src/b.rs", "mod c;"),
    ]);
    let (modules, unreached) = modules(&sources);
    let seen: Vec<_> = modules.iter().map(|m| (m.file.as_str(), m.path.join("::"), m.test)).collect();
    let expected = [
        ("src/a/b.rs", "a::b", false),
        ("src/a/b/tests.rs", "a::b::tests", true),
        ("src/a/made.rs", "a::made", true),
        ("src/a/made/more.rs", "a::made::more", true),
        ("src/a/mod.rs", "a", false),
        ("src/flags.rs", "flags", false),
        ("src/inline/deep.rs", "inline::deep", false),
        ("src/lib.rs", "", false),
        ("src/main.rs", "", false),
    ];
    assert_eq!(seen, expected.map(|(file, path, test)| (file, path.to_owned(), test)));
    assert_eq!(unreached, ["src/a/lost.rs", "src/b.rs"]);
}
