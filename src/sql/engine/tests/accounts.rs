//! Several accounts in one data folder.

use std::io::Cursor;
use std::sync::Arc;

use futures::executor::block_on;

use super::{open, rows};
use crate::engine::{Engine, EntityOperation, EntityQuery, ImportOptions, Principal};
use crate::session::{Settings, SqlState};
use rowkey_formats::Source;
use rowkey_model::files::MemoryStore;
use rowkey_model::{AccountName, EntityBuilder, Key, KeySet, TableName};

fn account(name: &str) -> AccountName {
    AccountName::parse(name).expect("an account")
}

fn import_one(engine: &Engine, account: &AccountName, table: &str, number: i32) {
    let service = engine.entities_of(account, &Principal::process());
    let line = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"N\":{number}}}");
    let source = Source::stream("one", Box::new(Cursor::new(line.into_bytes())));
    service.import_blocking(table, vec![source], &ImportOptions::default()).expect("imports");
}

#[test]
fn tables_of_one_name_are_other_tables_in_each_account() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let (first, second) = (engine.account().clone(), account("second"));
    assert_eq!(engine.account_names(), ["devstoreaccount1"]);
    assert_eq!(engine.find_account("second"), None, "it begins with its first table");
    import_one(&engine, &first, "Things", 1);
    import_one(&engine, &second, "Things", 2);
    assert_eq!(engine.account_names(), ["devstoreaccount1", "second"]);
    assert_eq!(engine.find_account("second"), Some(second.clone()));
    let mut sessions = [&first, &second].map(|account| engine.own_session_in(account).expect("a session"));
    for _ in 0..2 {
        for (session, (name, number)) in sessions.iter_mut().zip([("devstoreaccount1", "1"), ("second", "2")]) {
            // The same texts: what is kept of them is of one account.
            assert_eq!(rows(session, "SELECT n FROM things").expect("rows"), [number]);
            let by_key = "SELECT n FROM things WHERE partitionkey = 'p' AND rowkey = 'r'";
            assert_eq!(rows(session, by_key).expect("rows"), [number]);
            assert_eq!(rows(session, "SELECT current_database()").expect("rows"), [name]);
            assert_eq!(
                rows(session, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'")
                    .expect("rows"),
                ["1"]
            );
            let databases = rows(session, "SELECT datname FROM pg_database ORDER BY 1").expect("rows");
            assert_eq!(databases, ["devstoreaccount1", "second"]);
        }
    }
    let [mut one, mut other] = sessions;
    rows(&mut other, "UPDATE things SET n = 20").expect("an update");
    rows(&mut other, "CREATE TABLE another (a int)").expect("a table");
    assert_eq!(rows(&mut one, "SELECT n FROM things").expect("rows"), ["1"]);
    assert_eq!(rows(&mut other, "SELECT n FROM things").expect("rows"), ["20"]);
    assert_eq!(rows(&mut one, "SELECT * FROM another").expect_err("not here").sqlstate(), SqlState::UNDEFINED_TABLE);
    rows(&mut other, "DROP TABLE things, another").expect("dropped");
    assert_eq!(engine.account_names(), ["devstoreaccount1"]);
    assert_eq!(rows(&mut one, "SELECT n FROM things").expect("rows"), ["1"]);
}

#[test]
fn a_service_reads_and_writes_its_own_account_only() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let principal = Principal::new("somebody");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let [one, other] = ["one", "other"].map(|name| engine.entities_of(&account(name), &principal));
    assert_eq!(one.principal().name(), "somebody");
    let name = TableName::parse("Things").expect("a name");
    let created = runtime.block_on(one.create_table(&name)).expect("a table");
    assert_eq!(one.table_id("things").expect("a table"), created);
    assert_eq!(runtime.block_on(one.create_table(&name)).expect_err("twice").sqlstate(), SqlState::DUPLICATE_TABLE);
    assert_eq!(other.table_id("things").expect_err("not there").sqlstate(), SqlState::UNDEFINED_TABLE);
    let entity = EntityBuilder::new(Key::new("p", "r")).property("N", 1).build().expect("an entity");
    block_on(one.operate(created, &EntityOperation::Insert(entity))).expect("an insert");
    let query = EntityQuery::new(KeySet::all());
    assert_eq!(block_on(one.page(created, &query)).expect("a page").entities.len(), 1);
    // The number of another account's table leads to nothing.
    assert_eq!(block_on(other.page(created, &query)).expect_err("not here").sqlstate(), SqlState::UNDEFINED_TABLE);
    let key = Key::new("p", "r");
    assert!(block_on(other.get(created, key.as_ref())).is_err());
    let entity = EntityBuilder::new(key.clone()).build().expect("an entity");
    let merged = block_on(other.operate(created, &EntityOperation::InsertOrMerge(entity)));
    assert_eq!(merged.expect_err("not here").sqlstate(), SqlState::UNDEFINED_TABLE);
    assert!(runtime.block_on(other.drop_table(created)).is_err());
    assert!(runtime.block_on(other.vacuum(created, true)).is_err());
    assert_eq!(one.table_names(), ["Things"]);
    runtime.block_on(one.drop_table(created)).expect("dropped");
}

#[test]
fn more_accounts_than_are_kept_have_sessions_at_a_time() {
    let engine = open(Arc::new(MemoryStore::new())).expect("opens");
    let accounts: Vec<AccountName> = (0..40).map(|number| account(&format!("acc{number:02}"))).collect();
    let mut sessions: Vec<_> = accounts
        .iter()
        .map(|account| engine.session(account, &Principal::new("me"), "", Settings::new([]).expect("settings")))
        .map(|session| session.expect("a session"))
        .collect();
    for session in &mut sessions {
        rows(session, "CREATE TABLE things (n int)").expect("a table");
    }
    for (session, account) in sessions.iter_mut().zip(&accounts) {
        let found = rows(session, "SELECT current_database(), current_user").expect("rows");
        assert_eq!(found, [format!("{account}|me")]);
        assert_eq!(rows(session, "SELECT count(*) FROM things").expect("rows"), ["0"]);
    }
    assert_eq!(engine.account_names().len(), 41);
}
