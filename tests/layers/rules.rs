//! The rules, and what breaks them.

use crate::scan::Found;
use crate::tree::{Module, Sources, modules};

/// Which members, or modules at the top of one, touch the disk.
pub(crate) const DISK: &[&str] = &["model::files", "formats", "command"];
/// Which ask the machine for the time.
pub(crate) const TIME: &[&str] = &["base::clock", "command"];
/// Which write to standard output and standard error.
pub(crate) const PRINT: &[&str] = &["command", "main"];

const LINES_MAX: usize = 700;
/// Columns of a comment; its tables and examples may be wider.
const COMMENT_COLUMNS_MAX: usize = 100;
const VAGUE_NAMES: [&str; 4] = ["utils", "common", "helpers", "misc"];

/// Everything that breaks a rule, as lines that begin with the place.
pub(crate) fn violations(sources: &Sources) -> Vec<String> {
    let (modules, unreached) = modules(sources);
    let mut broken = Vec::new();
    for file in unreached {
        broken.push(format!("{file}: no module declares this file, so it is not compiled: declare it or remove it"));
    }
    for (file, text) in sources {
        text_rules(file, text, &mut broken);
    }
    for module in &modules {
        call_rules(module, &mut broken);
    }
    broken
}

/// Permissions that no file uses any more.
pub(crate) fn unused_permissions(sources: &Sources) -> Vec<String> {
    let (modules, _) = modules(sources);
    let unused = |kind: &str, permissions: &[&str], uses: &dyn Fn(&Module) -> bool| {
        let unused =
            permissions.iter().filter(|&&name| !modules.iter().any(|module| is_in(module, name) && uses(module)));
        unused.map(|name| format!("{name} is permitted {kind} and does without: remove it")).collect::<Vec<_>>()
    };
    let product = |module: &Module, test: fn(&[&str]) -> bool| {
        module.scan.paths.iter().any(|found| !found.test && !module.test && test(&parts(found)))
    };
    let prints = |module: &Module| {
        module.scan.macros.iter().any(|found| !found.test && !module.test && PRINTING.contains(&&*found.path.join("")))
    };
    let mut all = unused("to touch the disk", DISK, &|module| product(module, touches_disk));
    all.extend(unused("to ask for the time", TIME, &|module| product(module, asks_time)));
    all.extend(unused("to print", PRINT, &prints));
    all
}

/// Whether it lies in a member, or in a module of one, that is written `member::module`.
fn is_in(module: &Module, place: &str) -> bool {
    let mut names = place.split("::");
    names.next() == Some(&module.member)
        && names.enumerate().all(|(at, name)| module.path.get(at).is_some_and(|own| own == name))
}

fn parts(found: &Found) -> Vec<&str> {
    found.path.iter().map(String::as_str).collect()
}

fn touches_disk(parts: &[&str]) -> bool {
    matches!(parts, ["std" | "tokio", "fs", ..]) || parts.windows(2).any(|pair| pair[0] == "File")
}

fn asks_time(parts: &[&str]) -> bool {
    parts.windows(2).any(|pair| matches!(pair, ["SystemTime" | "Instant" | "Utc", "now"]))
}

const PRINTING: [&str; 4] = ["println", "eprintln", "print", "eprint"];

fn text_rules(file: &str, text: &str, broken: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > LINES_MAX {
        broken.push(format!("{file}: {lines} lines, and {LINES_MAX} is the most: split it by ideas"));
    }
    for name in file.trim_end_matches(".rs").split('/').filter(|name| VAGUE_NAMES.contains(name)) {
        broken.push(format!("{file}: \"{name}\" says nothing about what is inside: name the thing that does the job"));
    }
    let mut is_example = false;
    for (at, line) in (1..).zip(text.lines()) {
        let comment = line.trim_start().strip_prefix("//").map(|comment| comment.trim_start_matches(['/', '!']).trim());
        is_example = match comment {
            Some(fence) if fence.starts_with("```") => !is_example,
            comment => is_example && comment.is_some(),
        };
        let is_text = comment.is_some_and(|comment| !is_example && !comment.starts_with('|'));
        if is_text && line.chars().count() > COMMENT_COLUMNS_MAX {
            broken.push(format!("{file}:{at}: a comment beyond {COMMENT_COLUMNS_MAX} columns: break the line"));
        }
        for mark in line.split(|c: char| !c.is_alphanumeric()).filter(|word| ["TODO", "FIXME"].contains(word)) {
            broken.push(format!(
                "{file}:{at}: {mark}: do it, or take it out and say what is missing where users read it"
            ));
        }
    }
}

fn call_rules(module: &Module, broken: &mut Vec<String>) {
    let Module { file, scan, .. } = module;
    for found in &scan.keywords_unsafe {
        broken.push(format!("{file}:{}: unsafe code: there is none in this workspace", found.line));
    }
    let may = |places: &[&str]| places.iter().any(|place| is_in(module, place));
    let product = |found: &&Found| !found.test && !module.test;
    for found in scan.paths.iter().filter(product) {
        let path = found.path.join("::");
        if touches_disk(&parts(found)) && !may(DISK) {
            broken.push(format!("{file}:{}: {path}: only these touch the disk: {}", found.line, DISK.join(", ")));
        }
        if asks_time(&parts(found)) && !may(TIME) {
            broken.push(format!("{file}:{}: {path}: take a clock::Clock, so that tests can set the time", found.line));
        }
    }
    for found in scan.macros.iter().filter(product) {
        let name = found.path.join("");
        match name.as_str() {
            name if PRINTING.contains(&name) && !may(PRINT) => {
                broken.push(format!(
                    "{file}:{}: {name}!: only the command line prints; give it to the caller",
                    found.line
                ));
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
