//! Damage of every kind is named by `rowkey check`, and `--repair` makes the rest usable.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exports::command::{rowkey, well};
use crate::exports::lossless::files_below;
use rowkey_base::testing::Scratch;

const ENTITIES: usize = 400;

/// A folder with two tables; one has several range partitions' worth of entities, and recent
/// writes.
fn filled(folder: &Path) -> String {
    let data = folder.join("data").to_str().expect("text").to_owned();
    for table in ["Broken", "Whole"] {
        let lines: String = (0..ENTITIES)
            .map(|i| {
                format!(
                    "{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{i:05}\",\"Number\":{i},\"Text\":\"text {i}\"}}\n",
                    i / 100
                )
            })
            .collect();
        let export = folder.join(format!("{table}.ndjson"));
        fs::write(&export, lines).expect("writes");
        well(&["import", "--data", &data, "--table", table, export.to_str().expect("text")]);
    }
    data
}

fn run_file(data: &str, table: &str) -> PathBuf {
    let files = files_below(&Path::new(data).join("tables"));
    let is_of = |file: &PathBuf| file.display().to_string().contains(&format!("/{table}."));
    files.into_iter().find(is_of).expect("a run file")
}

fn count(data: &str, table: &str) -> String {
    well(&["sql", "--data", data, "--output", "csv", &format!("select count(number) from {table}")]).out
}

#[test]
fn damaged_files_are_named_and_taken_out_of_use() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Option<Damage>, &str); 6] = [
        ("a flipped bit", Some(|bytes| bytes[200] ^= 4), "its checksum is"),
        (
            "a flipped bit in the footer",
            Some(|bytes| {
                let at = bytes.len() - 100;
                bytes[at] ^= 4;
            }),
            "its checksum is",
        ),
        ("cut", Some(|bytes| bytes.truncate(bytes.len() / 2)), "the manifest says"),
        ("longer", Some(|bytes| bytes.push(0)), "the manifest says"),
        ("empty", Some(Vec::clear), "it has 0 bytes"),
        ("missing", None, "there is no such file"),
    ];
    for (name, damage, wanted) in damages {
        let scratch = Scratch::new("damage").expect("a folder");
        let data = filled(scratch.path());
        let whole = well(&["check", "--data", &data]);
        assert!(whole.out.ends_with("800 entities: nothing is wrong\n"), "{}", whole.out);
        let file = run_file(&data, "Broken");
        let mut bytes = fs::read(&file).expect("a file");
        match damage {
            Some(damage) => {
                damage(&mut bytes);
                fs::write(&file, &bytes).expect("writes");
            }
            None => fs::remove_file(&file).expect("removes"),
        }
        let found = rowkey(&["check", "--data", &data]);
        assert_eq!(found.code, 1, "{name}: {}{}", found.out, found.err);
        let relative = file.strip_prefix(&data).expect("below").display().to_string();
        assert!(found.out.contains(&relative) && found.out.contains(wanted), "{name}: {}", found.out);
        let affected =
            "400 live rows of table Broken, range partition 0, keys (\"p0\", \"00000\") to (\"p3\", \"00399\")";
        assert!(found.out.contains(affected), "{name}: {}", found.out);
        let repaired = rowkey(&["check", "--repair", "--data", &data]);
        assert_eq!(repaired.code, 1, "{name}: {}{}", repaired.out, repaired.err);
        assert!(repaired.out.contains(affected) && repaired.out.contains("repaired: "), "{name}: {}", repaired.out);
        assert!(repaired.out.ends_with("400 entities: nothing is wrong\n"), "{name}: {}", repaired.out);
        let kept = Path::new(&data).join("quarantine").join(&relative);
        match damage {
            Some(_) => assert_eq!(fs::read(&kept).expect("kept"), bytes, "{name}"),
            None => assert!(!kept.exists()),
        }
        let again = rowkey(&["check", "--data", &data]);
        assert_eq!(again.code, 0, "{name}: {}{}", again.out, again.err);
        assert_eq!(
            (count(&data, "Broken"), count(&data, "Whole")),
            ("count\n0\n".into(), "count\n400\n".into()),
            "{name}"
        );
        // The table takes entities again.
        let export = scratch.path().join("Broken.ndjson").to_str().expect("text").to_owned();
        well(&["import", "--data", &data, "--table", "Broken", &export]);
        assert_eq!(count(&data, "Broken"), "count\n400\n", "{name}");
        match damage {
            Some(_) => assert_eq!(fs::read(&kept).expect("still kept"), bytes, "{name}"),
            None => assert!(!kept.exists()),
        }
    }
}

