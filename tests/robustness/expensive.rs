//! Generated statements that would take hours, or all memory, beside a client that reads by key.
//!
//! `ROWKEY_TEST_EXPENSIVE` is how many (300), `ROWKEY_TEST_SEED` where the generator starts.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rowkey_base::testing::Dice;

use crate::protocol::query;
use crate::robustness::nested::mixed;
use crate::robustness::server::Server;

const SESSIONS: usize = 2;
/// At any time: the 256 MiB of all queries, the 64 MiB of the cache, the program, and what is in no
/// pool, such as the values of a batch while they are computed.
const PEAK_MIBIBYTES_MAX: u64 = 700;

/// Statements before the one that finds too much memory taken, to look for its cause.
const STATEMENTS_SUSPECTED: usize = 12;

/// What is worth a line.
const PEAK_RISE_MIBIBYTES_MIN: u64 = 50;

fn number_of(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn expensive_statements_end_in_their_own_memory() {
    let statements = number_of("ROWKEY_TEST_EXPENSIVE", 300) as usize;
    let seed = number_of("ROWKEY_TEST_SEED", 1);
    println!("{statements} statements from seed {seed}");
    let server = Server::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
    let mut client = server.connect();
    for statement in [
        "create table numbers (n int, f float8, t text)",
        "insert into numbers (partitionkey, rowkey, n, f, t) \
         select 'p' || n % 10, lpad(n::text, 6, '0'), n, n / 7.0, repeat('x', n % 1000) from generate_series(1, 5000) g(n)",
    ] {
        assert_eq!(client.ask(statement).errors, [], "{statement}");
    }
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let highest = AtomicU64::new(0);
    let longest = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reader = server.connect();
            let (mut longest, mut row) = (Duration::ZERO, 0);
            while !ended.load(Ordering::Relaxed) {
                row = row % 5000 + 1;
                let point =
                    format!("select n from numbers where partitionkey = 'p{}' and rowkey = '{row:06}'", row % 10);
                let asked = Instant::now();
                assert_eq!(reader.value(&point), row.to_string());
                longest = longest.max(asked.elapsed());
                std::thread::sleep(Duration::from_millis(5));
            }
            longest
        });
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.connect();
                    assert_eq!(client.ask("set statement_timeout = '1s'").errors, []);
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= statements {
                            break;
                        }
                        let text = statement(seed, number);
                        let begun = Instant::now();
                        client.send(&query(&text)).expect("sent");
                        let answer = client.answer();
                        let took = begun.elapsed();
                        if took > Duration::from_millis(2500) {
                            println!("statement {number} took {took:?}: {text}");
                        }
                        let peak = server.peak_mibibytes();
                        let before = highest.fetch_max(peak, Ordering::Relaxed);
                        if peak > before + PEAK_RISE_MIBIBYTES_MIN {
                            println!("statement {number} or those beside it: a peak of {peak} MiB: {text}");
                        }
                        if peak >= PEAK_MIBIBYTES_MAX {
                            // One that was stopped before may still be at it.
                            for before in number.saturating_sub(STATEMENTS_SUSPECTED)..number {
                                println!("before it, {before}: {:.300}", statement(seed, before));
                            }
                        }
                        assert!(
                            peak < PEAK_MIBIBYTES_MAX,
                            "{peak} MiB after statement {number} of seed {seed}: {text}"
                        );
                        assert_eq!(answer.status, 'I', "statement {number} of seed {seed} ended the session: {text}");
                        let is_defect = ["XX000", "XX001"].contains(&answer.code());
                        assert!(!is_defect, "statement {number} of seed {seed}: {text}: {}", answer.text());
                    }
                })
            })
            .collect();
        let failed: Vec<_> = sessions.into_iter().filter_map(|session| session.join().err()).collect();
        ended.store(true, Ordering::Relaxed);
        let longest = reader.join();
        if let Some(failed) = failed.into_iter().next() {
            std::panic::resume_unwind(failed);
        }
        longest.expect("the reader is answered")
    });
    println!("peak {} MiB; a read by key waited {longest:?} at most", server.peak_mibibytes());
    server.assert_well_within(PEAK_MIBIBYTES_MAX);
}

