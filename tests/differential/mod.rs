//! Rowkey's server and PostgreSQL get the same text over the wire and give the same columns, types,
//! rows and SQLSTATEs.
//!
//! PostgreSQL is found as for the test `postgres`. `ROWKEY_TEST_SEED` and `ROWKEY_TEST_CASES`
//! (questions of each template) vary what is asked. Known differences are in `differences`; one
//! that has gone fails the test as a new one does.

mod arrays;
mod composition;
mod data;
mod declared;
mod differences;
mod evaluation;
mod expression;
mod forms;
mod frames;
mod json;
mod limits;
mod modes;
mod names;
mod page;
mod placement;
mod probes;
mod query;
mod regular_expressions;
mod rowkey;
mod subqueries;
mod untyped;
mod wire;
mod writes;

use std::collections::BTreeMap;

use crate::postgres::from_environment;
use crate::postgres::server::Postgres;
use crate::protocol::Failure;
use differences::{DIFFERENCES, QUESTIONS, REFUSALS, WITH_PARAMETERS};
use expression::{Scope, any_kind, expression, filled};
use rowkey::Rowkey;
use rowkey_base::testing::Dice;
use wire::{Answer, Client, Form, Rows, SEPARATOR};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const SEED: &str = "ROWKEY_TEST_SEED";
const SEED_DEFAULT: u64 = 1;
const CASES: &str = "ROWKEY_TEST_CASES";
const CASES_DEFAULT: u64 = 2;
/// Differences that are listed.
const LISTED_MAX: usize = 2000;
const QUERY_CANCELED: &str = "57014";
/// A fault of PostgreSQL's own in `jsonb_set_lax` of a NULL, of SQLSTATE XX000.
const POSTGRES_FAULT: &str = "unknown type of jsonb container";
const ZONES: &[&str] = &["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"];
/// SQLSTATEs whose message and position are compared as well: syntax, unknown and ambiguous names.
const WORDED: &[&str] = &["42601", "42703", "42P01", "42702", "42712"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rowkey_and_postgres_answer_alike() -> Outcome<()> {
    let Some(postgres) = Postgres::start().await? else {
        return crate::peers::skipped(
            "differential",
            &format!(
                "PostgreSQL is not installed and {} does not name its binaries",
                crate::postgres::server::BINARIES
            ),
        );
    };
    let (seed, cases) = (from_environment(SEED, SEED_DEFAULT)?, from_environment(CASES, CASES_DEFAULT)?);
    let mut dice = Dice(seed);
    let mut theirs = Client::unix(&postgres.socket(), "postgres", "postgres")?;
    theirs.run("SET statement_timeout = '5s'")?;
    let mut exports = Vec::new();
    for (name, entities) in data::TABLES {
        let rows = data::rows(&mut dice, *entities);
        theirs.run(&data::postgres(name, &rows))?;
        exports.push((*name, data::ndjson(&rows)));
    }
    let rowkey = Rowkey::start(&exports)?;
    let ours = rowkey.connect()?;
    let mut compared = Compared {
        rowkey,
        ours,
        theirs,
        zone: "UTC",
        asked: 0,
        unanswered: 0,
        rows: 0,
        errors: 0,
        kinds: BTreeMap::new(),
        found: Vec::new(),
    };

    for zone in ZONES {
        compared.zone(zone)?;
        for probe in probes::PROBES {
            compared.question(probe, true)?;
        }
    }
    for (statement, parameters) in probes::WITH_PARAMETERS {
        let parameters: Vec<_> = parameters.iter().map(|value| value.map(str::to_owned)).collect();
        compared.ask(statement, &parameters, Form::Texts, true)?;
        compared.ask(statement, &parameters, Form::Binary, true)?;
    }
    for case in 0..cases {
        compared.zone(dice.pick(ZONES))?;
        for (risky, template) in expression::templates() {
            let scope = Scope { tables: &[""], risky };
            let expression = filled(template, (case % 2) as usize, scope, &mut dice);
            compared.question(&format!("SELECT {expression} AS e FROM items ORDER BY {}", query::K), true)?;
        }
        for _ in 0..100 {
            let scope = Scope { tables: &[""], risky: true };
            let deep = expression(any_kind(&mut dice), 3, scope, &mut dice);
            // A NULL known beforehand, as a CASE of a constant may be, makes PostgreSQL skip what would
            // fail.
            if deep.contains("NULL") || deep.contains("CASE '") {
                continue;
            }
            compared.question(&format!("SELECT {deep} AS e FROM parts ORDER BY {}", query::K), true)?;
        }
        for (ordered, template) in query::ONE_TABLE {
            let scope = Scope { tables: &[""], risky: false };
            compared.question(&filled(template, 1 + (case % 2) as usize, scope, &mut dice), *ordered)?;
        }
        for (ordered, template) in query::TWO_TABLES {
            let scope = Scope { tables: &["a", "b"], risky: false };
            compared.question(&filled(template, 1 + (case % 2) as usize, scope, &mut dice), *ordered)?;
        }
    }
    // Dice of their own: what is asked above does not change with the templates here.
    let mut dice = Dice(seed);
    for case in 0..cases {
        for (templates, tables) in [(subqueries::ONE_TABLE, &[""][..]), (subqueries::TWO_TABLES, &["a", "b"])] {
            for (ordered, template) in templates {
                let scope = Scope { tables, risky: false };
                compared.question(&filled(template, 1 + (case % 2) as usize, scope, &mut dice), *ordered)?;
            }
        }
    }
    let mut dice = Dice(seed);
    for _ in 0..cases {
        for (ordered, question) in frames::questions(&mut dice) {
            compared.question(&question, ordered)?;
        }
    }
    let mut dice = Dice(seed);
    for _ in 0..cases {
        for (statement, parameters) in forms::questions(&mut dice) {
            compared.ask(&statement, &parameters, Form::Texts, true)?;
            compared.ask(&statement, &parameters, Form::Binary, true)?;
        }
    }
    let mut dice = Dice(seed);
    for _ in 0..cases {
        compared.zone(dice.pick(ZONES))?;
        for (ordered, statement) in json::statements(&mut dice) {
            compared.question(&statement, ordered)?;
        }
    }
    let mut dice = Dice(seed);
    for case in 0..cases {
        compared.zone(dice.pick(ZONES))?;
        for (ordered, template) in evaluation::ONE_TABLE {
            let scope = Scope { tables: &[""], risky: false };
            compared.question(&filled(template, 1 + (case % 2) as usize, scope, &mut dice), *ordered)?;
        }
    }
    let mut dice = Dice(seed);
    for question in placement::QUESTIONS.iter().chain(untyped::QUESTIONS) {
        compared.question(question, true)?;
    }
    for _ in 0..cases * 20 {
        compared.question(&placement::question(&mut dice), false)?;
        compared.question(&untyped::question(&mut dice), true)?;
    }
    for (statement, parameters) in untyped::WITH_PARAMETERS {
        let parameters: Vec<_> = parameters.iter().map(|value| Some((*value).to_owned())).collect();
        compared.ask(statement, &parameters, Form::Texts, true)?;
        compared.ask(statement, &parameters, Form::Binary, true)?;
    }
    for (statement, types, parameters) in declared::questions() {
        compared.declare(&types);
        compared.ask(&statement, &parameters, Form::Texts, true)?;
        compared.ask(&statement, &parameters, Form::Binary, true)?;
    }
    compared.declare(&[]);
    let mut dice = Dice(seed);
    for question in arrays::QUESTIONS {
        compared.question(question, true)?;
    }
    for _ in 0..cases * 2 {
        for question in regular_expressions::questions(&mut dice).iter().chain(&arrays::questions(&mut dice)) {
            compared.question(question, true)?;
        }
    }
    let mut dice = Dice(seed);
    for _ in 0..cases * 100 {
        let (ordered, question) = composition::question(&mut dice);
        compared.question(&question, ordered)?;
        compared.question(&names::question(&mut dice), true)?;
        compared.question(&limits::question(&mut dice), true)?;
    }
    let gone = compared.gone(seed)?;
    let Compared { asked, unanswered, rows, errors, kinds, found, .. } = &compared;
    println!("{asked} questions, {rows} rows, {errors} refused by both, {unanswered} that PostgreSQL did not answer");
    assert!(
        found.is_empty() && gone.is_empty(),
        "with {SEED}={seed}, {} of {asked} answers differ {kinds:?}; no difference any more: {gone:#?}\n\n{}",
        found.len(),
        found.iter().take(LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join("\n\n")
    );
    assert!(
        *rows > *asked * 10 && errors * 5 < *asked * 2 && unanswered * 1000 < *asked,
        "{asked} questions, {rows} rows, {errors} errors, {unanswered} unanswered: too little"
    );
    Ok(())
}

struct Compared {
    rowkey: Rowkey,
    ours: Client,
    theirs: Client,
    zone: &'static str,
    asked: usize,
    /// Joins of which PostgreSQL makes so many rows that it does not end in time, and faults of its
    /// own.
    unanswered: usize,
    rows: usize,
    errors: usize,
    kinds: BTreeMap<&'static str, usize>,
    found: Vec<String>,
}

impl Compared {
    fn zone(&mut self, zone: &'static str) -> Outcome<()> {
        self.zone = zone;
        let statement = format!("SET TimeZone = '{zone}'");
        self.ours.run(&statement)?;
        self.theirs.run(&statement)
    }

    fn declare(&mut self, types: &[u32]) {
        self.ours.declare(types);
        self.theirs.declare(types);
    }

    /// Asks in all forms.
    fn question(&mut self, statement: &str, ordered: bool) -> Outcome<()> {
        // A difference once is enough.
        if self.ask(statement, &[], Form::Simple, ordered)? {
            self.ask(statement, &[], Form::Texts, ordered)?;
            self.ask(statement, &[], Form::Binary, ordered)?;
        }
        Ok(())
    }

    /// Whether they agree.
    fn ask(&mut self, statement: &str, parameters: &[Option<String>], form: Form, ordered: bool) -> Outcome<bool> {
        let constructs = DIFFERENCES.iter().any(|known| known.pieces.iter().all(|piece| statement.contains(piece)));
        let questions = QUESTIONS.iter().chain(WITH_PARAMETERS).any(|(question, _)| *question == statement);
        if constructs || questions {
            return Ok(true);
        }
        self.asked += 1;
        let mut theirs =
            self.theirs.ask(statement, parameters, form).map_err(|gone| format!("PostgreSQL: {statement}: {gone}"))?;
        let is_no_answer = |failure: &Failure| failure.sqlstate == QUERY_CANCELED || failure.message == POSTGRES_FAULT;
        if theirs.as_ref().is_err_and(is_no_answer) {
            self.unanswered += 1;
            return Ok(false);
        }
        let mut ours = self.ours.ask(statement, parameters, form);
        if ["min(", "max(", "GROUP BY", "DISTINCT", "UNION", "INTERSECT", "EXCEPT"]
            .iter()
            .any(|word| statement.contains(word))
        {
            // Which of two equal zeros represents both is unspecified, too.
            if let Ok(Ok(ours)) = &mut ours {
                one_zero(ours);
            }
            if let Ok(theirs) = &mut theirs {
                one_zero(theirs);
            }
        }
        if let (Ok(Ok(ours)), Ok(theirs)) = (&mut ours, &mut theirs) {
            one_nan(ours);
            one_nan(theirs);
        }
        let ours = match ours {
            Ok(ours) => ours,
            Err(error) => {
                self.ours = self.rowkey.connect().map_err(|gone| format!("{statement}: {error}, then {gone}"))?;
                self.ours.run(&format!("SET TimeZone = '{}'", self.zone))?;
                *self.kinds.entry("broken").or_default() += 1;
                self.found.push(format!("[broken] {form:?} {parameters:?}: {statement}\n  {error}"));
                return Ok(false);
            }
        };
        match &theirs {
            Ok(answer) => self.rows += answer.rows.len(),
            Err(_) => self.errors += 1,
        }
        let strict = is_strict(statement);
        if is_listed(statement, &ours, &theirs, strict) {
            return Ok(true);
        }
        let Some((kind, what)) = difference(ours, theirs, ordered, strict) else { return Ok(true) };
        *self.kinds.entry(kind).or_default() += 1;
        self.found.push(format!("[{kind}] {form:?} {parameters:?}: {statement}\n{what}"));
        Ok(false)
    }

    /// Known differences that are none.
    fn gone(&mut self, seed: u64) -> Outcome<Vec<String>> {
        let mut gone = Vec::new();
        self.zone("Europe/Berlin")?;
        let constructs = DIFFERENCES.iter().map(|known| (known.example, known.reason));
        let refusals = REFUSALS.iter().map(|known| (known.example, known.reason));
        // What differs in one value of a column does so with the data of the seed alone.
        let shown =
            |question: &str| seed == SEED_DEFAULT || !["items", "parts"].iter().any(|table| question.contains(table));
        let questions = QUESTIONS.iter().copied().filter(|(question, _)| shown(question));
        for (example, reason) in constructs.chain(refusals).chain(questions) {
            let alike = |ours: &mut Client, theirs: &mut Client, form| -> Outcome<bool> {
                let (ours, theirs) = (ours.ask(example, &[], form)?, theirs.ask(example, &[], form)?);
                Ok(difference(ours, theirs, true, is_strict(example)).is_none())
            };
            let (ours, theirs) = (&mut self.ours, &mut self.theirs);
            if alike(ours, theirs, Form::Simple)? && alike(ours, theirs, Form::Binary)? {
                gone.push(format!("{example}: {reason}"));
            }
        }
        Ok(gone)
    }
}

/// Whether it has one value that can fail: `a <@ b` is `b @> a`, which looks at b first.
fn is_strict(statement: &str) -> bool {
    ![" AS e FROM ", " <@ "].iter().any(|several| statement.contains(several))
}

/// Whether it is refused by words that are listed, or by those for values that there are none of:
/// numerics of more than 38 digits, infinite times, and intervals of more nanoseconds than 64 bits
/// count. Which value of many fails first is unspecified.
fn is_listed(statement: &str, ours: &Answer, theirs: &Answer, strict: bool) -> bool {
    // Whether a constant that fails is computed beside a NULL that is written there is unspecified.
    if let (Ok(ours), Err(theirs)) = (ours, theirs) {
        let is_null = !ours.rows.is_empty() && ours.rows.iter().all(|row| row == "NULL");
        let is_value = !strict && theirs.sqlstate.starts_with("22");
        return is_value && (is_null && statement.contains("NULL") || is_of_other_branch(statement, theirs));
    }
    let Err(ours) = ours else { return false };
    let is_digits = ours.sqlstate == "22003" && ours.message.contains("digits");
    let is_infinite = ours.sqlstate == "0A000" && ours.message.contains("infinity\" of type");
    let is_long = ours.sqlstate == "0A000" && ours.message.contains("intervals with a time of more than");
    let is_named = REFUSALS.iter().any(|known| ours.message.contains(known.words));
    // A NULL that is known beforehand makes PostgreSQL leave out what else is computed.
    if let Ok(theirs) = theirs
        && !strict
        && ours.sqlstate.starts_with("22")
        && theirs.rows.iter().all(|row| row == "NULL")
    {
        return true;
    }
    (is_digits || is_infinite || is_long || is_named)
        && match theirs {
            Ok(_) => true,
            Err(theirs) => !strict && theirs.sqlstate.starts_with("22"),
        }
}

/// Whether a literal that cannot be read stands where branches are chosen: PostgreSQL reads it when
/// it plans, though no row may need it ("conditional expressions", PostgreSQL).
fn is_of_other_branch(statement: &str, theirs: &Failure) -> bool {
    let value = theirs.message.split('"').nth(1).filter(|value| !value.is_empty());
    let is_written = value.is_some_and(|value| statement.contains(&format!("'{value}'")));
    is_written && ["coalesce(", "CASE "].iter().any(|branches| statement.contains(branches))
}

/// What differs first, the worst before the rest.
fn difference(ours: Answer, theirs: Answer, ordered: bool, strict: bool) -> Option<(&'static str, String)> {
    let (mut ours, mut theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(ours), Err(theirs)) if ours.sqlstate != theirs.sqlstate => {
            // Which value of many fails first is unspecified.
            let of_value = |failure: &Failure| ["22", "54000"].iter().any(|code| failure.sqlstate.starts_with(code));
            if !strict && of_value(&ours) && of_value(&theirs) {
                return None;
            }
            return Some(("sqlstate", format!("  ours   {ours:?}\n  theirs {theirs:?}")));
        }
        (Err(ours), Err(theirs)) => {
            let differ = WORDED.contains(&ours.sqlstate.as_str()) && ours != theirs;
            return differ.then(|| ("wording", format!("  ours   {ours:?}\n  theirs {theirs:?}")));
        }
        (Ok(ours), Err(theirs)) => {
            return Some(("answered", format!("  ours   {:?}\n  theirs {theirs:?}", ours.rows.first())));
        }
        (Err(ours), Ok(theirs)) => {
            return Some(("refused", format!("  ours   {ours:?}\n  theirs {:?}", theirs.rows.first())));
        }
    };
    if !ordered {
        ours.rows.sort();
        theirs.rows.sort();
    }
    if ours.rows != theirs.rows {
        numerics_alike(&mut ours, &mut theirs);
    }
    if ours.rows != theirs.rows {
        let count = ours.rows.len().max(theirs.rows.len());
        let first = (0..count).find(|&at| ours.rows.get(at) != theirs.rows.get(at)).unwrap_or(0);
        let (a, b) = (ours.rows.get(first), theirs.rows.get(first));
        let counts = format!("{} rows and {}, first at {first}", ours.rows.len(), theirs.rows.len());
        return Some(("rows", format!("  {counts}\n  ours   {a:?}\n  theirs {b:?}")));
    }
    if ours.columns != theirs.columns || ours.parameters != theirs.parameters {
        let differ: Vec<_> = ours.columns.iter().zip(&theirs.columns).filter(|(a, b)| a != b).collect();
        let parameters = (ours.parameters != theirs.parameters).then_some((&ours.parameters, &theirs.parameters));
        let counts = (ours.columns.len(), theirs.columns.len());
        return Some(("types", format!("  {counts:?} {differ:?} {parameters:?}")));
    }
    (ours.tag != theirs.tag).then(|| ("tag", format!("  ours {:?} theirs {:?}", ours.tag, theirs.tag)))
}

/// Numerics with a fixed number of digits behind the point for a column show more or fewer of them
/// than PostgreSQL's, which belong to each value: those that are equal as far as both show them are
/// made alike. Only text shows that.
fn numerics_alike(ours: &mut Rows, theirs: &mut Rows) {
    const NUMERIC: u32 = 1700;
    let numeric: Vec<bool> = theirs.columns.iter().map(|column| column.type_oid == NUMERIC).collect();
    for (ours, theirs) in ours.rows.iter_mut().zip(&theirs.rows) {
        let theirs: Vec<&str> = theirs.split(SEPARATOR).collect();
        let mut mine: Vec<&str> = ours.split(SEPARATOR).collect();
        if mine.len() != theirs.len() || mine.len() != numeric.len() {
            continue;
        }
        for ((ours, theirs), numeric) in mine.iter_mut().zip(theirs).zip(&numeric) {
            if *numeric && (ours.starts_with("0x") || same_number(ours, theirs)) {
                *ours = theirs;
            }
        }
        *ours = mine.join(SEPARATOR);
    }
}

/// Equal in the digits that both have, but for the rounding of the last.
fn same_number(ours: &str, theirs: &str) -> bool {
    let parse = |text: &str| text.trim_matches('"').parse::<f64>();
    let digits = |text: &str| text.split_once('.').map_or(0, |(_, behind)| behind.len() - 1);
    match (parse(ours), parse(theirs)) {
        (Ok(a), Ok(b)) => {
            let shown = 10_f64.powi(-(digits(ours).min(digits(theirs)) as i32));
            (a - b).abs() <= shown.max(b.abs() * 1e-14)
        }
        _ => false,
    }
}

/// The sign of a NaN is unspecified; only binary shows it.
fn one_nan(rows: &mut Rows) {
    for row in &mut rows.rows {
        *row = row.replace("0xfff8000000000000", "0x7ff8000000000000").replace("0xffc00000", "0x7fc00000");
    }
}

fn one_zero(rows: &mut Rows) {
    for row in &mut rows.rows {
        *row = row.replace("\"-0\"", "\"0\"").replace("0x8000000000000000", "0x0000000000000000");
        // The only item of an array, too.
        *row = row.replace("\"{-0}\"", "\"{0}\"");
    }
}
