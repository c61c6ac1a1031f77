//! `rowkey check`: looks for damage in what is stored.

use std::io::{self, Write};
use std::path::Path;

use super::arguments::{CheckArguments, DATA_MEMORY};
use super::failure::{ExitStatus, Failure};
use super::text::counted;
use super::unreadable;
use rowkey_sql::engine::{CheckReport, DamagedFile, Engine, LogRepair, Options, Quarantined, is_data_folder};
use rowkey_sql::session::{Error, SqlState};

pub(super) async fn run(arguments: CheckArguments) -> Result<ExitStatus, Failure> {
    let location = arguments.data.location()?;
    if location == DATA_MEMORY {
        return Err(Failure::usage(
            "there is nothing to check: :memory: keeps nothing",
            "name a folder with --data DIR",
        ));
    }
    // Opening would create the folder, and a new one passes the check.
    super::expect_folder(&location)?;
    let is_local = !location.contains("://");
    let not_looked_at = |error| unreadable::not_looked_at(&location, &error);
    if is_local && !is_data_folder(Path::new(&location)).map_err(not_looked_at)? {
        return Err(Failure::plain(
            format!("{location} is no data folder: there is no log and no table in it"),
            "name the folder with --data DIR or in ROWKEY_DATA",
        ));
    }
    let mut out = io::stdout().lock();
    if arguments.repair && !is_local {
        return Err(Failure::usage("a data folder on an object store can only be read", "repair a copy of it"));
    }
    let mut repaired = false;
    // A check leaves the folder as it was.
    let options = arguments.read_only.applied_to(arguments.data.applied_to(Options::default()));
    let options = Options { keep_unnamed_files: true, ..options };
    let database = match super::open_as(&location, options.clone()).await {
        // A missing log cannot be cut; its error has a hint.
        Err(Failure::Engine(error))
            if error.sqlstate() == SqlState::DATA_CORRUPTED && is_local && error.hint().is_none() =>
        {
            if !arguments.repair {
                let hint = "put back what is missing or damaged from a copy; without one, rowkey check --repair ends the log before the damage, \
                            says what is lost by that, and keeps what it cuts";
                return Err(Failure::Engine(error.with_hint(hint)));
            }
            let Some(repair) = Engine::repair_log(&location).await.map_err(beyond_repair)? else {
                let hint = "log and checkpoint have nothing wrong that a repair could mend: put both back from a copy";
                return Err(Failure::Engine(error.with_hint(hint)));
            };
            print_log_repair(&repair, &mut out)?;
            repaired = true;
            super::open_as(&location, options).await?
        }
        opened => opened?,
    };
    if arguments.repair && database.is_read_only() {
        return Err(Failure::plain("there is no permission to write in the data folder", "repair a copy of it"));
    }
    let mut report = database.check().await.map_err(unreadable::failure)?;
    if arguments.repair && !report.damaged.is_empty() {
        for finding in &report.findings {
            writeln!(out, "{}: {}", finding.path, finding.problem)?;
        }
        for quarantined in database.quarantine(&report.damaged).await? {
            print_quarantined(&quarantined, &mut out)?;
        }
        repaired = true;
        report = database.check().await.map_err(unreadable::failure)?;
    }
    print(&report, &location, &mut out)?;
    if !database.unnamed_files().is_empty() {
        writeln!(
            out,
            "no table names these files, which the next opening removes: keep a copy if the log was restored in part"
        )?;
        for path in database.unnamed_files() {
            writeln!(out, "  {path}")?;
        }
    }
    out.flush()?;
    Ok(if report.findings.is_empty() && !repaired { ExitStatus::Well } else { ExitStatus::Found })
}

fn beyond_repair(error: Error) -> Failure {
    if error.sqlstate() != SqlState::DATA_CORRUPTED || error.hint().is_some() {
        return unreadable::failure(error);
    }
    Failure::Engine(error.with_hint(
        "the list of tables and files is lost with it; the files below tables/ are Parquet, which rowkey import reads into a new data folder",
    ))
}

