//! Modules of one folder that reach each other: what cannot be understood, moved or built alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Module, Sources, modules};

/// How many modules of a folder lie on cycles; every other folder has none. The numbers may only
/// fall: a smaller one found fails too, until it is written here.
pub(crate) const PERMITTED: &[(&str, usize)] = &[
    ("postgres::desugar::decorrelation", 3),
    ("postgres::functions", 8),
    ("postgres::functions::system", 2),
    ("sql::engine", 2),
    ("sql::provider", 3),
    ("sql::system_catalog", 4),
    ("sql::system_catalog::rowkey_schema", 8),
];

/// What is imported of whom, between the modules that lie in one folder.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// Folders whose cycles are not as many as permitted.
pub(crate) fn violations(sources: &Sources, permitted: &[(&str, usize)]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut permitted: BTreeMap<&str, usize> = permitted.iter().copied().collect();
    for (folder, edges) in folders(sources) {
        let cyclic = on_cycles(&edges);
        let allowed = permitted.remove(folder.as_str()).unwrap_or(0);
        if cyclic.len() > allowed {
            let names: Vec<&str> = cyclic.iter().map(String::as_str).collect();
            broken.push(format!(
                "{folder}: {} modules reach each other, {allowed} are permitted: {}",
                cyclic.len(),
                names.join(", ")
            ));
        } else if cyclic.len() < allowed {
            broken.push(format!(
                "{folder}: {} modules reach each other, and {allowed} are permitted: say so",
                cyclic.len()
            ));
        }
    }
    broken.extend(permitted.keys().map(|folder| format!("{folder}: there is no such folder of modules")));
    broken
}

/// The edges within each folder, by its path: `member` or `member::module`.
fn folders(sources: &Sources) -> BTreeMap<String, Edges> {
    let (modules, _) = modules(sources);
    let declared: BTreeSet<(&str, &[String])> =
        modules.iter().map(|module| (module.member.as_str(), module.path.as_slice())).collect();
    let exports = exports(&modules);
    let mut folders: BTreeMap<String, Edges> = BTreeMap::new();
    for module in modules.iter().filter(|module| !module.test) {
        for found in module.scan.paths.iter().filter(|found| !found.test) {
            let own: Vec<String> = module.path.iter().chain(&found.inside).cloned().collect();
            let Some(used) = absolute(&own, &found.path) else { continue };
            let used = defined(&module.member, used, &exports);
            let shared = own.iter().zip(&used).take_while(|(own, used)| own == used).count();
            let (Some(from), Some(to)) = (module.path.get(shared), used.get(shared)) else { continue };
            if !declared.contains(&(module.member.as_str(), &used[..=shared])) {
                continue;
            }
            let folder: Vec<&str> =
                [module.member.as_str()].into_iter().chain(own[..shared].iter().map(String::as_str)).collect();
            folders.entry(folder.join("::")).or_default().entry(from.clone()).or_default().insert(to.clone());
        }
    }
    folders
}

/// The module and the name that a name at the gate of a folder stands for.
type Exports = BTreeMap<(String, Vec<String>), Vec<String>>;

fn exports(modules: &[Module]) -> Exports {
    let mut exports = Exports::new();
    for module in modules {
        let children: BTreeSet<&str> = module.scan.modules.iter().map(|found| found.path[0].as_str()).collect();
        for found in module.scan.paths.iter().filter(|found| !found.test && found.inside.is_empty()) {
            let used = found.path.strip_prefix(&["self".to_owned()]).unwrap_or(&found.path);
            if let [child, .., name] = used
                && children.contains(child.as_str())
            {
                let gate: Vec<String> = module.path.iter().cloned().chain([name.clone()]).collect();
                let target = module.path.iter().chain(used).cloned().collect();
                exports.entry((module.member.clone(), gate)).or_insert(target);
            }
        }
    }
    exports
}

/// Follows names through the gates of folders to the module that has them.
fn defined(member: &str, mut path: Vec<String>, exports: &Exports) -> Vec<String> {
    let is_gate = |path: &[String]| exports.get(&(member.to_owned(), path.to_vec())).cloned();
    for _ in 0..8 {
        let Some((length, target)) = (1..=path.len()).find_map(|length| Some((length, is_gate(&path[..length])?)))
        else {
            break;
        };
        if target[..] == path[..length] {
            break;
        }
        path.splice(..length, target);
    }
    path
}

/// The path from the root of the crate; none if it leads out of it.
fn absolute(own: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = own.to_vec();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => return Some(rest[1..].to_vec()),
        "self" => rest = &rest[1..],
        "super" => {
            while let Some((first, more)) = rest.split_first()
                && first == "super"
            {
                base.pop()?;
                rest = more;
            }
        }
        _ => return None,
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// The modules that can be reached from themselves.
fn on_cycles(edges: &Edges) -> Vec<String> {
    let reached = |start: &String| {
        let mut reached: BTreeSet<&String> = BTreeSet::new();
        let mut next: Vec<&String> = edges.get(start).into_iter().flatten().collect();
        while let Some(name) = next.pop() {
            if reached.insert(name) {
                next.extend(edges.get(name).into_iter().flatten());
            }
        }
        reached.contains(start)
    };
    edges.keys().filter(|name| reached(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::violations;
    use crate::tree::sources;

    fn of(files: [(&str, &str); 4], permitted: &[(&str, usize)]) -> Vec<String> {
        violations(&sources(files), permitted)
    }

    const ROOT: (&str, &str) = ("src/m/lib.rs", "mod a;\nmod b;\nmod c;\npub use a::X;");

    #[test]
    fn a_cycle_is_found_however_it_is_written() {
        let found = "m: 2 modules reach each other, 0 are permitted: a, b";
        for back in
            ["use crate::a::X;", "use super::a::Y;", "use crate::X;", "use super::X;", "fn f() { crate::a::g() }"]
        {
            let files =
                [ROOT, ("src/m/a.rs", "use super::b::B;"), ("src/m/b.rs", back), ("src/m/c.rs", "use crate::a::X;")];
            assert_eq!(of(files, &[]), [found], "{back}");
        }
        let tests = [
            ROOT,
            ("src/m/a.rs", "use super::b::B;"),
            ("src/m/b.rs", "#[cfg(test)]\nmod tests { use crate::a::X; }"),
            ("src/m/c.rs", ""),
        ];
        assert_eq!(of(tests, &[]), [""; 0]);
    }

    #[test]
    fn folders_have_cycles_of_their_own() {
        let files = [
            ("src/m/lib.rs", "mod a;"),
            ("src/m/a/mod.rs", "mod b;\nmod c;"),
            ("src/m/a/b.rs", "use super::c::C;"),
            ("src/m/a/c.rs", "use crate::a::b::B;"),
        ];
        assert_eq!(of(files, &[]), ["m::a: 2 modules reach each other, 0 are permitted: b, c"]);
    }

    #[test]
    fn permissions_are_as_many_as_needed() {
        let cyclic = [ROOT, ("src/m/a.rs", "use super::b::B;"), ("src/m/b.rs", "use super::X;"), ("src/m/c.rs", "")];
        assert_eq!(of(cyclic, &[("m", 2)]), [""; 0]);
        assert_eq!(of(cyclic, &[("m", 3)]), ["m: 2 modules reach each other, and 3 are permitted: say so"]);
        assert_eq!(of(cyclic, &[("m", 2), ("n", 1)]), ["n: there is no such folder of modules"]);
    }
}
