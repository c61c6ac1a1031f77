//! The same statements that write, on Rowkey and on PostgreSQL: each answers alike, and leaves the
//! same rows behind.

use super::rowkey::Rowkey;
use super::wire::{Answer, Client, Form};
use super::{CASES, Outcome, SEED, SEED_DEFAULT, from_environment};
use crate::postgres::server::Postgres;
use rowkey_base::testing::Dice;

/// Statements of each case of the question test that this one makes.
const STATEMENTS_PER_CASE: u64 = 150;
const CASES_DEFAULT: u64 = 2;

const COLUMNS: &str = r#"("PartitionKey", "RowKey", n, t, f, b)"#;
const ALL: &str = r#"SELECT "PartitionKey", "RowKey", n, t, f, b FROM things ORDER BY 1, 2"#;
const KEY: &str = r#"("PartitionKey", "RowKey")"#;

struct Writer<'d> {
    dice: &'d mut Dice,
}

impl Writer<'_> {
    fn key(&mut self) -> String {
        format!("'p{}', 'r{}'", self.dice.below(3), self.dice.below(6))
    }

    /// A value of a column, in an UPDATE or (`alone`) where there is no row yet.
    fn value(&mut self, column: char, alone: bool) -> String {
        let number = self.dice.below(12) as i64 - 3;
        let numbers = [number.to_string(), "NULL".into(), format!("'{number}'"), "2.5".into(), "1 + 1".into()];
        let constants: Vec<String> = match column {
            'n' => [numbers.to_vec(), vec!["(SELECT max(n) FROM things)".into(), "DEFAULT".into()]].concat(),
            't' => ["'x1'", "'x2'", "NULL", "'a' || 'b'", "5", "DEFAULT", "(SELECT min(t) FROM things)", "''"]
                .map(str::to_owned)
                .to_vec(),
            'f' => ["1", "1.5", "NULL", "'3.25'", "10 / 4", "-0.125", "DEFAULT"].map(str::to_owned).to_vec(),
            _ => ["true", "false", "NULL", "'t'", "1 > 2", "DEFAULT"].map(str::to_owned).to_vec(),
        };
        let computed: &[&str] = match column {
            'n' => &["n", "n + 1", "f", "coalesce(n, 0) * 2", "length(t)", "b", "t", "100 / n"],
            't' => &["t", "t || 'y'", "n", "upper(t)", "b", "f"],
            'f' => &["n", "f * 2", "n / 2.0", "t", "b"],
            _ => &["n > 2", "b", "NOT b", "n", "t LIKE 'x%'"],
        };
        if alone || self.dice.chance(2) {
            constants[self.dice.below(constants.len())].clone()
        } else {
            self.dice.pick(computed).to_owned()
        }
    }

    fn row(&mut self) -> String {
        let key = self.key();
        let values: Vec<String> = "ntfb".chars().map(|column| self.value(column, true)).collect();
        format!("({key}, {})", values.join(", "))
    }

    fn condition(&mut self) -> String {
        let number = self.dice.below(10);
        let conditions = [
            format!("things.n > {number}"),
            "things.n IS NULL".to_owned(),
            format!(r#"things."PartitionKey" = 'p{}'"#, number % 4),
            format!(r#"things."RowKey" IN ('r1', 'r{number}')"#),
            "false".to_owned(),
            "NULL".to_owned(),
            "true".to_owned(),
            "things.n = 1 AND things.n = 2".to_owned(),
            "things.t LIKE 'x%'".to_owned(),
            "things.n IN (SELECT n FROM other)".to_owned(),
            r#"EXISTS (SELECT 1 FROM other q WHERE q."RowKey" = things."RowKey")"#.to_owned(),
            r#"NOT EXISTS (SELECT 1 FROM other q WHERE q.n = things.n)"#.to_owned(),
            format!(r#"things."RowKey" IN (SELECT "RowKey" FROM things ORDER BY "RowKey" LIMIT {})"#, number % 3),
            "things.b".to_owned(),
            "NOT (things.n > 3)".to_owned(),
            "things.n = (SELECT min(n) FROM other)".to_owned(),
            "things.f BETWEEN 0 AND 3".to_owned(),
            format!(r#"(things."PartitionKey", things."RowKey") > ('p1', 'r{number}')"#),
        ];
        let one = conditions[self.dice.below(conditions.len())].clone();
        if !self.dice.chance(3) {
            return one;
        }
        let other = &conditions[self.dice.below(conditions.len())];
        let operator = self.dice.pick(&["AND", "OR"]);
        format!("({one}) {operator} ({other})")
    }

    fn filter(&mut self) -> String {
        if self.dice.chance(4) {
            // One entity, as most are written.
            let (partition, row) = (self.dice.below(3), self.dice.below(6));
            return format!(r#" WHERE things."PartitionKey" = 'p{partition}' AND things."RowKey" = 'r{row}'"#);
        }
        if self.dice.chance(10) { String::new() } else { format!(" WHERE {}", self.condition()) }
    }

    fn returning(&mut self) -> &'static str {
        let returning = [
            "",
            "",
            r#" RETURNING things."PartitionKey", things."RowKey", things.n, things.t"#,
            " RETURNING n + 1, t AS text, upper(t)",
            " RETURNING things.n, things.t, things.f, things.b",
            " RETURNING (SELECT count(*) FROM things), n",
        ];
        self.dice.pick(&returning)
    }

    fn assignments(&mut self) -> String {
        let mut columns: Vec<char> = "ntfb".chars().filter(|_| self.dice.chance(2)).collect();
        if columns.is_empty() {
            columns.push('n');
        }
        let values: Vec<String> = columns.iter().map(|column| self.value(*column, false)).collect();
        if columns.len() == 2 && self.dice.chance(3) {
            return format!("({}, {}) = ({}, {})", columns[0], columns[1], values[0], values[1]);
        }
        let each = columns.iter().zip(&values).map(|(column, value)| format!("{column} = {value}"));
        each.collect::<Vec<_>>().join(", ")
    }

    fn statement(&mut self) -> String {
        match self.dice.below(50) {
            0..14 => {
                let rows: Vec<String> = (0..=self.dice.below(3)).map(|_| self.row()).collect();
                let conflict = self.dice.pick(&[
                    "",
                    "",
                    " ON CONFLICT DO NOTHING",
                    " ON CONFLICT KEY DO NOTHING",
                    " ON CONFLICT KEY DO UPDATE SET n = excluded.n, t = things.t || 'u'",
                    " ON CONFLICT KEY DO UPDATE SET n = things.n + excluded.n WHERE things.n > 2",
                ]);
                let conflict = conflict.replace("KEY", KEY);
                format!("INSERT INTO things {COLUMNS} VALUES {}{conflict}{}", rows.join(", "), self.returning())
            }
            14..20 => {
                let (filter, conflict) = (self.filter(), self.dice.pick(&["", " ON CONFLICT DO NOTHING"]));
                let part = self.dice.below(3);
                format!(
                    "INSERT INTO things {COLUMNS} SELECT 's{part}', \"PartitionKey\" || \"RowKey\", n, t, f, b FROM things{filter}{conflict}{}",
                    self.returning()
                )
            }
            20..32 => format!("UPDATE things SET {}{}{}", self.assignments(), self.filter(), self.returning()),
            32..35 => format!(
                "UPDATE things SET n = o.n, t = o.t FROM other o WHERE o.\"RowKey\" = things.\"RowKey\" AND ({}) RETURNING things.\"RowKey\", things.n, o.n",
                self.condition()
            ),
            35..39 => format!("DELETE FROM things{}{}", self.filter(), self.returning()),
            39..41 => format!(
                "DELETE FROM things USING other o WHERE o.\"RowKey\" = things.\"RowKey\" AND ({}) RETURNING o.t, things.n",
                self.condition()
            ),
            41..44 => format!(
                "MERGE INTO things x USING other o ON x.\"RowKey\" = o.\"RowKey\" AND x.\"PartitionKey\" = 'p1' WHEN MATCHED AND o.n > {} THEN DELETE WHEN MATCHED THEN UPDATE SET n = x.n + o.n, t = o.t WHEN NOT MATCHED AND o.n < {} THEN INSERT {KEY_AND_NUMBER} VALUES ('p1', o.\"RowKey\", o.n)",
                self.dice.below(5),
                self.dice.below(9)
            ),
            44..46 => "BEGIN".to_owned(),
            46..48 => self.dice.pick(&["COMMIT", "ROLLBACK"]).to_owned(),
            48 => "SAVEPOINT s".to_owned(),
            _ => "ROLLBACK TO s".to_owned(),
        }
    }
}

const KEY_AND_NUMBER: &str = r#"("PartitionKey", "RowKey", n)"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rowkey_and_postgres_write_alike() -> Outcome<()> {
    let Some(postgres) = Postgres::start().await? else { return Ok(()) };
    let (seed, cases) = (from_environment(SEED, SEED_DEFAULT)?, from_environment(CASES, CASES_DEFAULT)?);
    let rowkey = Rowkey::start_in("writes", &[])?;
    let (mut ours, mut theirs) = (rowkey.connect()?, Client::unix(&postgres.socket(), "postgres", "postgres")?);
    ours.run("CREATE TABLE things (n int, t text, f double precision, b boolean)")?;
    ours.run("CREATE TABLE other (n int, t text)")?;
    let keys = r#""PartitionKey" text NOT NULL, "RowKey" text NOT NULL, PRIMARY KEY ("PartitionKey", "RowKey")"#;
    theirs.run(&format!("CREATE TABLE things ({keys}, n int, t text, f double precision, b boolean)"))?;
    theirs.run(&format!("CREATE TABLE other ({keys}, n int, t text)"))?;
    let mut dice = Dice(seed);
    let mut writer = Writer { dice: &mut dice };
    let mut statements = vec![
        r#"INSERT INTO other ("PartitionKey", "RowKey", n, t) VALUES ('o', 'r1', 1, 'o1'), ('o', 'r3', 7, 'o3'), ('o', 'r4', NULL, 'o4')"#
            .to_owned(),
    ];
    statements
        .extend((0..8).map(|_| format!("INSERT INTO things {COLUMNS} VALUES {} ON CONFLICT DO NOTHING", writer.row())));
    statements.extend((0..cases * STATEMENTS_PER_CASE).map(|_| writer.statement()));
    for (number, statement) in statements.iter().enumerate() {
        for asked in [statement.as_str(), ALL] {
            let form = if number % 2 == 0 { Form::Simple } else { Form::Texts };
            let (ours, theirs) = (ours.ask(asked, &[], form)?, theirs.ask(asked, &[], form)?);
            // The rows of VALUES are returned in their order.
            let ordered = asked.starts_with("INSERT") && asked.contains(" VALUES ");
            let (ours, theirs) = (comparable(ours, ordered), comparable(theirs, ordered));
            assert_eq!(ours, theirs, "seed {seed}, statement {number}: {statement}\nasked: {asked}\n(Rowkey is left)");
        }
    }
    Ok(())
}

/// What is compared: SQLSTATE, or tag, types and rows, sorted where they come in any order.
fn comparable(answer: Answer, ordered: bool) -> Result<(String, Vec<u32>, Vec<String>), String> {
    let mut answer = answer.map_err(|failure| failure.sqlstate)?;
    if !ordered {
        answer.rows.sort();
    }
    Ok((answer.tag, answer.columns.iter().map(|column| column.type_oid).collect(), answer.rows))
}
