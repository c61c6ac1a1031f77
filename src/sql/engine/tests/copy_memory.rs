//! What a COPY FROM STDIN takes of the memory of queries.

use std::sync::Arc;

use bytes::Bytes;
use futures::executor::block_on;
use tokio::runtime::Runtime;

use super::{NOW_TICKS, run, session};
use crate::engine::{Engine, Options};
use crate::session::{CopyIn, Copying, Outcome, Result, Session, SqlState};
use rowkey_base::clock::ManualClock;
use rowkey_model::DateTime;
use rowkey_model::files::MemoryStore;
use rowkey_postgres::syntax::parse;

const MEMORY_BYTES: u64 = 64 << 20;

fn engine() -> Engine {
    let clock = Arc::new(ManualClock::new(DateTime::from_ticks(NOW_TICKS)));
    let options = Options { target_partitions: Some(2), memory_bytes: Some(MEMORY_BYTES), ..Options::default() };
    let engine = block_on(Engine::open_files(Arc::new(MemoryStore::new()), clock, options, false)).expect("an engine");
    run(&mut session(&engine), "CREATE TABLE Copied (t text)");
    engine
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

async fn begin(session: &mut Session, options: &str) -> Result<Box<CopyIn>> {
    let sql = format!("COPY Copied FROM STDIN ({options})");
    let prepared = session.prepare(Arc::new(parse(&sql)?), &[]).await?;
    match session.run(&Arc::new(prepared), &Arc::default()).await? {
        Outcome::Copy(Copying::In(copy)) => Ok(copy),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_without_an_end_take_memory() {
    let engine = engine();
    runtime().block_on(async {
        for options in ["FORMAT csv", "FORMAT text"] {
            let mut open = Vec::new();
            let mut refused = None;
            while refused.is_none() && open.len() < 16 {
                let mut session = session(&engine);
                let mut copy = begin(&mut session, options).await.expect("a COPY");
                copy = session.read_copied(copy, Bytes::from_static(b"p\t1,1,\"")).await.expect("read");
                match session.read_copied(copy, Bytes::from(vec![b'x'; 8 << 20])).await {
                    Ok(copy) => open.push((session, copy)),
                    Err(error) => refused = Some(error.sqlstate()),
                }
            }
            assert_eq!(refused, Some(SqlState::OUT_OF_MEMORY), "{options}");
            assert!((2..=4).contains(&open.len()), "{options}: {}", open.len());
        }
    });
}

#[test]
fn a_copy_of_entities_takes_memory_once_it_is_sent_something() {
    let engine = engine();
    let line = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"t\":\"x\"}\n";
    runtime().block_on(async {
        let mut open = Vec::new();
        for _ in 0..16 {
            let mut session = session(&engine);
            let mut copy = begin(&mut session, "FORMAT ndjson").await.expect("a COPY");
            copy = session.read_copied(copy, Bytes::from_static(line.as_bytes())).await.expect("read");
            open.push((session, copy));
        }
        let (mut last, copy) = open.pop().expect("a session");
        assert_eq!(last.finish_copy(*copy).await.expect("copied"), "COPY 1");

        let mut refused = 0;
        for (session, copy) in &mut open {
            let taken = std::mem::replace(copy, begin(session, "FORMAT ndjson").await.expect("a COPY"));
            match session.read_copied(taken, Bytes::from(line.repeat(2000))).await {
                Ok(read) => *copy = read,
                Err(error) => {
                    assert_eq!(error.sqlstate(), SqlState::OUT_OF_MEMORY, "{error}");
                    refused += 1;
                }
            }
        }
        assert!((1..15).contains(&refused), "{refused}");
    });
}
