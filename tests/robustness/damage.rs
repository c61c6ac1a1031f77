//! A table whose file is damaged does not stop the others.

use std::fs;
use std::time::Duration;

use crate::robustness::places::files_of;
use crate::robustness::server::Server;
use rowkey_base::testing::Scratch;

#[test]
fn only_the_damaged_table_fails() {
    let scratch = Scratch::new("damage").expect("a folder");
    let data = scratch.path().join("data");
    let data_text = data.to_str().expect("text");
    let made = Server::run(&["sql", "--data", data_text, "--sample", "select 1"], Duration::from_secs(60));
    assert!(made.status.success(), "{}", made.said);
    let file = files_of(&data, "Employees").remove(0);
    let file_name = file.file_name().and_then(|name| name.to_str()).expect("text").to_owned();
    let healthy = fs::read(&file).expect("a file");
    let size = healthy.len();
    let mut damages: Vec<(&str, Vec<u8>)> = Vec::new();
    let with = |at: usize, length: usize| {
        let mut bytes = healthy.clone();
        bytes[at..at + length].iter_mut().for_each(|byte| *byte ^= 0x5a);
        bytes
    };
    damages.push(("flipped in the middle", with(size / 2, 64)));
    damages.push(("flipped in the footer", with(size - 200, 100)));
    damages.push(("a footer of another length", with(size - 8, 4)));
    damages.push(("cut", healthy[..size / 2].to_vec()));
    damages.push(("empty", Vec::new()));
    for (name, bytes) in damages {
        fs::write(&file, bytes).expect("written");
        let server = Server::start(&["--data", data_text]);
        let mut client = server.connect();
        for sql in ["select count(*), max(salary), max(lastname) from employees", "select * from employees"] {
            let answer = client.ask(sql);
            assert_eq!((answer.code(), answer.status), ("XX001", 'I'), "{name}: {sql}: {answer:?}");
            assert!(answer.text().contains(&file_name), "{name}: {:?}", answer.errors);
        }
        let joined = client.ask("select * from employees e join departments d on e.partitionkey = d.rowkey");
        assert_eq!(joined.code(), "XX001", "{name}: {joined:?}");
        // All others, and the catalog, which also tells sizes.
        for table in ["departments", "events", "logins", "employeereviews"] {
            let answer = client.ask(&format!("select * from {table}"));
            assert_eq!(answer.code(), "", "{name}: {table}: {answer:?}");
        }
        let listed = client.ask(
            "select relname, pg_size_pretty(pg_table_size(oid)), pg_total_relation_size(oid), reltuples from pg_class \
             where relkind = 'r' and relnamespace = 'public'::regnamespace",
        );
        assert_eq!((listed.row_count, listed.code()), (5, ""), "{name}: {listed:?}");
        for sql in [
            "select count(*) from information_schema.columns where table_name = 'Employees'",
            "select count(*) from pg_attribute where attrelid = 'employees'::regclass",
            "select * from rowkey.tables",
            "explain select * from employees where partitionkey = 'x'",
            "select count(*) from pg_stat_activity",
        ] {
            let answer = client.ask(sql);
            assert!(["", "XX001"].contains(&answer.code()), "{name}: {sql}: {answer:?}");
            if !sql.starts_with("explain") {
                assert_eq!(answer.code(), "", "{name}: {sql}: {answer:?}");
            }
        }
        server.assert_well();
    }
    // Gone while the server runs, and there again.
    fs::write(&file, &healthy).expect("written");
    let server = Server::start(&["--data", data_text]);
    let mut client = server.connect();
    let count = client.value("select count(salary) from employees");
    drop(server);
    fs::remove_file(&file).expect("removed");
    let server = Server::start(&["--data", data_text]);
    let mut client = server.connect();
    let answer = client.ask("select count(salary) from employees");
    assert!(!answer.errors.is_empty() && answer.text().contains(&file_name), "{answer:?}");
    assert_eq!(client.ask("select * from departments").code(), "");
    fs::write(&file, &healthy).expect("written");
    assert_eq!(client.value("select count(salary) from employees"), count);
    server.assert_well();
}
