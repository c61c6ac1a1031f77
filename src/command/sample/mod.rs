//! Sample data: the tables that Microsoft's table design guide uses as examples, with invented
//! people and devices.
//!
//! | table | PartitionKey | RowKey | shows |
//! |---|---|---|---|
//! | `Employees` | department | employee id, `000123` | the plain case; beside each employee the entity of a secondary index, RowKey `email_...` |
//! | `Departments` | `dept` | name of the department | a table small enough for one partition |
//! | `EmployeeReviews` | department | employee id and year, `000123_2024` | a compound key: one employee's reviews are a prefix |
//! | `Logins` | user | reverse ticks | a log tail: the newest entity of a partition comes first |
//! | `Events` | device | time | many partitions, properties of mixed types and missing ones |
//!
//! The data is the same every time and is made while it is imported.

mod departments;
mod employees;
mod events;
mod lines;
mod logins;
mod people;
mod random;
mod reviews;

use std::io::Read;
use std::sync::Arc;

use self::lines::{Entities, Lines};
use super::failure::Failure;
use rowkey_formats::Source;
use rowkey_sql::engine::{Engine, ImportOptions, OnReject};
use rowkey_sql::session::Result;

/// One question about one entity of `Events`, asked with less and less of its key: a label and the
/// statement. All have the same answer; what is read for it grows.
pub(crate) const QUESTIONS: &[(&str, &str)] = &[
    (
        "point: the whole key",
        r#"SELECT "Ticket", "Kind", "Value" FROM "Events" WHERE "PartitionKey" = 'device-0421' AND "RowKey" = '2024-02-20T23:59:45Z'"#,
    ),
    (
        "range: one day of one device",
        r#"SELECT "Ticket", "Kind", "Value" FROM "Events" WHERE "PartitionKey" = 'device-0421' AND "RowKey" LIKE '2024-02-20%' AND "Ticket" = 'T-0421-0100'"#,
    ),
    (
        "partition: one device",
        r#"SELECT "Ticket", "Kind", "Value" FROM "Events" WHERE "PartitionKey" = 'device-0421' AND "Ticket" = 'T-0421-0100'"#,
    ),
    ("table: no key at all", r#"SELECT "Ticket", "Kind", "Value" FROM "Events" WHERE "Ticket" = 'T-0421-0100'"#),
];

/// Imports the sample tables, about 300,000 entities in all. Blocks until they are stored; where
/// they are already, nothing changes.
pub(crate) fn fill(db: &Engine) -> Result<()> {
    for (table, text) in tables() {
        let source = Source::stream(format!("sample {table}"), text);
        let options = ImportOptions { on_reject: OnReject::Stop, ..ImportOptions::default() };
        db.entities().import_blocking(table, vec![source], &options)?;
    }
    Ok(())
}

/// [`fill`] on a thread that may block.
pub(crate) async fn add(database: &Arc<Engine>) -> std::result::Result<(), Failure> {
    let filled = Arc::clone(database);
    match tokio::task::spawn_blocking(move || fill(&filled)).await {
        Ok(filled) => Ok(filled?),
        Err(error) => Err(Failure::defect(format!("making the sample tables ended unexpectedly: {error}"))),
    }
}

/// The tables and their entities in the service's JSON, one to a line, in the order of their keys.
fn tables() -> [(&'static str, Box<dyn Read + Send>); 5] {
    fn text(entities: impl Entities + 'static) -> Box<dyn Read + Send> {
        Box::new(Lines::new(entities))
    }
    [
        ("Departments", text(departments::Departments::new())),
        ("Employees", text(employees::Employees::new())),
        ("EmployeeReviews", text(reviews::Reviews::new())),
        ("Logins", text(logins::Logins::new())),
        ("Events", text(events::Events::new())),
    ]
}

#[cfg(test)]
mod tests;
