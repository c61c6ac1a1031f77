//! `sql/differences.md`, made from the list of known differences.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::Outcome;
use super::differences::{DIFFERENCES, QUESTIONS, REFUSALS, WITH_PARAMETERS};

/// Set to write the page anew.
const WRITE: &str = "ROWKEY_TEST_WRITE";

const HEAD: &str = "\
# Where answers differ from PostgreSQL's

The tests ask Rowkey and PostgreSQL 15 the same and compare columns, types, rows and SQLSTATEs. These are the
differences that they know of; one that appears or disappears fails them. A test writes this page from
`tests/differential/differences.rs`.

Tables `items` and `parts` have keys, numbers, texts and times; `$1` is a parameter without a type.
";

fn page() -> Result<String, std::fmt::Error> {
    let mut page = HEAD.to_owned();
    let constructs = DIFFERENCES.iter().filter(|known| !known.example.is_empty());
    section(&mut page, "Constructs", constructs.map(|known| (known.example, known.reason)))?;
    section(&mut page, "Refused", REFUSALS.iter().map(|known| (known.example, known.reason)))?;
    section(&mut page, "Single statements", QUESTIONS.iter().copied())?;
    section(&mut page, "Statements with parameters", WITH_PARAMETERS.iter().copied())?;
    Ok(page)
}

/// Statements under the reasons that they differ for.
fn section<'a>(
    page: &mut String,
    title: &str,
    differences: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), std::fmt::Error> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (statement, reason) in differences {
        by_reason.entry(reason).or_default().push(statement);
    }
    writeln!(page, "\n## {title}")?;
    for (reason, statements) in by_reason {
        let mut letters = reason.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        writeln!(page, "\n{first}{}:\n\n```sql\n{}\n```", letters.as_str(), statements.join("\n"))?;
    }
    Ok(())
}

#[test]
fn the_page_tells_the_known_differences() -> Outcome<()> {
    let (path, expected) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/differences.md"), page()?);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &expected)?;
    }
    let written = std::fs::read_to_string(&path)?;
    assert!(written == expected, "{} is not what the list says: {WRITE}=1 cargo test the_page", path.display());
    Ok(())
}
