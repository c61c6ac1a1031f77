//! kill -9 in the middle of writing, again and again on the same folder.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rowkey::model::Value;
use rowkey::{Database, SqlState};

use crate::durability::child::{FOLDER, GROUP, TABLE, WRITERS, group_row, partition};

/// The last acknowledged number, by writer and kind of write.
type Acknowledged = HashMap<(usize, String), i64>;

/// Lets the child write for a while, kills it, and reads what it said.
fn write_and_kill(folder: &Path, time: Duration, acknowledged: &mut Acknowledged) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "durability::child::child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("a child");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    let reader = std::thread::spawn(move || {
        let lines = output.lines().map_while(Result::ok);
        lines.filter(|line| line.starts_with("ack ")).collect::<Vec<String>>()
    });
    std::thread::sleep(time);
    assert!(child.try_wait().expect("a child").is_none(), "the child ended before it was killed");
    child.kill().expect("a kill");
    child.wait().expect("an end");
    for line in reader.join().expect("its lines") {
        let fields: Vec<&str> = line.split(' ').collect();
        let (Some(writer), Some(what), Some(number)) = (fields.get(1), fields.get(2), fields.get(3)) else { continue };
        let (Ok(writer), Ok(number)) = (writer.parse(), number.parse()) else { continue };
        acknowledged.insert((writer, (*what).to_owned()), number);
    }
}

/// Everything acknowledged is there, nothing is there by half, and nothing that was never begun.
async fn check(folder: &Path, acknowledged: &mut Acknowledged, round: usize) {
    let db = Database::open(folder.to_str().expect("a path")).await.expect("opens");
    let Ok(table) = db.table(TABLE) else {
        assert!(acknowledged.is_empty(), "round {round}: the table is gone");
        return;
    };
    let number = |entity: Option<rowkey::model::Entity>| match entity?.get("Number") {
        Some(Value::Int64(number)) => Some(*number),
        _ => None,
    };
    for writer in 0..WRITERS {
        let last = |what: &str| acknowledged.get(&(writer, what.to_owned())).copied().unwrap_or(0);
        let partition = partition(writer);
        let counter = number(table.get(&partition, "counter").await.expect("a read")).unwrap_or(0);
        assert!(
            (last("group")..=last("group") + 1).contains(&counter),
            "round {round}, writer {writer}: group {} was acknowledged, {counter} is there",
            last("group")
        );
        for place in 0..GROUP {
            let member = number(table.get(&partition, &group_row(place)).await.expect("a read")).unwrap_or(0);
            assert_eq!(member, counter, "round {round}, writer {writer}: half a group");
        }
        for single in 1..=last("single") {
            let found = number(table.get(&partition, &format!("single-{single:09}")).await.expect("a read"));
            let gone = single % 3 == 0;
            // The deletion of the last one may be on its way.
            let deleted = gone && single <= last("deleted");
            let pending = gone && single > last("deleted");
            let right = if deleted { found.is_none() } else { found == Some(single) || (pending && found.is_none()) };
            assert!(right, "round {round}, writer {writer}: entity {single} is {found:?}");
        }
        // What is found after a restart is durable, acknowledged or not: the next round goes on
        // from there.
        acknowledged.insert((writer, "group".to_owned()), counter);
    }
    let counted = db.sql("SELECT count(*) FROM Ledger").await.expect("a query").collect().await.expect("rows");
    let counted = counted[0].column(0);
    let counted = arrow::util::display::array_value_to_string(counted, 0).expect("a number");
    let listed = match db.sql("SELECT \"RowKey\" FROM Ledger WHERE \"Text\" IS NOT NULL").await {
        Ok(query) => query.collect().await.expect("rows").iter().map(|batch| batch.num_rows()).sum::<usize>(),
        // It was killed before the first write, which brings the column.
        Err(error) if error.sqlstate() == SqlState::UNDEFINED_COLUMN => 0,
        Err(error) => panic!("a query: {error:?}"),
    };
    assert_eq!(counted, listed.to_string(), "round {round}");
}

fn kill_loop(kills: usize) {
    let folder = std::env::temp_dir().join(format!("rowkey-kills-{}-{kills}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let mut acknowledged = Acknowledged::new();
    for round in 0..kills {
        // Times that meet opening, writing and folding.
        let time = Duration::from_millis(60 + (round as u64 * 137) % 700);
        write_and_kill(&folder, time, &mut acknowledged);
        runtime.block_on(check(&folder, &mut acknowledged, round));
    }
    assert!(acknowledged.values().sum::<i64>() > 0, "nothing was ever written");
    println!("{kills} kills, acknowledged: {acknowledged:?}");
    std::fs::remove_dir_all(&folder).expect("a folder");
}

#[test]
fn nothing_acknowledged_is_lost_by_kills() {
    kill_loop(8);
}

#[test]
#[ignore = "the long version: several minutes"]
fn nothing_acknowledged_is_lost_by_two_hundred_kills() {
    kill_loop(200);
}
