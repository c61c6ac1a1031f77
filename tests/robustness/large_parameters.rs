//! Parameters of some megabytes: what is answered of them, and their memory in many sessions.

use std::thread;

use crate::robustness::is_long;
use crate::robustness::server::Server;

/// Expected answers are those of PostgreSQL 15.
#[test]
fn long_parameters_are_values_like_others() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    let (ab, ac) = ("ab".repeat(200_000), "ac".repeat(150_000));
    let items: Vec<_> = (0..15_000).map(|k| format!(r#"{{"k":{k},"b":[1,null],"a":"x{k}"}}"#)).collect();
    let (document, digits) = (format!("[{}]", items.join(",")), "1".repeat(300_000));
    let (ab, ac, document) = (ab.as_str(), ac.as_str(), document.as_str());
    for (text, parameters, expected) in [
        (
            "select concat(length($1::text), $1::text like 'ab%', $1::text = repeat('ab', 200000), $1::text < 'abc')",
            &[ab][..],
            "400000ttt",
        ),
        ("select coalesce(nullif($1::text, 'x'), 'y') = $1::text", &[ab], "t"),
        (
            "select string_agg(length(t) || ':' || n, ',' order by t) from (select t, count(*) n from (select case when \
            g % 2 = 0 then $1::text else $2::text end t from generate_series(1, 9) g) s group by t) u",
            &[ab, ac],
            "400000:4,300000:5",
        ),
        (
            "select string_agg(length(t) || ':' || n, ',' order by t) from (select t, count(*) n from (select case when \
            g % 2 = 0 then $1::text else $2::text end t from generate_series(1, 9) g) s group by t) u",
            &[ab, ab],
            "400000:9",
        ),
        ("select sum(length(x)) from unnest(array[$1::text, $2::text, 'q']) x where x > 'a'", &[ab, ac], "700001"),
        (
            "select concat(md5(max($1::text)) = md5($1::text), count($2::text), count(distinct $1::text), \
            min($2::text) < 'b') from generate_series(1, 3)",
            &[ab, ac],
            "t31t",
        ),
        ("select length($1::text || $1 || $1 || $1 || $1)", &[ab], "2000000"),
        (
            "select concat(sum((e ->> 'k')::int), ' ', count(e -> 'b'), ' ', $1::jsonb @> '[{\"k\": 14}]') from \
            jsonb_array_elements($1::jsonb) e",
            &[document],
            "112492500 15000 t",
        ),
        (
            "select $1::jsonb #>> '{7,a}' || jsonb_array_length(jsonb_set($1::jsonb, '{0}', '1'))",
            &[document],
            "x715000",
        ),
        ("select sum(k) from json_to_recordset($1::json) as x(k int)", &[document], "112492500"),
        (
            "with recursive r(n, t) as (select 1, $1::text union all select n + 1, t || 'x' from r where n < 3) \
            select sum(length(t)) from r",
            &[ab],
            "1200003",
        ),
        (
            "select count(*) from generate_series(1, 3) a join generate_series(1, 3) b on a = b and $1::text > 'a'",
            &[ab],
            "3",
        ),
    ] {
        let answer = client.ask_extended(text, parameters);
        assert_eq!(answer.rows, [[Some(expected.to_owned())]], "{text}: {:?}", answer.errors);
    }
    assert_eq!(client.ask_extended("select $1::text::int", &[&digits]).code(), "22003");
    // Sorted and grouped by, they are constants: no row has a copy.
    for rows in [
        "select g from generate_series(1, 5000) g order by $1::text, g limit 3",
        "select g from (select g, $1::text t from generate_series(1, 5000) g) q order by t, g limit 3",
        "select $1::text from generate_series(1, 5000) g group by g % 3, $1::text",
        "select x from (select array[$1::text, (g % 3)::text] x from generate_series(1, 5000) g) q group by x",
    ] {
        let answer = client.ask_extended(&format!("select count(*) from ({rows}) r"), &[ab]);
        assert_eq!(answer.rows, [[Some("3".to_owned())]], "{rows}: {:?}", answer.errors);
    }
    server.assert_well_within(700);
    assert!(server.peak_mibibytes() < 700, "{} MiB", server.peak_mibibytes());
}

/// Taken apart, such a document takes some forty times its length.
#[test]
fn a_document_is_normalised_without_being_taken_apart() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    let document = format!("[{}1]", "[1],".repeat(700_000));
    let before = server.peak_mibibytes();
    let answer = client.ask_extended("select length($1::jsonb::text)", &[&document]);
    assert_eq!(answer.rows, [[Some("3500003".to_owned())]], "{:?}", answer.errors);
    let taken = server.peak_mibibytes() - before;
    assert!(taken < 90, "{taken} MiB");
    server.assert_well_within(700);
}

#[test]
fn long_parameters_of_many_sessions_take_bounded_memory() {
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let sessions = if is_long() { 12 } else { 3 };
    let numbers = "1,".repeat(1_500_000);
    let arrays = "[1],".repeat(700_000);
    let cases = [
        ("select sum(length($1::jsonb::text))", format!("[{numbers}1]")),
        ("select length(jsonb_set($1::jsonb, '{0}', '1')::text)", format!("[{arrays}1]")),
        ("select count(*) from generate_series(1, 100) a where a = any($1::text::bigint[])", format!("{{{numbers}1}}")),
    ];
    for (text, parameter) in &cases {
        thread::scope(|scope| {
            for _ in 0..sessions {
                scope.spawn(|| {
                    let mut client = server.connect();
                    assert_eq!(client.ask("set statement_timeout = '5s'").errors, []);
                    let answer = client.ask_extended(text, &[parameter]);
                    let refused = ["53200", "54000", "57014"].contains(&answer.code());
                    assert!(refused || answer.errors.is_empty(), "{text}: {:?}", answer.errors);
                });
            }
        });
        assert!(server.peak_mibibytes() < 700, "{text}: {} MiB", server.peak_mibibytes());
    }
    let mut client = server.connect();
    assert_eq!(client.ask_extended("select length($1::jsonb::text)", &["[1,2]"]).rows, [[Some("6".to_owned())]]);
    server.assert_well_within(700);
}
