use super::{LAYERS, violations};
use crate::tree::sources;

/// A tree with `text` in `src/<module>/part.rs`, and what is wrong with it.
fn with(module: &str, text: &str) -> Vec<String> {
    let file = format!("src/{module}/part.rs");
    let folder = format!("src/{module}/mod.rs");
    let root = format!("pub mod {module};");
    violations(&sources([("src/lib.rs", &root), (&folder, "mod part;"), (&file, text)]))
}

#[track_caller]
fn assert_one(broken: &[String], expected: &str) {
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert!(broken[0].contains(expected), "{broken:?}");
}

#[test]
fn every_import_that_goes_up_is_found() {
    for (at, (module, may_use)) in LAYERS.iter().enumerate() {
        for (other_at, (other, _)) in LAYERS.iter().enumerate() {
            let allowed = at == other_at || may_use.contains(other);
            assert!(!allowed || other_at <= at, "{module} uses {other}, which is above it");
            let texts = [
                format!("\nuse crate::{other}::X;"),
                format!("\nuse crate::{{{other}::{{X, Y as Z}}}};").replace(", Y as Z", ""),
                format!("\nfn f(x: crate::{other}::X) {{}}"),
                format!("\nuse super::super::{other}::X;"),
                format!("\n#[cfg(test)]\nmod tests {{ use crate::{other}::X; }}"),
            ];
            for text in texts {
                let broken = with(module, &text);
                if allowed {
                    assert!(broken.is_empty(), "{text}: {broken:?}");
                } else {
                    assert_one(&broken, &format!("/part.rs:{}: {module} imports ", text.lines().count()));
                    assert_one(&broken, &format!("{module} may use: "));
                }
            }
        }
    }
}

#[test]
fn the_message_says_what_may_be_used() {
    let expected = "src/clock/part.rs:1: clock imports crate::storage::Log; clock may use: model";
    assert_eq!(with("clock", "use crate::storage::Log;"), [expected]);
    assert_one(&with("model", "use crate::clock::Clock;"), "model may use: nothing");
}

#[test]
fn names_at_the_root_belong_to_the_front_ends() {
    assert!(with("frontend", "use crate::Database;").is_empty());
    assert_one(&with("engine", "use crate::Database;"), "engine imports crate::Database");
    assert_one(&with("engine", "fn f() { rowkey::frontend::g() }"), "engine imports rowkey::frontend::g");
}

#[test]
fn a_module_outside_the_table_is_refused() {
    assert_one(
        &violations(&sources([("src/lib.rs", "mod settings;"), ("src/settings.rs", "")])),
        "\"settings\" is not in",
    );
}

#[test]
fn the_binary_uses_the_front_ends() {
    let with = |text| violations(&sources([("src/lib.rs", ""), ("src/main.rs", text)]));
    assert!(with("use rowkey::frontend::command; fn main() { rowkey::Database::open(); println!() }").is_empty());
    assert_one(&with("\nuse rowkey::storage::Log;"), "src/main.rs:2: main imports rowkey::storage::Log");
}

#[test]
fn climbing_within_a_layer_is_free() {
    assert!(with("model", "mod a { use super::super::x::y; fn f() { super::g::h() } }").is_empty());
    assert_one(
        &with("model", "mod a { use super::super::super::rows::Rows; }"),
        "model imports super::super::super::rows",
    );
}

#[test]
fn calls_have_their_places() {
    let cases = [
        ("use std::fs;", &["files", "formats", "frontend"][..], "touch the disk"),
        ("use std::{fs::File, io};", &["files", "formats", "frontend"], "touch the disk"),
        ("fn f() { tokio::fs::read(x) }", &["files", "formats", "frontend"], "touch the disk"),
        ("fn f() { File::open(x) }", &["files", "formats", "frontend"], "touch the disk"),
        ("fn f() { Instant::now() }", &["clock", "frontend"], "clock::Clock"),
        ("fn f() { std::time::SystemTime::now() }", &["clock", "frontend"], "clock::Clock"),
        ("fn f() { chrono::Utc::now() }", &["clock", "frontend"], "clock::Clock"),
        ("fn f() { println!(\"\") }", &["frontend"], "only the front ends print"),
        ("fn f() { std::eprintln!(\"\") }", &["frontend"], "only the front ends print"),
        ("fn f() { todo!() }", &[], "finish it"),
        ("fn f() { unimplemented!(\"x\") }", &[], "finish it"),
        ("fn f() { dbg!(x) }", &[], "finish it"),
    ];
    for (text, free, expected) in cases {
        for (module, _) in LAYERS {
            let broken = with(module, text);
            if free.contains(&module) {
                assert!(broken.is_empty(), "{module}: {broken:?}");
            } else {
                assert_one(&broken, expected);
            }
            assert!(with(module, &format!("#[cfg(test)]\nmod tests {{ {text} }}")).is_empty(), "{module}: {text}");
            assert!(with(module, &format!("// {text}\nconst X: &str = r#\"{text}\"#;")).is_empty(), "{module}: {text}");
        }
    }
}

#[test]
fn what_is_refused_everywhere() {
    assert_one(&with("model", "#[cfg(test)]\nmod tests { fn f() { unsafe { g() } } }"), "part.rs:2: unsafe code");
    assert_one(&with("model", "fn f() {} // TODO: more"), "part.rs:1: TODO");
    assert_one(&with("model", "/* FIXME */"), "part.rs:1: FIXME");
    assert!(with("model", "fn f() { TODOS }").is_empty());
    assert!(with("model", &"\n".repeat(700)).is_empty());
    assert_one(&with("model", &"\n".repeat(701)), "701 lines");
    for name in ["utils", "common", "helpers", "misc"] {
        let (file, folder) = (format!("src/model/{name}.rs"), format!("src/model/{name}/mod.rs"));
        let declared = format!("mod {name};");
        for file in [file, folder] {
            let tree = sources([("src/lib.rs", "mod model;"), ("src/model/mod.rs", &declared), (&file, "")]);
            assert_one(&violations(&tree), &format!("\"{name}\" says nothing"));
        }
    }
    let lost = sources([("src/lib.rs", "mod model;"), ("src/model.rs", ""), ("src/model/lost.rs", "")]);
    assert_one(&violations(&lost), "src/model/lost.rs: no module declares this file");
}

#[test]
fn files_for_tests_may_call_what_they_like_and_import_what_their_layer_may() {
    let tree = |text| {
        sources([
            ("src/lib.rs", "mod model;"),
            ("src/model/mod.rs", "mod key;\n#[cfg(test)]\nmod made;"),
            ("src/model/key.rs", "#[cfg(test)]\nmod tests;"),
            ("src/model/key/tests.rs", text),
            ("src/model/made.rs", text),
        ])
    };
    assert!(violations(&tree("fn f() { println!(); std::fs::read(x); Instant::now() }")).is_empty());
    assert_eq!(violations(&tree("use crate::rows::Rows;")).len(), 2);
}
