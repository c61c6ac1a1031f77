//! Accounts are databases: each connection sees the tables of its own.

use std::time::Duration;

use crate::robustness::server::Server;
use crate::robustness::wire::Client;
use rowkey_base::testing::Scratch;

const SOON: Duration = Duration::from_secs(60);

#[test]
fn a_connection_sees_the_tables_of_the_account_that_it_names() {
    let scratch = Scratch::new("accounts").expect("a folder");
    let data = scratch.path().join("data");
    let data = data.to_str().expect("text");
    for (account, number) in [("devstoreaccount1", "1"), ("second", "2")] {
        for statement in ["create table things (n int)", &format!("insert into things values ('p', 'r', {number})")] {
            let ended = Server::run(&["sql", "--data", data, "--account", account, statement], SOON);
            assert!(ended.status.success(), "{statement}: {}", ended.said);
        }
    }
    let server = Server::start(&["--data", data]);
    for (database, number) in [("devstoreaccount1", "1"), ("second", "2"), ("postgres", "1")] {
        let mut client = Client::connect(server.port, &[("database", database)]);
        assert_eq!(client.value("select n from things"), number, "{database}");
        let databases = client.value("select string_agg(datname, ' ' order by datname) from pg_database");
        assert_eq!(databases, "devstoreaccount1 second", "{database}");
    }
    let refused = Client::try_connect(server.port, &[("database", "third")]).err().expect("no such database");
    assert_eq!(refused.code(), "3D000", "{refused:?}");
    server.assert_well();
}
