use super::{DISK, PRINT, TIME, unused_permissions, violations};
use crate::tree::sources;

/// A tree with `text` in a file of a place (`member` or `member::module`), and what is wrong with
/// it.
fn with(place: &str, text: &str) -> Vec<String> {
    let (member, module) = place.split_once("::").unwrap_or((place, "part"));
    let folder = if member == "main" { "src".to_owned() } else { format!("src/{member}") };
    let root = format!("{folder}/{}.rs", if member == "main" { "main" } else { "lib" });
    violations(&sources([(&root, &format!("mod {module};")), (&format!("{folder}/{module}.rs"), text)]))
}

#[track_caller]
fn assert_one(broken: &[String], expected: &str) {
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert!(broken[0].contains(expected), "{broken:?}");
}

#[test]
fn calls_have_their_places() {
    let cases = [
        ("use std::fs;", DISK, "touch the disk"),
        ("use std::{fs::File, io};", DISK, "touch the disk"),
        ("fn f() { tokio::fs::read(x) }", DISK, "touch the disk"),
        ("fn f() { File::open(x) }", DISK, "touch the disk"),
        ("fn f() { Instant::now() }", TIME, "clock::Clock"),
        ("fn f() { std::time::SystemTime::now() }", TIME, "clock::Clock"),
        ("fn f() { chrono::Utc::now() }", TIME, "clock::Clock"),
        ("fn f() { println!(\"\") }", PRINT, "only the command line prints"),
        ("fn f() { std::eprintln!(\"\") }", PRINT, "only the command line prints"),
        ("fn f() { todo!() }", &[], "finish it"),
        ("fn f() { unimplemented!(\"x\") }", &[], "finish it"),
        ("fn f() { dbg!(x) }", &[], "finish it"),
    ];
    let places = ["base", "base::clock", "model", "model::files", "storage", "formats", "sql", "command", "main"];
    for (text, free, expected) in cases {
        for place in places {
            let broken = with(place, text);
            if free.contains(&place) {
                assert!(broken.is_empty(), "{place}: {broken:?}");
            } else {
                assert_one(&broken, expected);
            }
            assert!(with(place, &format!("#[cfg(test)]\nmod tests {{ {text} }}")).is_empty(), "{place}: {text}");
            assert!(with(place, &format!("// {text}\nconst X: &str = r#\"{text}\"#;")).is_empty(), "{place}: {text}");
        }
    }
}

#[test]
fn permissions_that_nobody_uses_are_found() {
    let used = [
        ("src/main.rs", "fn main() { eprintln!() }"),
        ("src/base/lib.rs", "pub mod clock;"),
        ("src/base/clock.rs", "fn f() { Instant::now() }"),
        ("src/model/lib.rs", "pub mod files;"),
        ("src/model/files.rs", "use std::fs;"),
        ("src/formats/lib.rs", "use std::fs;"),
        ("src/command/lib.rs", "use std::fs; fn f() { println!(); Instant::now() }"),
    ];
    assert_eq!(unused_permissions(&sources(used)), [""; 0]);
    let mut less = used;
    less[3].1 = "pub mod files; use std::fs;";
    less[4].1 = "";
    assert_one(&unused_permissions(&sources(less)), "model::files is permitted to touch the disk");
    less[4].1 = "#[cfg(test)]\nmod tests { use std::fs; }";
    assert_eq!(unused_permissions(&sources(less)).len(), 1);
}

#[test]
fn what_is_refused_everywhere() {
    assert_one(&with("model", "#[cfg(test)]\nmod tests { fn f() { unsafe { g() } } }"), "part.rs:2: unsafe code");
    assert_one(&with("model", "fn f() {} // TODO: more"), "part.rs:1: TODO");
    assert_one(&with("model", "/* FIXME */"), "part.rs:1: FIXME");
    assert!(with("model", "fn f() { TODOS }").is_empty());
    assert!(with("model", &"\n".repeat(700)).is_empty());
    assert_one(&with("model", &"\n".repeat(701)), "701 lines");
    let wide = "x".repeat(97);
    assert!(with("model", &format!("// {wide}\n/// | {wide}\n/// ```\n/// {wide}\n/// ```\nfn f() {{}}")).is_empty());
    assert_one(
        &with("model", &format!("/// ```\n/// a\n/// ```\n/// {wide}\nfn f() {{}}")),
        "part.rs:4: a comment beyond",
    );
    for name in ["utils", "common", "helpers", "misc"] {
        assert_one(&with(&format!("model::{name}"), ""), &format!("\"{name}\" says nothing"));
        let (folder, declared) = (format!("src/model/{name}/mod.rs"), format!("mod {name};"));
        let tree = sources([("src/model/lib.rs", &declared), (&folder, "")]);
        assert_one(&violations(&tree), &format!("\"{name}\" says nothing"));
    }
    let lost = sources([("src/model/lib.rs", ""), ("src/model/lost.rs", "")]);
    assert_one(&violations(&lost), "src/model/lost.rs: no module declares this file");
}

#[test]
fn files_for_tests_may_call_what_they_like() {
    let text = "fn f() { println!(); std::fs::read(x); Instant::now() }";
    let tree = sources([
        ("src/model/lib.rs", "mod key;\n#[cfg(test)]\nmod made;"),
        ("src/model/key.rs", "#[cfg(test)]\nmod tests;"),
        ("src/model/key/tests.rs", text),
        ("src/model/made.rs", text),
    ]);
    assert_eq!(violations(&tree), [""; 0]);
}