/// Folder with writes that are in the log alone, some before and some behind the place that is
/// damaged.
fn with_writes(folder: &Path) -> String {
    let data = filled(folder);
    for i in 0..6 {
        let sql = format!("insert into Broken (partitionkey, rowkey, number) values ('new', '{i}', {i})");
        well(&["sql", "--data", &data, &sql]);
    }
    data
}

fn segments(data: &str) -> Vec<PathBuf> {
    let mut files = files_below(&Path::new(data).join("log"));
    files.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
    files
}

#[test]
fn a_damaged_log_is_cut_and_kept() {
    let scratch = Scratch::new("damage").expect("a folder");
    let data = with_writes(scratch.path());
    let segment = segments(&data).pop().expect("a segment");
    let mut bytes = fs::read(&segment).expect("a segment");
    // The key of the fourth insert: p 'new' row '3'.
    let mut places = (0..bytes.len() - 8).filter(|at| bytes[*at..].starts_with(b"\x03\x00new\x01\x003"));
    let at = places.next().expect("the fourth insert");
    bytes[at + 3] ^= 1;
    fs::write(&segment, &bytes).expect("writes");
    let refused = rowkey(&["check", "--data", &data]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.err.contains("is damaged at byte") && refused.err.contains("--repair"), "{}", refused.err);
    assert_eq!(fs::read(&segment).expect("a segment"), bytes, "check changes nothing");
    let repaired = rowkey(&["check", "--repair", "--data", &data]);
    assert_eq!(repaired.code, 1, "{}{}", repaired.out, repaired.err);
    let name = segment.strip_prefix(&data).expect("below").display().to_string();
    for wanted in [
        "does not match its checksum",
        "lost: records 11 to 15, 2 intact records among them",
        "lost: 2 writes to table Broken",
        &format!("kept in quarantine/{name}"),
        "803 entities",
        "nothing is wrong",
    ] {
        assert!(repaired.out.contains(wanted), "{wanted}: {}", repaired.out);
    }
    assert_eq!(fs::read(Path::new(&data).join("quarantine").join(&name)).expect("kept"), bytes);
    let found =
        well(&["sql", "--data", &data, "--output", "csv", "select rowkey from Broken where partitionkey = 'new'"]);
    assert_eq!(found.out, "RowKey\n0\n1\n2\n");
    // And it goes on.
    well(&["sql", "--data", &data, "insert into Broken (partitionkey, rowkey, number) values ('new', '9', 9)"]);
    assert_eq!(rowkey(&["check", "--data", &data]).code, 0);
    assert_eq!(count(&data, "Broken"), "count\n404\n");
}

#[test]
fn a_log_that_lost_an_import_keeps_its_files() {
    let scratch = Scratch::new("damage").expect("a folder");
    let data = filled(scratch.path());
    let segment = segments(&data).pop().expect("a segment");
    let mut bytes = fs::read(&segment).expect("a segment");
    // The record of the second import names its table.
    let at = bytes.windows(5).position(|text| text == b"Whole").expect("the second import");
    bytes[at] ^= 1;
    fs::write(&segment, &bytes).expect("writes");
    assert_eq!(rowkey(&["check", "--data", &data]).code, 1);
    let repaired = rowkey(&["check", "--repair", "--data", &data]);
    assert!(repaired.out.contains("no longer part of a table, and kept in quarantine/tables/"), "{}", repaired.out);
    assert!(repaired.out.contains("400 entities: nothing is wrong"), "{}", repaired.out);
    assert_eq!(count(&data, "Broken"), "count\n400\n");
    // What was lost comes back from the quarantine.
    let kept = Path::new(&data).join("quarantine/tables").to_str().expect("text").to_owned();
    well(&["import", "--data", &data, "--table", "Whole", &kept]);
    assert_eq!(count(&data, "Whole"), "count\n400\n");
    assert_eq!(rowkey(&["check", "--data", &data]).code, 0);
}

#[test]
fn segments_that_are_gone_or_spoilt() {
    for (name, spoil) in [
        (
            "header",
            (|path: &Path| {
                let mut bytes = fs::read(path).expect("a segment");
                bytes[3] ^= 1;
                fs::write(path, bytes).expect("writes");
            }) as fn(&Path),
        ),
        ("cut", |path| {
            let bytes = fs::read(path).expect("a segment");
            fs::write(path, &bytes[..bytes.len() / 2]).expect("writes");
        }),
    ] {
        let scratch = Scratch::new("damage").expect("a folder");
        let data = with_writes(scratch.path());
        spoil(&segments(&data).pop().expect("a segment"));
        let refused = rowkey(&["check", "--data", &data]);
        assert!(refused.code == 1 && refused.err.contains("is damaged at byte"), "{name}: {}", refused.err);
        let repaired = rowkey(&["check", "--repair", "--data", &data]);
        assert!(repaired.out.contains("kept in quarantine/log/"), "{name}: {}{}", repaired.out, repaired.err);
        assert_eq!(rowkey(&["check", "--data", &data]).code, 0, "{name}");
        well(&["sql", "--data", &data, "select 1"]);
        let kept = files_below(&Path::new(&data).join("quarantine"));
        assert!(!kept.is_empty(), "{name}");
    }
}

