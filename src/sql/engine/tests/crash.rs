//! Stopping at every write, sync and rename of an import.

use std::sync::Arc;

use super::{entities, import, open, rows};
use crate::engine::Engine;
use crate::session::{Result, SqlState};
use futures::executor::block_on;
use rowkey_model::TableName;
use rowkey_model::files::fault::{AfterCrash, Fault, FaultPlan, FaultStore};
use rowkey_model::files::{FileStore, MemoryStore};
use rowkey_storage::{CommentObject, Edit, ViewColumn};

/// Twelve entities over three partitions; `version` changes half of them.
fn export(version: u32) -> String {
    let mut text = String::new();
    for i in 0..12 {
        let value = if i % 2 == 0 { version } else { 0 };
        text.push_str(&format!("{{\"PartitionKey\":\"p{}\",\"RowKey\":\"{i:03}\",\"Value\":{value}}}\n", i / 4));
    }
    text
}

/// Bytes so few that the import writes several files.
const FILE_BYTES: usize = 200;

#[test]
fn a_stop_at_any_step_of_an_import_leaves_the_old_table_or_the_new_one() {
    let base = MemoryStore::new();
    let engine = open(Arc::new(base.clone())).expect("opens");
    import(&engine, "People", &export(1), FILE_BYTES).expect("imports");
    let old = entities(&engine, "People");
    drop(engine);
    let base = MemoryStore::with_files(base.files());

    let whole = Arc::new(FaultStore::over(&base, FaultPlan::none()));
    let engine = open(Arc::clone(&whole) as Arc<dyn FileStore>).expect("opens");
    let before = whole.operations();
    let report = import(&engine, "People", &export(2), FILE_BYTES).expect("imports");
    assert_eq!((report.replaced, report.unchanged, report.inserted), (6, 6, 0));
    let new = entities(&engine, "People");
    let steps = whole.operations();
    drop(engine);
    assert!(steps > before + 10, "an import of several files has many steps, this had {}", steps - before);
    assert_ne!(old, new);

    let import = |engine: &Engine| import(engine, "People", &export(2), FILE_BYTES).map(|_| ());
    each_crash(&base, steps, import, |engine, imported, crash| {
        let found = entities(engine, "People");
        if imported {
            assert_eq!(found, new, "{crash}: acknowledged");
        } else {
            assert!(found == old || found == new, "{crash}: neither old nor new");
        }
        let report =
            block_on(rowkey_storage::check(engine.store().files(), &engine.store().snapshot())).expect("reads");
        assert_eq!(report.findings, [], "{crash}");
    });
}

/// Stops at each of so many steps of what is done to a store, in each way. `check` has an engine
/// over what is left, whether all had succeeded, and what happened.
pub(super) fn each_crash(
    base: &MemoryStore,
    steps: u64,
    act: impl Fn(&Engine) -> Result<()>,
    check: impl Fn(&Engine, bool, &str),
) {
    for fault in [Fault::Stop, Fault::Tear, Fault::Fail(std::io::ErrorKind::StorageFull)] {
        for n in 1..=steps {
            let failing = Arc::new(FaultStore::over(base, FaultPlan::at(n, fault)));
            let done = open(Arc::clone(&failing) as Arc<dyn FileStore>).and_then(|engine| act(&engine));
            for mode in [AfterCrash::LoseUnsynced, AfterCrash::KeepUnsynced, AfterCrash::TearUnsynced(n)] {
                let crash = format!("{fault:?} at {n}, {mode:?}");
                let engine =
                    open(Arc::new(failing.after_crash(mode))).unwrap_or_else(|error| panic!("{crash}: {error}"));
                check(&engine, done.is_ok(), &crash);
            }
        }
    }
}

#[test]
fn a_first_import_that_fails_leaves_no_table() {
    let whole = Arc::new(FaultStore::new(FaultPlan::none()));
    let engine = open(Arc::clone(&whole) as Arc<dyn FileStore>).expect("opens");
    import(&engine, "People", &export(1), FILE_BYTES).expect("imports");
    let new = entities(&engine, "People");
    let steps = whole.operations();
    drop(engine);
    for n in 1..=steps {
        let failing = Arc::new(FaultStore::new(FaultPlan::at(n, Fault::Stop)));
        let imported = open(Arc::clone(&failing) as Arc<dyn FileStore>)
            .and_then(|engine| import(&engine, "People", &export(1), FILE_BYTES).map(|_| ()));
        let engine = open(Arc::new(failing.after_crash(AfterCrash::LoseUnsynced)))
            .unwrap_or_else(|error| panic!("at {n}: {error}"));
        let found = entities(&engine, "People");
        assert!(found == new || (found.is_none() && imported.is_err()), "at {n}: {found:?}");
    }
}

