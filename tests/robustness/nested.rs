//! Operands nested in one another, of every kind that is written or planned more than once: each
//! level may not double what planning takes.

use rowkey_base::testing::Dice;

use crate::robustness::server::Server;

/// From an integer, for which `#` stands, to an integer; `n` is a column.
pub(super) const LEVELS: [&str; 64] = [
    "(# + 1)",
    "(- #)",
    "abs(#)",
    "greatest(#, n)",
    "coalesce(#, n)",
    "coalesce(n, #)",
    "nullif(#, n)",
    "nullif(1, #)",
    "(# between 1 and 3)::int",
    "(2 between # and n)::int",
    "(# not between symmetric 1 and n)::int",
    "(#::float8 between 1.5 and n)::int",
    "(# in (1, 2, 3))::int",
    "(# in (n, 2, 3))::int",
    "(# not in (1.5, 2))::int",
    "(#::float8 in (1.5, n))::int",
    "(#::numeric in (1.5, n))::int",
    "(# * interval '1 day' in (interval '1 day', n * interval '1 hour'))::int",
    "(array[#] in (array[n], array[1]))::int",
    "(1 = any (array[#, n]))::int",
    "(# = any (array[1, n]))::int",
    "(# = all (array[1, n]))::int",
    "(# > all (array[1, n]))::int",
    "(1 < any (array[#, 5]))::int",
    "((#, 1) < (n, 1))::int",
    "((1, n) >= (#, 1))::int",
    "((#, 1) = (n, 1))::int",
    "(((#, 1), 2) = ((1, 1), 2))::int",
    "((#, 1) in ((1, 1), (n, 2)))::int",
    "((#, 1) between (0, 1) and (n, 1))::int",
    "length(row(#, 1)::text)",
    "case when # = 1 then n end",
    "case when # = 1 then 1 else n end",
    "case when # > 1 and n > 0 then 1 else n end",
    "case when n = 1 or # is null then 2 end",
    "case when n = 1 then # else n end",
    "case when - (# + 1 - n) = 1 then n end",
    "case # when 1 then n when 2 then 3 end",
    "case #::float8 when 1.5 then 2 when n then 1 end",
    "case # * interval '1 day' when interval '1 day' then n when n * interval '1 hour' then 3 end",
    "(case when # = 1 then n > 1 else n < 3 end)::int",
    "(case when # = 1 then true else n < 3 end)::int",
    "(coalesce(# = 1, n = 2))::int",
    "(# = 1 and n > 1)::int",
    "(# = 1 or n > 1)::int",
    "(not (# = 1))::int",
    "((# = 1) is not false)::int",
    "((# = 1) = (n = 1))::int",
    "(# is distinct from n)::int",
    "(# is null)::int",
    "(#::float8 = 0)::int",
    "(#::text)::int",
    "((#::text || 'a') like 'a%')::int",
    "(#::text ~ '1')::int",
    "(array[#, n])[1]",
    "cardinality(array[#] || n)",
    "(array[#] < array[n, 1])::int",
    "(jsonb_build_object('a', #)->>'a')::int",
    "case when jsonb_build_object('a', #) ? 'a' then n end",
    "(select #)",
    "(# in (select 1 union select 2))::int",
    "(# > all (select 5))::int",
    "(exists (select 1 where # = 1))::int",
    "(select max(# + g) from generate_series(1, 2) g)",
];

/// `level` so many times around `operand`.
pub(super) fn nested(level: &str, operand: &str, depth: usize) -> String {
    (0..depth).fold(operand.to_owned(), |inner, _| level.replace('#', &inner))
}

/// Levels of up to four kinds, in any order.
pub(super) fn mixed(dice: &mut Dice, operand: &str, depth_max: usize) -> String {
    let kinds: Vec<&str> = (0..1 + dice.below(4)).map(|_| LEVELS[dice.below(LEVELS.len())]).collect();
    let depth = 1 + dice.below(depth_max);
    (0..depth).fold(operand.to_owned(), |inner, _| kinds[dice.below(kinds.len())].replace('#', &inner))
}

/// Twice as much at each of so many levels would never end.
#[test]
fn nested_operands_are_planned_or_refused() {
    let server = Server::start(&["--data", ":memory:"]);
    let mut client = server.connect();
    for statement in ["create table ints (n int)", "insert into ints (partitionkey, rowkey, n) values ('p', 'r', 1)"] {
        assert_eq!(client.ask(statement).errors, [], "{statement}");
    }
    assert_eq!(client.ask("set statement_timeout = '60s'").errors, []);
    let mut answered = 0;
    for level in LEVELS {
        for (depth, is_condition) in [(3, false), (20, false), (40, true)] {
            let nested = nested(level, "n", depth);
            let text = match is_condition {
                false => format!("select {nested} from ints"),
                true => format!("select count(*) from ints where {nested} = 1"),
            };
            let answer = client.ask(&text);
            let code = answer.code();
            assert!(["", "54001", "0A000"].contains(&code), "{code} {}: {text}", answer.text());
            assert!(depth > 3 || code.is_empty(), "{code} {}: {text}", answer.text());
            answered += usize::from(code.is_empty());
        }
    }
    assert!(answered > 2 * LEVELS.len(), "{answered} answered");
}
