//! Rows and values of many kilobytes, which memory holds few of: as they are written and compacted,
//! bound by many clients, and gathered by many aggregates.

use rowkey_base::testing::Scratch;

use super::server::Server;

const MIBIBYTES_MAX: u64 = 700;

#[track_caller]
fn assert_bounded(server: &Server) {
    server.assert_well_within(MIBIBYTES_MAX);
    let peak = server.peak_mibibytes();
    assert!(peak < MIBIBYTES_MAX, "{peak} MiB");
}

/// Files are read and written in pieces by bytes, not by rows.
#[test]
fn wide_rows_are_folded_and_compacted_in_pieces() {
    let scratch = Scratch::new("wide-rows").expect("a folder");
    let data = scratch.path().join("data");
    let server = Server::start(&["--data", data.to_str().expect("a path"), "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    assert_eq!(client.ask("create table wide (partitionkey text, rowkey text, s text)").code(), "");
    for from in (0..10_000).step_by(500) {
        let text = format!(
            "insert into wide (partitionkey, rowkey, s) select 'p', lpad(g::text, 9, '0'), \
             repeat(md5(g::text), 1000) from generate_series({from}, {from} + 499) g"
        );
        assert_eq!(client.ask(&text).errors, [], "from {from}");
    }
    assert_eq!(client.ask("vacuum full wide").errors, []);
    assert_eq!(client.value("select sum(length(s)) from wide"), "320000000");
    assert_bounded(&server);
}

#[test]
fn large_parameters_of_many_clients_take_memory_of_queries() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let askers: Vec<_> = (0..12)
        .map(|_| {
            let mut client = server.connect();
            std::thread::spawn(move || {
                let value = "x".repeat(16 << 20);
                let answer = client.ask_extended("select length($1) + length($2)", &[&value, &value]);
                answer.code().to_owned()
            })
        })
        .collect();
    for asker in askers {
        let code = asker.join().expect("no panic");
        assert!(["", "53200"].contains(&code.as_str()), "{code}");
    }
    let value = "x".repeat(8 << 20);
    let answer = server.connect().ask_extended("select length($1)", &[&value]);
    assert_eq!(answer.errors, [], "there is room again");
    assert_bounded(&server);
}

#[test]
fn many_aggregates_that_order_their_values_take_few_rows_at_a_time() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    let ordered: Vec<_> = (0..300).map(|at| format!("string_agg(s, ',' order by g + {at})")).collect();
    let text =
        format!("select {} from (select g, md5(g::text) s from generate_series(1, 100000) g) t", ordered.join(", "));
    assert_eq!(client.ask(&text).code(), "53200");
    assert_bounded(&server);
}
