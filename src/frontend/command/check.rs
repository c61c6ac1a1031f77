//! `rowkey check`: looks for damage in what is stored.

use std::io::{self, Write};

use super::arguments::{CheckArguments, DATA_MEMORY};
use super::failure::{Failure, Outcome};
use super::text::counted;
use crate::frontend::embedded::CheckReport;

pub(super) async fn run(arguments: CheckArguments) -> Result<Outcome, Failure> {
    let location = arguments.data.location()?;
    if location == DATA_MEMORY {
        return Err(Failure::usage(
            "there is nothing to check: :memory: keeps nothing",
            "name a folder with --data DIR",
        ));
    }
    // Opening would make the folder, and a folder just made has nothing wrong with it.
    super::expect_folder(&location)?;
    let report = super::open(&location).await?.check().await?;
    let mut out = io::stdout().lock();
    print(&report, &location, &mut out)?;
    out.flush()?;
    Ok(if report.findings.is_empty() { Outcome::Well } else { Outcome::Found })
}

fn print(report: &CheckReport, location: &str, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        writeln!(out, "{}: {}", finding.path, finding.problem)?;
    }
    let found = match report.findings.len() as u64 {
        0 => "nothing is wrong".to_owned(),
        count => counted(count, "problem", "problems"),
    };
    let unfolded = match report.unfolded {
        0 => String::new(),
        count => format!(", {} not yet folded into files", counted(count, "recent write", "recent writes")),
    };
    // The query of a URL may be a signature, which is nobody's to read.
    let location = location.split_once("://").map_or(location, |_| location.split('?').next().unwrap_or_default());
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
    use crate::storage::Finding;

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
        print(&CheckReport { tables: 1, files: 12, entities: 1234567, unfolded: 0, findings }, "./data", &mut out)
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