fn print_log_repair(repair: &LogRepair, out: &mut dyn Write) -> io::Result<()> {
    for fault in &repair.faults {
        writeln!(out, "{fault}")?;
    }
    if !repair.is_cut {
        writeln!(out, "repaired: nothing is lost, the log ends with record {}", repair.kept_to)?;
    } else {
        let LogRepair { kept_to, covered_to, known_to, last_lost, .. } = *repair;
        match known_to > kept_to {
            true => writeln!(
                out,
                "repaired: the log ends with record {kept_to}, and goes on behind record {known_to}, which the checkpoint knows of"
            )?,
            false => writeln!(out, "repaired: the log ends with record {kept_to}")?,
        }
        let first = kept_to.max(covered_to) + 1;
        let last = last_lost.max(known_to);
        let behind = "what there may have been behind";
        match last_lost {
            0 if first < last => writeln!(out, "  lost: records {first} to {last}, and {behind}")?,
            0 if kept_to < covered_to && first > last => writeln!(out, "  lost: {behind} record {covered_to}")?,
            0 => writeln!(out, "  lost: record {first}, and {behind} it")?,
            _ => writeln!(
                out,
                "  lost: records {first} to {last}, {} among them and {behind}",
                counted(repair.records_lost, "intact record", "intact records")
            )?,
        }
        if first <= known_to {
            writeln!(
                out,
                "  kept: what records up to {known_to} changed of tables, files and views, which the checkpoint has"
            )?;
        }
    }
    for (table, writes) in &repair.writes_lost {
        writeln!(out, "  lost: {} to table {table}", counted(*writes, "write", "writes"))?;
    }
    if repair.edits_lost {
        writeln!(out, "  lost: changes of tables, views or files (imports, folds, definitions)")?;
    }
    for path in &repair.quarantined {
        writeln!(out, "  kept in {path}")?;
    }
    for path in &repair.run_files {
        writeln!(out, "  no longer part of a table, and kept in {path}: rowkey import reads it")?;
    }
    Ok(())
}

fn print_quarantined(quarantined: &Quarantined, out: &mut dyn Write) -> io::Result<()> {
    let DamagedFile { path, .. } = &quarantined.file;
    if quarantined.was_whole {
        return writeln!(
            out,
            "repaired: {path} is whole, and what the manifest says of it was put right; nothing is lost"
        );
    }
    match &quarantined.moved_to {
        Some(to) => writeln!(out, "repaired: {path} is out of use, and kept in {to}")?,
        None => writeln!(out, "repaired: {path} was missing, and is no longer looked for")?,
    }
    writeln!(out, "  lost: {}", affected(&quarantined.file))
}

/// What a damaged file holds.
fn affected(file: &DamagedFile) -> String {
    let DamagedFile { table, range_partition, first, last, rows, .. } = file;
    format!(
        "{} of table {table}, range partition {range_partition}, keys ({:?}, {:?}) to ({:?}, {:?})",
        counted(*rows, "live row", "live rows"),
        first.partition,
        first.row,
        last.partition,
        last.row
    )
}

fn print(report: &CheckReport, location: &str, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        writeln!(out, "{}: {}", finding.path, finding.problem)?;
        if let Some(file) = report.damaged.iter().find(|file| file.path == finding.path) {
            writeln!(out, "  affected: {}", affected(file))?;
        }
    }
    if !report.damaged.is_empty() {
        writeln!(out, "rowkey check --repair takes damaged files out of use; the rest of their tables works again")?;
    }
    let found = match report.findings.len() as u64 {
        0 => "nothing is wrong".to_owned(),
        count => counted(count, "problem", "problems"),
    };
    let unfolded = match report.unfolded {
        0 => String::new(),
        count => format!(", {} not yet folded into files", counted(count, "recent write", "recent writes")),
    };
    let location = super::without_query(location);
    writeln!(
        out,
        "checked {location}: {}, {}, {}{unfolded}: {found}",
        counted(report.tables, "table", "tables"),
        counted(report.files, "file", "files"),
        counted(report.entities, "entity", "entities"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rowkey_sql::engine::Finding;

    #[test]
    fn a_signature_is_not_printed() {
        let mut out = Vec::new();
        let report = CheckReport::default();
        print(&report, "https://a.blob.core.windows.net/c/f?sv=1&sig=secret", &mut out).unwrap();
        print(&report, "what?", &mut out).unwrap();
        let printed = String::from_utf8(out).unwrap();
        assert!(printed.starts_with("checked https://a.blob.core.windows.net/c/f: 0 tables"), "{printed}");
        assert!(!printed.contains("secret") && printed.contains("checked what?: "), "{printed}");
    }

    fn printed(findings: Vec<Finding>) -> String {
        let mut out = Vec::new();
        print(
            &CheckReport { tables: 1, files: 12, entities: 1234567, unfolded: 0, findings, damaged: vec![] },
            "./data",
            &mut out,
        )
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn recent_writes_are_mentioned() {
        let mut out = Vec::new();
        print(&CheckReport { tables: 1, entities: 1, unfolded: 2, ..CheckReport::default() }, "./data", &mut out)
            .unwrap();
        let line =
            "checked ./data: 1 table, 0 files, 1 entity, 2 recent writes not yet folded into files: nothing is wrong\n";
        assert_eq!(String::from_utf8(out).unwrap(), line);
    }

    #[test]
    fn findings_come_first() {
        assert_eq!(printed(vec![]), "checked ./data: 1 table, 12 files, 1,234,567 entities: nothing is wrong\n");
        let finding = Finding { path: "runs/1.parquet".to_owned(), problem: "the checksum differs".to_owned() };
        assert_eq!(
            printed(vec![finding]),
            "runs/1.parquet: the checksum differs\nchecked ./data: 1 table, 12 files, 1,234,567 entities: 1 problem\n"
        );
    }
}
