//! The rules, and what breaks them.

use crate::scan::Found;
use crate::tree::{Module, Sources, modules};

/// Which modules of the crate a module may use beside itself, lowest first. A layer calls down; what comes up are results and
/// errors.
pub const LAYERS: [(&str, &[&str]); 14] = [
    ("model", &[]),
    ("clock", &["model"]),
    ("files", &["model"]),
    ("rows", &["files", "model"]),
    ("formats", &["rows", "files", "model"]),
    ("storage", &["rows", "files", "model", "clock"]),
    ("access", &["model"]),
    ("provider", &["access", "storage", "rows", "model"]),
    ("sql_types", &[]),
    ("functions", &["sql_types", "storage", "model", "clock"]),
    ("system_catalog", &["sql_types", "provider", "storage", "model", "clock"]),
    (
        "session",
        &[
            "system_catalog",
            "functions",
            "sql_types",
            "provider",
            "access",
            "storage",
            "formats",
            "rows",
            "files",
            "model",
            "clock",
        ],
    ),
    ("engine", &["session", "provider", "storage", "formats", "rows", "files", "model", "clock"]),
    ("frontend", &["engine", "session", "sql_types", "storage", "formats", "model", "clock"]),
];

/// The binary uses the library's front ends, and the public names at the crate's root.
const BINARY_MAY_USE: &[&str] = &["frontend"];

/// Layers that may use names at the crate's root, which are the front end's.
const ROOT_NAMES: &[&str] = &["frontend"];

const FILE_LAYERS: &[&str] = &["files", "formats", "frontend"];
const CLOCK_LAYERS: &[&str] = &["clock", "frontend"];
const PRINT_LAYERS: &[&str] = &["frontend"];

const LINES_MAX: usize = 700;
const VAGUE_NAMES: [&str; 4] = ["utils", "common", "helpers", "misc"];

/// Everything that breaks a rule, as lines that begin with the place.
pub fn violations(sources: &Sources) -> Vec<String> {
    let (modules, unreached) = modules(sources);
    let mut broken = Vec::new();
    for file in unreached {
        broken.push(format!("{file}: no module declares this file, so it is not compiled: declare it or remove it"));
    }
    for (file, text) in sources {
        text_rules(file, text, &mut broken);
    }
    for module in &modules {
        layer_rules(module, &mut broken);
        call_rules(module, &mut broken);
    }
    broken
}

/// The layer of a module; none for the roots.
fn layer(module: &Module) -> Option<&str> {
    if module.binary { None } else { module.path.first().map(String::as_str) }
}

fn may_use(layer: &str) -> Option<&'static [&'static str]> {
    LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, may_use)| *may_use)
}

fn text_rules(file: &str, text: &str, broken: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > LINES_MAX {
        broken.push(format!("{file}: {lines} lines, and {LINES_MAX} is the most: split it by ideas"));
    }
    for name in file.trim_end_matches(".rs").split('/').filter(|name| VAGUE_NAMES.contains(name)) {
        broken.push(format!("{file}: \"{name}\" says nothing about what is inside: name the thing that does the job"));
    }
    for (at, line) in (1..).zip(text.lines()) {
        for mark in line.split(|c: char| !c.is_alphanumeric()).filter(|word| ["TODO", "FIXME"].contains(word)) {
            broken.push(format!(
                "{file}:{at}: {mark}: do it, or take it out and say what is missing where users read it"
            ));
        }
    }
}

fn layer_rules(module: &Module, broken: &mut Vec<String>) {
    let file = &module.file;
    let own = layer(module);
    if let Some(own) = own
        && may_use(own).is_none()
    {
        broken.push(format!("{file}: the module \"{own}\" is not in the table of layers: add it with what it may use"));
        return;
    }
    // The library's root gathers the public names of all layers.
    if own.is_none() && !module.binary {
        return;
    }
    for (found, used) in used_modules(module) {
        if own == Some(used.as_str()) {
            continue;
        }
        let allowed = match own {
            Some(own) => may_use(own).unwrap_or_default(),
            None => BINARY_MAY_USE,
        };
        let root_name = may_use(&used).is_none();
        if allowed.contains(&used.as_str()) || root_name && own.is_none_or(|own| ROOT_NAMES.contains(&own)) {
            continue;
        }
        let (own, path) = (own.unwrap_or("main"), found.path.join("::"));
        let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
        broken.push(format!("{file}:{}: {own} imports {path}; {own} may use: {allowed}", found.line));
    }
}

/// The paths that lead out of a module to the top of the crate, and the name they meet there.
pub fn used_modules(module: &Module) -> impl Iterator<Item = (&Found, String)> {
    module.scan.paths.iter().filter_map(|found| Some((found, top_of(module, found)?)))
}

fn top_of(module: &Module, found: &Found) -> Option<String> {
    let first = found.path.first()?.as_str();
    if module.binary {
        // `crate` is the binary itself there.
        return if first == "rowkey" { found.path.get(1).cloned() } else { None };
    }
    match first {
        "crate" | "rowkey" => found.path.get(1).cloned(),
        "super" => {
            let ups = found.path.iter().take_while(|part| *part == "super").count();
            let depth = module.path.len() + found.inside.len();
            // Only one that climbs up to the root leaves the layer.
            if ups >= depth { found.path.get(ups).cloned() } else { None }
        }
        _ => None,
    }
}

fn call_rules(module: &Module, broken: &mut Vec<String>) {
    let Module { file, scan, .. } = module;
    for found in &scan.keywords_unsafe {
        broken.push(format!("{file}:{}: unsafe code: there is none in this crate", found.line));
    }
    let own = layer(module).unwrap_or(if module.binary { "frontend" } else { "" });
    let product = |found: &&Found| !found.test && !module.test;
    for found in scan.paths.iter().filter(product) {
        let path = found.path.join("::");
        let parts: Vec<&str> = found.path.iter().map(String::as_str).collect();
        let of_files =
            matches!(parts[..], ["std" | "tokio", "fs", ..]) || parts.windows(2).any(|pair| pair[0] == "File");
        if of_files && !FILE_LAYERS.contains(&own) {
            broken.push(format!(
                "{file}:{}: {path}: only these touch the disk: {}",
                found.line,
                FILE_LAYERS.join(", ")
            ));
        }
        let of_time = parts.windows(2).any(|pair| matches!(pair, ["SystemTime" | "Instant" | "Utc", "now"]));
        if of_time && !CLOCK_LAYERS.contains(&own) {
            broken.push(format!("{file}:{}: {path}: take a clock::Clock, so that tests can set the time", found.line));
        }
    }
    for found in scan.macros.iter().filter(product) {
        let name = found.path.join("");
        match name.as_str() {
            "println" | "eprintln" | "print" | "eprint" if !PRINT_LAYERS.contains(&own) => {
                broken
                    .push(format!("{file}:{}: {name}!: only the front ends print; give it to the caller", found.line));
            }
            "todo" | "unimplemented" | "dbg" => {
                broken.push(format!("{file}:{}: {name}!: finish it or take it out", found.line));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
