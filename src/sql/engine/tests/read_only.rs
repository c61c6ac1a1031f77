//! A data folder that can only be read.

use std::fs;
use std::path::Path;

use futures::executor::block_on;

use super::{Engine, Options};
use crate::session::Error;
use rowkey_base::SqlState;

fn done(engine: &Engine, sql: &str) -> Result<Vec<u64>, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut session = engine.own_session()?;
        let mut answer = session.sql(sql, &[]).await?;
        let mut rows = Vec::new();
        while let Some(batch) = answer.next().await {
            let batch = batch?;
            rows.push(batch.num_rows() as u64);
        }
        Ok(rows)
    })
}

#[test]
fn a_folder_in_which_nothing_may_be_written_is_opened_for_reading() {
    let folder = std::env::temp_dir().join(format!("rowkey-engine-read-only-{}", std::process::id()));
    let location = folder.to_str().expect("text");
    let open = |may_write: bool| {
        block_on(Engine::open_where(location, Options::default(), move |asked| {
            assert_eq!(asked, Path::new(location));
            Ok(may_write)
        }))
    };
    let error = open(false).expect_err("it is not there, and cannot be made");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR, "{error}");
    assert!(!folder.exists());
    fs::create_dir(&folder).expect("a folder");
    let error = open(false).expect_err("no data folder");
    assert_eq!(error.sqlstate(), SqlState::UNDEFINED_OBJECT, "{error}");
    let engine = open(true).expect("opens");
    assert!(!engine.is_read_only());
    done(&engine, "CREATE TABLE People (n int)").expect("done");
    done(&engine, "INSERT INTO People (partitionkey, rowkey, n) VALUES ('a', 'b', 1)").expect("done");
    drop(engine);
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&folder).expect("files").map(|entry| entry.expect("one").path()).collect();
        names.sort();
        names
    };
    let before = names();
    let engine = open(false).expect("opens");
    let beside = open(false).expect("so does another");
    assert!(engine.is_read_only());
    assert_eq!(done(&engine, "SELECT n FROM People").expect("rows"), [1]);
    assert_eq!(done(&beside, "SELECT n FROM People").expect("rows"), [1]);
    let refused = done(&engine, "DELETE FROM People").expect_err("refused");
    assert_eq!(refused.sqlstate(), SqlState::READ_ONLY_SQL_TRANSACTION);
    assert_eq!(names(), before);
    drop((engine, beside));
    fs::remove_dir_all(&folder).expect("removed");
}
