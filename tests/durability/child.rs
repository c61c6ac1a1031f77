//! The process that is killed: writers that say on standard output what was acknowledged.

use std::io::Write;
use std::sync::Arc;

use rowkey::model::{Entity, EntityBuilder, Key};
use rowkey::{Database, EntityOperation, IfMatch, Table};

/// Where the child works; only set for it.
pub(crate) const FOLDER: &str = "ROWKEY_KILLED_FOLDER";
/// Writers beside one another, each in a partition of its own.
pub(crate) const WRITERS: usize = 6;
/// Entities of a group, which always hold the same number.
pub(crate) const GROUP: usize = 5;
pub(crate) const TABLE: &str = "Ledger";

pub(crate) fn partition(writer: usize) -> String {
    format!("writer-{writer}")
}

pub(crate) fn group_row(place: usize) -> String {
    format!("group-{place}")
}

fn entity(writer: usize, row: &str, number: i64) -> Entity {
    let key = Key::new(partition(writer), row);
    // Long enough that folds happen while writing.
    let text = "x".repeat(200);
    EntityBuilder::new(key).property("Number", number).property("Text", text).build().expect("an entity")
}

/// Not a test by itself: `kills` runs it in a process of its own.
#[test]
#[ignore = "the process that the kill loop kills"]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let db = Database::open(&folder).await.expect("opens");
        let table = match db.table(TABLE) {
            Ok(table) => table,
            Err(_) => db.create_table(TABLE).await.expect("a table"),
        };
        let table = Arc::new(table);
        let mut tasks = Vec::new();
        for writer in 0..WRITERS {
            let table = Arc::clone(&table);
            tasks.push(tokio::spawn(async move { write(&table, writer).await }));
        }
        for task in tasks {
            task.await.expect("a writer");
        }
    });
}

/// Numbers go up by one from what is there: an entity each, all of a group, and one that is deleted
/// and comes again.
async fn write(table: &Table, writer: usize) {
    let partition = partition(writer);
    let counter = table.get(&partition, "counter").await.expect("a read");
    let mut number = match counter.as_ref().and_then(|entity| entity.get("Number")) {
        Some(rowkey::model::Value::Int64(number)) => *number,
        _ => 0,
    };
    if number % 3 == 0 && number > 0 {
        // It may have been killed before this.
        delete(table, writer, number).await;
    }
    loop {
        number += 1;
        let single = entity(writer, &format!("single-{number:09}"), number);
        // The one before may have been killed between this and the group.
        table.insert_or_replace(&single).await.expect("an insert");
        acknowledged(writer, "single", number);
        let group = (0..GROUP).map(|place| EntityOperation::InsertOrReplace(entity(writer, &group_row(place), number)));
        let counter = EntityOperation::InsertOrMerge(entity(writer, "counter", number));
        let group: Vec<EntityOperation> = group.chain([counter]).collect();
        table.batch(&group).await.expect("a group");
        acknowledged(writer, "group", number);
        if number % 3 == 0 {
            // Every third single entity goes.
            delete(table, writer, number).await;
        }
    }
}

async fn delete(table: &Table, writer: usize, number: i64) {
    match table.delete(&partition(writer), &format!("single-{number:09}"), IfMatch::Any).await {
        Ok(_) => acknowledged(writer, "deleted", number),
        Err(error) => assert_eq!(error.sqlstate(), rowkey::SqlState::NO_DATA_FOUND),
    }
}

fn acknowledged(writer: usize, what: &str, number: i64) {
    let line = format!("ack {writer} {what} {number}\n");
    // One write, so that lines are whole or missing.
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).expect("the parent listens");
}
