//! Long constants beside columns: what is made of them is in every row.

use crate::robustness::server::Server;

#[test]
fn a_constant_in_every_row_takes_no_more_than_a_few_rows() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    assert_eq!(client.ask("set statement_timeout = '100s'").errors, []);
    let longest = "select max(length(a)) from (select repeat('x', 15000000) || g a from generate_series(1, 60) g) t";
    assert_eq!(client.value(longest), "15000002");
    for other in [
        "select max(length(concat(repeat('x', 15000000), g))) from generate_series(1, 60) g",
        "select max(length(format('%s %s', repeat('x', 7000000), g))) from generate_series(1, 60) g",
        "select max(length(json_build_array(repeat('x', 7000000), g)::text)) from generate_series(1, 60) g",
    ] {
        assert_eq!(client.ask(other).errors, [], "{other}");
    }
    server.assert_well_within(700);
}