/// A view on table `People` and a comment on it, as one change.
fn define(engine: &Engine, text: &str) -> Result<()> {
    let (account, snapshot) = (engine.account().as_str().to_owned(), engine.store().snapshot());
    let name = TableName::parse("People").expect("a table name");
    let table = snapshot.catalog.table(engine.account(), &name).expect("a table").id;
    let id = snapshot.catalog.next_table_id();
    let column = ViewColumn { name: "PartitionKey".to_owned(), postgres_type: "text".to_owned(), source: None };
    let view = Edit::CreateView {
        id,
        account: account.clone(),
        name: "people_keys".to_owned(),
        sql: "SELECT \"PartitionKey\" FROM \"People\"".to_owned(),
        columns: vec![column],
        reads: vec![table],
        literals: None,
        replaces: false,
    };
    let comment = Edit::SetComment { account, object: CommentObject::View(id), text: Some(text.to_owned()) };
    Ok(engine.store().commit(&[view, comment]).map(|_| ())?)
}

/// Name and comment of the only view there is.
fn defined(engine: &Engine) -> Option<(String, Option<String>)> {
    let catalog = engine.store().snapshot().catalog;
    let view = catalog.views().next()?;
    let comment = catalog.comment(engine.account(), &CommentObject::View(view.id)).map(str::to_owned);
    Some((view.name.clone(), comment))
}

#[test]
fn a_stop_while_a_view_is_made_leaves_it_with_its_comment_or_not_at_all() {
    // A comment so long that a checkpoint follows.
    for text in ["short".to_owned(), "long ".repeat(300_000)] {
        let base = MemoryStore::new();
        let engine = open(Arc::new(base.clone())).expect("opens");
        import(&engine, "People", &export(1), FILE_BYTES).expect("imports");
        let people = entities(&engine, "People");
        drop(engine);
        let base = MemoryStore::with_files(base.files());

        let whole = Arc::new(FaultStore::over(&base, FaultPlan::none()));
        let engine = open(Arc::clone(&whole) as Arc<dyn FileStore>).expect("opens");
        define(&engine, &text).expect("makes a view");
        let wanted = Some(("people_keys".to_owned(), Some(text.clone())));
        assert_eq!(defined(&engine), wanted);
        drop(engine);
        let steps = whole.operations();
        let reopened = open(Arc::new(whole.after_crash(AfterCrash::LoseUnsynced))).expect("opens");
        assert_eq!(defined(&reopened), wanted);
        assert!(define(&reopened, &text).is_err(), "it is there already");

        each_crash(
            &base,
            steps,
            |engine| define(engine, &text),
            |engine, made, crash| {
                let found = defined(engine);
                assert!(found == wanted || (found.is_none() && !made), "{crash}");
                assert_eq!(entities(engine, "People"), people, "{crash}");
            },
        );
    }
}

#[test]
fn a_flipped_bit_in_a_run_file_is_found_by_check_and_harms_no_other_table() {
    let files = MemoryStore::new();
    let engine = open(Arc::new(files.clone())).expect("opens");
    import(&engine, "People", &export(1), 1 << 20).expect("imports");
    import(&engine, "Others", &export(2), 1 << 20).expect("imports");
    drop(engine);
    let mut content = files.files();
    let (path, damaged) = content.iter_mut().find(|(path, _)| path.contains("People.")).expect("a run file");
    let path = path.clone();
    damaged[20] ^= 0x10;
    let engine = open(Arc::new(MemoryStore::with_files(content))).expect("opens");
    let report = block_on(rowkey_storage::check(engine.store().files(), &engine.store().snapshot())).expect("reads");
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert_eq!(report.findings[0].path, path);
    assert_eq!(entities(&engine, "Others").map(|found| found.len()), Some(12));
}

#[test]
fn a_flipped_bit_never_becomes_another_answer() {
    let files = MemoryStore::new();
    let engine = open(Arc::new(files.clone())).expect("opens");
    import(&engine, "People", &export(1), 1 << 20).expect("imports");
    let whole = entities(&engine, "People");
    drop(engine);
    let content = files.files();
    let path = content.keys().find(|path| path.contains("People.")).expect("a run file").clone();
    for at in 0..content[&path].len() {
        let mut damaged = content.clone();
        damaged.entry(path.clone()).and_modify(|bytes| bytes[at] ^= 0x04);
        let engine = open(Arc::new(MemoryStore::with_files(damaged))).expect("opens");
        let answer = rows(&mut engine.own_session().expect("a session"), "SELECT * FROM People ORDER BY 1, 2")
            .expect_err("refused");
        assert_eq!(answer.sqlstate(), SqlState::DATA_CORRUPTED, "byte {at}: {answer}");
        assert!(answer.to_string().contains(&path), "byte {at}: {answer}");
        let error = import(&engine, "People", &export(2), 1 << 20).expect_err("refused");
        assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED, "byte {at}: {error}");
    }
    assert_eq!(whole.map(|found| found.len()), Some(12));
}

#[test]
fn tables_without_a_log_are_refused_and_kept() {
    let files = MemoryStore::new();
    let engine = open(Arc::new(files.clone())).expect("opens");
    import(&engine, "People", &export(1), 1 << 20).expect("imports");
    drop(engine);
    let mut content = files.files();
    content.retain(|path, _| !path.starts_with("log/"));
    let left = MemoryStore::with_files(content.clone());
    let error = open(Arc::new(left.clone())).expect_err("refused");
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED, "{error}");
    assert!(content.keys().all(|path| left.files().contains_key(path)), "nothing is removed");
}