#[test]
fn a_folder_without_a_log_says_how_its_tables_come_back() {
    let scratch = Scratch::new("damage").expect("a folder");
    let data = filled(scratch.path());
    for folder in ["log", "checkpoint"] {
        drop(fs::remove_dir_all(Path::new(&data).join(folder)));
    }
    let folder = run_file(&data, "Broken").parent().expect("a folder").display().to_string();
    for arguments in [
        &["check", "--data", &data][..],
        &["check", "--repair", "--data", &data],
        &["sql", "--data", &data, "select 1"],
    ] {
        let run = rowkey(arguments);
        assert_eq!(run.code, 1, "{arguments:?}: {}", run.out);
        assert!(
            run.err.contains("log is empty or missing") && !run.err.contains("--repair"),
            "{arguments:?}: {}",
            run.err
        );
        let hint = format!("rowkey import --data NEW --table Broken {folder}: ");
        assert!(run.err.contains(&hint), "{hint}: {}", run.err);
    }
    let again = scratch.path().join("again").to_str().expect("text").to_owned();
    well(&["import", "--data", &again, "--table", "Broken", &folder]);
    assert_eq!(count(&again, "Broken"), "count\n400\n");
}

#[test]
fn a_log_whose_length_or_header_alone_is_wrong_loses_nothing() {
    let damages: [fn(&mut Vec<u8>); 3] = [
        |bytes| {
            bytes.pop();
        },
        |bytes| bytes.extend([0; 100]),
        |bytes| bytes[10] ^= 0xff,
    ];
    for damage in damages {
        let scratch = Scratch::new("damage").expect("a folder");
        let data = with_writes(scratch.path());
        let segment = segments(&data).pop().expect("a segment");
        let mut bytes = fs::read(&segment).expect("a segment");
        damage(&mut bytes);
        fs::write(&segment, &bytes).expect("writes");
        assert_eq!(rowkey(&["check", "--data", &data]).code, 1);
        let repaired = rowkey(&["check", "--repair", "--data", &data]);
        assert!(repaired.out.contains("nothing is lost"), "{}{}", repaired.out, repaired.err);
        assert!(!repaired.out.contains("  lost:"), "{}", repaired.out);
        assert_eq!(rowkey(&["check", "--data", &data]).code, 0);
        assert_eq!(count(&data, "Broken"), "count\n406\n");
        well(&["sql", "--data", &data, "insert into Broken (partitionkey, rowkey, number) values ('new', '9', 9)"]);
        assert_eq!(count(&data, "Broken"), "count\n407\n");
    }
}

#[test]
fn a_folder_without_data_is_not_found_well() {
    let scratch = Scratch::new("damage").expect("a folder");
    let folder = scratch.path().display().to_string();
    let checked = rowkey(&["check", "--data", &folder]);
    assert!(checked.code == 1 && checked.err.contains("is no data folder"), "{}{}", checked.out, checked.err);
    assert!(files_below(scratch.path()).is_empty());
}

/// Everything in a data folder.
fn stored(data: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(Path::new(data)).into_iter().filter(|file| !file.ends_with("rowkey.lock"));
    files.map(|file| (file.clone(), fs::read(&file).unwrap_or_default())).collect()
}

#[test]
fn too_few_descriptors_are_no_damage() {
    let scratch = Scratch::new("damage").expect("a folder");
    let data = filled(scratch.path());
    let before = stored(&data);
    let (mut refused, mut well) = (0, 0);
    for limit in 8..40 {
        let check = format!("ulimit -n {limit}; exec \"$0\" check --repair --data \"$1\"");
        let run = Command::new("sh").args(["-c", &check, env!("CARGO_BIN_EXE_rowkey"), &data]).output().expect("runs");
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert_eq!(stored(&data), before, "{limit}: {out}{err}");
        assert!(!out.contains("repaired") && !out.contains("quarantine"), "{limit}: {out}{err}");
        match run.status.success() {
            true => well += 1,
            false => refused += usize::from(err.contains("tables/") && err.contains("ulimit -n")),
        }
    }
    assert!(refused > 0 && well > 0, "{refused} refused at a file of a table, {well} well");
}

