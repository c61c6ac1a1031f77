//! Long constants beside columns: what is made of them is in every row.

use crate::robustness::server::Server;

#[test]
fn a_constant_in_every_row_takes_no_more_than_a_few_rows() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    assert_eq!(client.ask("set statement_timeout = '100s'").errors, []);
    let longest = "select max(length(a)) from (select repeat('x', 15000000) || g a from generate_series(1, 60) g) t";
    assert_eq!(client.value(longest), "15000002");
    for value in [
        "concat(repeat('x', 15000000), g)",
        "format('%s %s', repeat('x', 7000000), g)",
        "json_build_array(repeat('x', 7000000), g)::text",
    ] {
        // Where fewer rows cannot be tried, it is refused.
        for text in [
            format!("select max(length(a)) from (select {value} a from generate_series(1, 60) g) t"),
            format!("select max(length({value})) from generate_series(1, 60) g"),
        ] {
            let answer = client.ask(&text);
            assert!(answer.errors.is_empty() || answer.code() == "54000", "{text}: {}", answer.text());
        }
    }
    server.assert_well_within(700);
}
