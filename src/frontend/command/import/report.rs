//! What an import did, for people to read.

use std::io::{self, Write};
use std::time::Duration;

use super::super::text::{counted, grouped, visible, width};
use super::progress::per_second;
use crate::frontend::embedded::{ImportReport, PropertyReport};

/// Stands before a property that has values of several types.
const MIXED_MARK: &str = "*";

/// Prints the properties by type, then the counts, so that these end up next to the prompt.
pub(super) fn print(report: &ImportReport, table: &str, took: Duration, out: &mut dyn Write) -> io::Result<()> {
    print_properties(&report.properties, out)?;
    let counts = [
        ("entities read", report.entities),
        ("inserted", report.inserted),
        ("replaced", report.replaced),
        ("unchanged", report.unchanged),
        ("older", report.older),
        ("duplicates", report.duplicates),
        ("rejected", report.rejected),
    ]
    .map(|(name, count)| (name, grouped(count)));
    let columns = counts.iter().map(|(_, count)| count.len()).max().unwrap_or(0);
    writeln!(out, "table {table}")?;
    for (name, count) in counts {
        writeln!(out, "  {name:<13}  {count:>columns$}")?;
    }
    let partitions =
        report.partitions.map(|partitions| format!(" in {}", counted(partitions, "partition", "partitions")));
    writeln!(
        out,
        "  in the table   {}{}, {}",
        counted(report.stored, "entity", "entities"),
        partitions.unwrap_or_default(),
        counted(report.files, "file", "files"),
    )?;
    let rate = grouped(per_second(report.entities, took));
    writeln!(out, "  time           {:.1} s, {rate} entities/s", took.as_secs_f64())
}

/// A line for each property and type.
fn print_properties(properties: &[PropertyReport], out: &mut dyn Write) -> io::Result<()> {
    if properties.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<[String; 3]> = vec![["property".to_owned(), "type".to_owned(), "values".to_owned()]];
    for property in properties {
        let mark = if property.types.len() > 1 { MIXED_MARK } else { "" };
        for (at, (edm_type, count)) in property.types.iter().enumerate() {
            let name = if at == 0 { format!("{}{mark}", visible(&property.name)) } else { String::new() };
            rows.push([name, edm_type.name().to_owned(), grouped(*count)]);
        }
    }
    let columns: [usize; 3] = std::array::from_fn(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0));
    for [name, edm_type, count] in &rows {
        let space = " ".repeat(columns[0] - width(name));
        writeln!(out, "{name}{space}  {edm_type:<0$}  {count:>1$}", columns[1], columns[2])?;
    }
    if properties.iter().any(|property| property.types.len() > 1) {
        writeln!(out, "{MIXED_MARK} has values of several types; each is also a column of its own, \"Name:Type\"")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests;
