//! The modes of transactions and the settings behind them: in any order, each statement answers as
//! on PostgreSQL.

use super::rowkey::Rowkey;
use super::wire::{Aside, Client, Form};
use super::{CASES, Outcome, SEED, SEED_DEFAULT, from_environment};
use crate::postgres::server::Postgres;
use rowkey_base::testing::Dice;

/// Sessions of each case of the question test, and statements of each.
const SESSIONS_PER_CASE: u64 = 60;
const STATEMENTS: usize = 25;
const CASES_DEFAULT: u64 = 2;

const LEVELS: [&str; 4] = ["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED"];
const SETTINGS: [&str; 8] = [
    "transaction_read_only",
    "transaction_read_only",
    "transaction_read_only",
    "default_transaction_read_only",
    "transaction_isolation",
    "default_transaction_isolation",
    "transaction_deferrable",
    "default_transaction_deferrable",
];
const WRITE: &str = r#"DELETE FROM things WHERE "PartitionKey" = 'x'"#;

fn mode(dice: &mut Dice) -> String {
    match dice.below(6) {
        0 => "READ ONLY".to_owned(),
        1 => "READ WRITE".to_owned(),
        2 => format!("ISOLATION LEVEL {}", dice.pick(&LEVELS)),
        3 => "DEFERRABLE".to_owned(),
        4 => "NOT DEFERRABLE".to_owned(),
        _ => format!("READ ONLY, ISOLATION LEVEL {}", dice.pick(&LEVELS)),
    }
}

/// A setting and a value of it.
fn setting(dice: &mut Dice) -> (&'static str, String) {
    let name = dice.pick(&SETTINGS);
    let value = if name.ends_with("isolation") { dice.pick(&LEVELS) } else { dice.pick(&["on", "off", "1", "false"]) };
    (name, value.to_owned())
}

fn statement(dice: &mut Dice) -> String {
    match dice.below(30) {
        0 => "BEGIN".to_owned(),
        1 => format!("BEGIN {}", mode(dice)),
        2 => format!("START TRANSACTION {}", mode(dice)),
        3 => format!("SET TRANSACTION {}", mode(dice)),
        4 => format!("SET SESSION CHARACTERISTICS AS TRANSACTION {}", mode(dice)),
        5..8 => {
            let (name, value) = setting(dice);
            format!("SET {}{name} = '{value}'", dice.pick(&["", "LOCAL ", "SESSION "]))
        }
        8 => format!("SET {}{} TO DEFAULT", dice.pick(&["", "LOCAL "]), setting(dice).0),
        9 => {
            let (name, value) = setting(dice);
            format!("SELECT set_config('{name}', '{value}', {})", dice.pick(&["true", "false"]))
        }
        10..12 => format!("SHOW {}", setting(dice).0),
        12 => format!("SELECT current_setting('{}')", setting(dice).0),
        13 => "SELECT 1".to_owned(),
        14..17 => WRITE.to_owned(),
        17 => "SAVEPOINT s".to_owned(),
        18 => "RELEASE s".to_owned(),
        19 => "ROLLBACK TO s".to_owned(),
        20 => "COMMIT".to_owned(),
        21 => "ROLLBACK".to_owned(),
        22 => "COMMIT AND CHAIN".to_owned(),
        23 => "ROLLBACK AND CHAIN".to_owned(),
        24 => format!("RESET {}", setting(dice).0),
        25 => "RESET ALL".to_owned(),
        26 => "DISCARD ALL".to_owned(),
        _ => "SHOW transaction_read_only".to_owned(),
    }
}

/// One statement, or two in a text.
fn text(dice: &mut Dice) -> String {
    if dice.chance(12) { format!("{}; {}", statement(dice), statement(dice)) } else { statement(dice) }
}

/// Tag and rows, or SQLSTATE and message; and what was said beside them.
type Reply = (Result<(String, Vec<String>), String>, Aside);

fn answer(client: &mut Client, text: &str, form: Form) -> Outcome<Reply> {
    let answer = client.ask(text, &[], form)?;
    let answer = answer.map(|found| (found.tag, found.rows));
    Ok((answer.map_err(|failure| format!("{} {}", failure.sqlstate, failure.message)), client.aside().clone()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_have_their_modes_as_on_postgres() -> Outcome<()> {
    let Some(postgres) = Postgres::start().await? else { return Ok(()) };
    let (seed, cases) = (from_environment(SEED, SEED_DEFAULT)?, from_environment(CASES, CASES_DEFAULT)?);
    let rowkey = Rowkey::start_in("modes", &[])?;
    rowkey.connect()?.run("CREATE TABLE things (n int)")?;
    let their_session = || Client::unix(&postgres.socket(), "postgres", "postgres");
    their_session()?.run(r#"CREATE TABLE things ("PartitionKey" text, "RowKey" text, n int)"#)?;
    let mut dice = Dice(seed);
    for session in 0..cases * SESSIONS_PER_CASE {
        let (mut ours, mut theirs) = (rowkey.connect()?, their_session()?);
        let mut asked = Vec::new();
        for _ in 0..STATEMENTS {
            let text = text(&mut dice);
            let form = if text.contains("; ") || dice.chance(2) { Form::Simple } else { Form::Texts };
            let (ours, theirs) = (answer(&mut ours, &text, form)?, answer(&mut theirs, &text, form)?);
            asked.push(text);
            assert_eq!(ours, theirs, "seed {seed}, session {session}: {asked:#?}\n(Rowkey is left)");
        }
    }
    Ok(())
}