fn statement(seed: u64, number: usize) -> String {
    Statement(Dice(seed.wrapping_mul(1_000_003).wrapping_add(number as u64))).text()
}

/// A generator of one statement.
struct Statement(Dice);

impl Statement {
    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.0.below(choices.len())]
    }

    /// A number of any size up to ten to some power.
    fn size(&mut self, digits_max: usize) -> u64 {
        10_u64.pow(self.0.below(digits_max) as u32 + 1) * (1 + self.0.below(9) as u64)
    }

    fn text(&mut self) -> String {
        match self.0.below(27) {
            0 => format!("select {}", self.value(3)),
            1 => format!("select generate_series(1, {})", self.size(12)),
            2 => format!("select count(*) from (select generate_series(1, {})) s", self.size(12)),
            3 => format!("select unnest(string_to_array({}, ','))", self.large_text(2)),
            4 => format!("select {} from {}", self.aggregate(), self.rows()),
            5 => format!("select n % 7, {} from {} group by 1", self.aggregate(), self.rows()),
            6 => format!("select {}, count(*) from {} group by 1", self.value(2), self.rows()),
            7 => format!("select {} from {} order by 1 limit 5", self.value(2), self.rows()),
            8 => format!("select distinct {} from {}", self.value(2), self.rows()),
            9 => format!("select count(*) from {} a join {} b on a.n % 3 = b.n % 3", self.series(), self.series()),
            10 => format!("select count(*) from {} a, {} b where a.n + b.n < 0", self.series(), self.series()),
            11 => {
                let (function, order) =
                    (self.one_of(&["lag", "sum", "max", "first_value"]), self.one_of(&["n", "n % 5"]));
                let frame = self.one_of(&["", " rows between 1000 preceding and current row"]);
                format!(
                    "select count(*) from (select {function}(n) over (order by {order}{frame}) from {}) w",
                    self.rows()
                )
            }
            12 => {
                let step = self.one_of(&["n + 1", "n * 2", "n"]);
                format!(
                    "with recursive r(n) as (select 1::int8 union all select {step} from r where n < {}) select count(*) from r",
                    self.size(12)
                )
            }
            13 => {
                let grown = self.one_of(&["t || t", "repeat(t, 3)", "replace(t, 'x', 'xyz')"]);
                format!(
                    "with recursive r(n, t) as (select 1, 'x'::text union all select n + 1, {grown} from r where n < {}) select max(length(t)) from r",
                    self.size(2)
                )
            }
            14 => format!("select count(*) from {} where {} like '%y%'", self.rows(), self.value(2)),
            15 => {
                let operators = self.one_of(&[" + ", " * ", " - "]);
                format!("select {} from {}", self.repeated(400, "n", operators), self.rows())
            }
            16 | 17 => {
                let call = self.call_of_a_constant();
                let rows = self.rows();
                match self.0.below(4) {
                    0 => format!("select count({call}) from {rows}"),
                    1 => format!("select count(*) from {rows} where {call}::text <> '%'"),
                    2 => format!("select max({call}::text) from {rows}"),
                    _ => format!("select {call} from {rows} limit 3"),
                }
            }
            18 => self.union(),
            19 => format!("select count(*) from {} where {}", self.rows(), self.condition()),
            20 => format!("select {} as c, count(*) from {} group by 1", self.condition(), self.rows()),
            21 => {
                let sets = self.one_of(&["cube", "rollup"]);
                let terms: Vec<_> = (0..1 + self.0.below(8)).map(|number| format!("n % {}", number + 2)).collect();
                format!("select {} from {} group by {sets}({})", self.aggregate(), self.rows(), terms.join(", "))
            }
            22 => {
                let operation = self.one_of(&["intersect", "except", "except all", "union"]);
                format!("select {} from {} {operation} select 1 from {}", self.value(1), self.rows(), self.rows())
            }
            23 => format!("select {} from {}", mixed(&mut self.0, "n", 30), self.rows()),
            24 => format!("select count(*) from {} where {} = 1", self.rows(), mixed(&mut self.0, "n", 30)),
            25 => self.constants(),
            _ => {
                let (aggregate, condition) = (self.aggregate(), self.condition());
                let (outer, inner) = (self.rows(), self.series());
                format!(
                    "select count(*) from {outer} where (select {aggregate}::text from {inner} i where {condition}) <> ''"
                )
            }
        }
    }

    /// Up to `count_max` times `item`.
    fn repeated(&mut self, count_max: usize, item: &str, separator: &str) -> String {
        vec![item; self.0.below(count_max) + 1].join(separator)
    }

    /// A function of a long constant and of the column `n`.
    fn call_of_a_constant(&mut self) -> String {
        let text = format!("repeat('{}', {})", self.one_of(&["a", "a,", "é ", "1"]), self.size(7));
        let call = self.one_of(&[
            "left(#, n)",
            "right(#, -n)",
            "substr(#, n)",
            "overlay(# placing 'b' from n)",
            "lpad('b', n % 10000, #)",
            "replace(#, n::text, 'b')",
            "replace(n::text, '1', #)",
            "translate(#, n::text, 'b')",
            "concat_ws(#, n, n)",
            "concat(n, #)",
            "# || n",
            "split_part(#, ',', n)",
            "string_to_array(#, n::text)",
            "array_to_string(array[n, n, n], #)",
            "regexp_replace(#, n::text, 'b', 'g')",
            "regexp_split_to_array(#, n::text)",
            "regexp_replace(n::text, '1', #)",
            "position(n::text in #)",
            "starts_with(#, n::text)",
            "trim(both n::text from #)",
            "format('%s %s', #, n)",
            "coalesce(nullif(#, n::text), 'b')",
            "greatest(#, n::text)",
            "case when n % 2 = 0 then # else n::text end",
            "md5(# || n)",
            "encode(convert_to(#, 'UTF8'), 'hex') || n",
            "to_json(# || n)",
            "json_build_array(#, n)",
            "array_fill(#, array[n % 100])",
            "array[#, n::text]",
            "array_append(string_to_array(#, ','), n::text)",
            "array_position(string_to_array(#, ','), n::text)",
            "cardinality(array_remove(string_to_array(#, ','), n::text))",
            "# like n || '%'",
            "# ~ n::text",
            "# < n::text",
            "row(#, n)",
            "quote_literal(# || n)",
            "reverse(#) || n",
            "initcap(#) || n",
            "repeat(#, n % 3)",
        ]);
        call.replace('#', &text)
    }

    /// Many long constants in one statement.
    fn constants(&mut self) -> String {
        let (most, length) = (self.size(3) as usize, self.size(7));
        let unit = self.one_of(&["repeat('x', #)", "repeat('x', # + 1)", "rpad('x', #)", "repeat('x' || #, 100)"]);
        let constants = 1 + self.0.below(most);
        let texts: Vec<_> =
            (0..constants).map(|number| unit.replace('#', &(length + number as u64).to_string())).collect();
        let list = texts.join(", ");
        match self.0.below(9) {
            0 => format!("values ({})", texts.join("), (")),
            1 => format!("select count(*), max(length(t)) from (values ({})) v(t)", texts.join("), (")),
            2 => format!("select {list}"),
            3 => format!("select length({})", texts.join(") + length(")),
            4 => format!("select length(t) from unnest(array[{list}]) t"),
            5 => format!("select length(greatest({list}))"),
            6 => format!("select count(*) from {} where n::text in ({list})", self.rows()),
            7 => format!("select {}", texts.join(" union all select ")),
            _ => format!("select coalesce(nullif({}, ''))", texts.join(", ''), nullif(")),
        }
    }

    /// Many terms in one, of the column `n`.
    fn condition(&mut self) -> String {
        let terms_max = self.size(3) as usize;
        let terms = 1 + self.0.below(terms_max);
        let any = |dice: &mut Dice, term: &dyn Fn(usize) -> String, separator: &str| {
            let first = dice.below(1000);
            (0..terms).map(|number| term(first + number)).collect::<Vec<_>>().join(separator)
        };
        let dice = &mut self.0;
        match dice.below(8) {
            0 => format!("n in ({})", any(dice, &|number| format!("n + {number}"), ", ")),
            1 => format!("n::text not in ({})", any(dice, &|number| format!("'{number}' || n"), ", ")),
            2 => format!("case {} end", any(dice, &|number| format!("when n = {number} then true"), " ")),
            3 => format!("case n {} else n > 5 end", any(dice, &|number| format!("when {number} then n < 3"), " ")),
            4 => any(dice, &|number| format!("n % {} = 1", number + 1), " or "),
            5 => any(dice, &|number| format!("(n <> {number} or n::text like '%{number}')"), " and "),
            6 => format!("coalesce({}) = 1", any(dice, &|number| format!("nullif(n, {number})"), ", ")),
            _ => format!("{} <> 'x'", any(dice, &|number| format!("n::text || '{number}'"), " || ")),
        }
    }

    /// Of up to 400 inputs.
    fn union(&mut self) -> String {
        let (all, rows) = (self.one_of(&["union", "union all"]), self.rows());
        let input = format!("select n, {} as v from {rows}", self.value(1));
        let inputs = self.repeated(400, &input, &format!(" {all} "));
        match self.0.below(4) {
            0 => format!("select count(*) from ({inputs}) u"),
            1 => format!("select * from ({inputs}) u order by v, n limit 5"),
            2 => format!("select n % 10, {} from ({inputs}) u group by 1", self.aggregate()),
            _ => inputs,
        }
    }

    fn series(&mut self) -> String {
        format!("(select n from generate_series(1, {}) g(n))", self.size(8))
    }

    fn rows(&mut self) -> String {
        match self.0.below(3) {
            0 => "numbers".to_owned(),
            1 => format!("generate_series(1, {}) g(n)", self.size(9)),
            _ => format!("(select a.n from numbers a, generate_series(1, {}) b) g", self.size(4)),
        }
    }

    fn aggregate(&mut self) -> String {
        let value = self.value(2);
        match self.0.below(7) {
            0 => format!("length(array_to_string(array_agg({value}), ','))"),
            1 => format!("length(string_agg({value}::text, ','))"),
            2 => format!("count(distinct {value})"),
            3 => format!("max({value}::text)"),
            4 => format!("cardinality(array_agg({value}))"),
            5 => "percentile_cont(0.5) within group (order by n)".to_owned(),
            _ => format!("length(json_agg({value})::text)"),
        }
    }

    /// Of the column `n`, or of nothing.
    fn value(&mut self, depth: usize) -> String {
        match self.0.below(if depth == 0 { 2 } else { 4 }) {
            0 => "1".to_owned(),
            1 => format!("repeat('x', {})", self.size(5)),
            _ => format!("length({})", self.large_text(depth)),
        }
    }

    fn large_text(&mut self, depth: usize) -> String {
        if depth == 0 {
            let unit = self.one_of(&["x", "x,", "ab ", "é"]);
            return format!("repeat('{unit}', {})", self.size(9));
        }
        let inner = self.large_text(depth - 1);
        match self.0.below(10) {
            0 => format!("replace({inner}, 'x', repeat('y', {}))", self.size(6)),
            1 => format!("regexp_replace({inner}, 'x', repeat('y', {}), 'g')", self.size(6)),
            2 => format!("({inner} || {inner} || {inner})"),
            3 => format!("array_to_string(string_to_array({inner}, ','), repeat('z', {}))", self.size(6)),
            4 => format!("lpad({inner}, {})", self.size(9)),
            5 => format!("concat({inner}, {inner})"),
            6 => format!("upper({inner})"),
            7 => format!("format('%s%s', {inner}, {inner})"),
            8 => format!("({inner} || n)"),
            _ => format!("translate({inner}, 'x', 'yz')"),
        }
    }
}
