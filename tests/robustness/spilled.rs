//! Statements that spill where rows go from some threads to others.

use crate::robustness::server::Server;

const RUNS: usize = 5;

#[test]
fn repartitioning_that_spills_ends() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    assert_eq!(client.ask("set statement_timeout = '100s'").errors, []);
    // Lists that are larger than the memory, out of several partial aggregates.
    let lists =
        "select n % 7, cardinality(array_agg(repeat('x', 9000))) from generate_series(1, 60000) g(n) group by 1";
    for _ in 0..RUNS {
        let answer = client.ask(lists);
        assert!(answer.errors.is_empty() || answer.code() == "53200", "{}", answer.text());
    }
    server.assert_well_within(1000);
}

#[test]
fn what_is_grouped_from_disk_is_all_there() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "32", "--cache-mib", "16"]);
    let mut client = server.connect();
    let groups = "select count(*) || ' ' || sum(c) || ' ' || sum(length(t)) from (select n % 100000 k, count(*) c, \
                  max(lpad(n::text, 40, '0')) t from generate_series(1, 400000) g(n) group by 1) g";
    assert_eq!(client.value(groups), "100000 400000 4000000");
    server.assert_well();
}

/// Each batch of a merge would be counted with the buffers of all that is merged.
#[test]
fn windows_of_several_orders_take_what_their_rows_take() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "128", "--cache-mib", "16"]);
    let mut client = server.connect();
    let windows = "select max(a + b + c) from (select row_number() over (order by t, n) a, \
                   row_number() over (order by n % 100, t) b, row_number() over (order by n % 7, t desc) c, t from \
                   (select n, 'a text of many letters ' || md5(n::text) t from generate_series(1, 60000) g(n)) v) w \
                   where length(t) > 0";
    let answer = client.ask(windows);
    assert_eq!(answer.errors, [], "{}", answer.text());
    server.assert_well();
}
