//! What an import did, for people to read.

use std::io::{self, Write};
use std::time::Duration;

use super::super::progress::per_second;
use super::super::text::{counted, grouped, visible, width};
use rowkey_model::EdmType;
use rowkey_sql::engine::{ImportReport, PropertyReport};

/// Stands before a property that has values of several types.
const MIXED_MARK: &str = "*";

/// Prints the properties by type, then the counts, so that these end up next to the prompt.
pub(super) fn print(
    report: &ImportReport,
    table: &str,
    took: Duration,
    dry_run: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    print_properties(&report.properties, report.beyond_columns, out)?;
    let mut counts = vec![
        ("entities read", report.entities),
        ("inserted", report.inserted),
        ("replaced", report.replaced),
        ("unchanged", report.unchanged),
        ("older", report.older),
        ("duplicates", report.duplicates),
    ];
    if report.superseded > 0 {
        counts.push(("superseded", report.superseded));
    }
    counts.push(("rejected", report.rejected));
    if report.conflicting > 0 {
        // Of the rejected ones.
        counts.push(("  conflicting", report.conflicting));
    }
    if report.before_since > 0 {
        counts.push(("before --since", report.before_since));
    }
    let counts: Vec<(&str, String)> = counts.into_iter().map(|(name, count)| (name, grouped(count))).collect();
    let columns = counts.iter().map(|(_, count)| count.len()).max().unwrap_or(0);
    let dry = if dry_run { " (dry run: nothing was written)" } else { "" };
    writeln!(out, "table {table}{dry}")?;
    for (name, count) in &counts {
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

/// What was assumed of types that the input does not name, and how to name them.
pub(super) fn assumed(report: &ImportReport) -> Vec<String> {
    let doubtful: Vec<_> = report.assumed.iter().filter_map(|assumed| Some((assumed, assumed.looks_like?))).collect();
    if doubtful.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["note: the input does not name these types:".to_owned()];
    let named =
        |edm_types: &[EdmType]| edm_types.iter().map(|edm_type| edm_type.name()).collect::<Vec<_>>().join(" and ");
    for (assumed, looks_like) in doubtful.iter().take(ASSUMED_LISTED_MAX) {
        lines.push(format!("  {}: taken as {}, looks like {looks_like}", assumed.property, named(&assumed.assumed)));
    }
    if doubtful.len() > ASSUMED_LISTED_MAX {
        lines.push(format!("  and {} more", doubtful.len() - ASSUMED_LISTED_MAX));
    }
    let types = doubtful.iter().map(|(assumed, looks_like)| format!("{}=Edm.{looks_like}", assumed.property));
    lines
        .push(format!("  if that is what they are, import again with --types {}", types.collect::<Vec<_>>().join(",")));
    lines
}

/// Properties that are listed one by one.
const ASSUMED_LISTED_MAX: usize = 18;

/// A line for each property and type.
fn print_properties(properties: &[PropertyReport], beyond_columns: u64, out: &mut dyn Write) -> io::Result<()> {
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
    if beyond_columns > 0 {
        let more = counted(beyond_columns, "property", "properties");
        writeln!(out, "and {more} more, for which no column is left: all their values are kept, in \"(other)\"")?;
    }
    if properties.iter().any(|property| property.types.len() > 1) {
        writeln!(out, "{MIXED_MARK} has values of several types; each is also a column of its own, \"Name:Type\"")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests;