#[test]
fn a_file_that_nobody_may_read_is_no_damage() {
    let scratch = Scratch::new("damage").expect("a folder");
    let data = filled(scratch.path());
    let file = run_file(&data, "Whole");
    let aside = scratch.path().join("aside.parquet");
    // Another one is damaged indeed, and stays as it is all the same.
    let mut bytes = fs::read(run_file(&data, "Broken")).expect("a file");
    bytes[200] ^= 4;
    fs::write(run_file(&data, "Broken"), &bytes).expect("writes");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).expect("permissions");
    let is_refused = fs::File::open(&file).is_err();
    if !is_refused {
        // Not even root reads a link that leads to itself.
        fs::rename(&file, &aside).expect("renames");
        symlink(&file, &file).expect("a link");
    }
    let before = stored(&data);
    for arguments in [&["check", "--data", &data][..], &["check", "--repair", "--data", &data]] {
        let run = rowkey(arguments);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{arguments:?}: {}", run.err);
        let named = file.strip_prefix(&data).expect("it lies there").display();
        assert!(run.err.contains(&format!("cannot open {named}: ")), "{arguments:?}: {}", run.err);
        assert!(run.err.contains("what cannot be read is not taken for damaged"), "{arguments:?}: {}", run.err);
        assert_eq!(is_refused, run.err.contains("give this user access"), "{arguments:?}: {}", run.err);
        assert_eq!(stored(&data), before, "{arguments:?}");
    }
    if !is_refused {
        fs::rename(&aside, &file).expect("renames");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("permissions");
    let repaired = rowkey(&["check", "--repair", "--data", &data]);
    assert!(repaired.out.ends_with("400 entities: nothing is wrong\n"), "{}{}", repaired.out, repaired.err);
    assert_eq!((count(&data, "Broken"), count(&data, "Whole")), ("count\n0\n".into(), "count\n400\n".into()));
}

#[test]
fn a_missing_checkpoint_leads_to_no_empty_database() {
    let scratch = Scratch::new("damage").expect("a folder");
    let data = filled(scratch.path());
    let checkpoints = Path::new(&data).join("checkpoint");
    for round in 0..3 {
        let sql = format!(
            "insert into Whole (partitionkey, rowkey, text) select 'r{round}', n::text, repeat('x', 30000) from generate_series(1, 80) n; vacuum Whole"
        );
        well(&["sql", "--data", &data, &sql]);
    }
    assert_eq!(files_below(&checkpoints).len(), 2, "the newest and the one before");
    let rows = || well(&["sql", "--data", &data, "--output", "csv", "select count(*) as n from Whole"]).out;
    assert_eq!(rows(), "n\n640\n");

    // The one before, and the log behind it, do as well.
    let newest = files_below(&checkpoints).pop().expect("a checkpoint");
    let aside = scratch.path().join("aside.ckpt");
    fs::rename(&newest, &aside).expect("renames");
    let checked = rowkey(&["check", "--data", &data]);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    assert_eq!(rows(), "n\n640\n");
    fs::rename(&aside, &newest).expect("renames");

    // So they do for a damaged one, at the word of a repair.
    let mut bytes = fs::read(&newest).expect("a checkpoint");
    bytes[100] ^= 1;
    fs::write(&newest, &bytes).expect("writes");
    let refused = rowkey(&["sql", "--data", &data, "select 1"]);
    assert!(refused.code != 0 && refused.err.contains(".ckpt is damaged at byte"), "{}", refused.err);
    let repaired = rowkey(&["check", "--repair", "--data", &data]);
    assert!(repaired.out.contains("nothing is lost") && repaired.out.contains("in its place "), "{}", repaired.out);
    let name = newest.strip_prefix(&data).expect("below").display().to_string();
    assert!(repaired.out.contains(&format!("kept in quarantine/{name}")), "{}", repaired.out);
    assert_eq!(files_below(&checkpoints).len(), 1, "the one before is not touched");
    assert_eq!(rows(), "n\n640\n");

    for checkpoint in files_below(&checkpoints) {
        fs::remove_file(checkpoint).expect("removes");
    }
    let before = stored(&data);
    for arguments in [
        &["check", "--data", &data][..],
        &["check", "--repair", "--data", &data],
        &["sql", "--data", &data, "select 1"],
    ] {
        let run = rowkey(arguments);
        assert_eq!(run.code, 1, "{arguments:?}: {}", run.out);
        let named = run.err.contains(".ckpt is missing, or a checkpoint of a later record: ");
        assert!(named && run.err.contains("there is no checkpoint"), "{arguments:?}: {}", run.err);
        assert!(!run.err.contains("--repair") && run.err.contains("rowkey import --data NEW"), "{}", run.err);
        assert_eq!(stored(&data), before, "{arguments:?}");
    }
}
