//! Programs that tests compare Rowkey with, or drive it with.

use std::io::Write;

/// Set where a missing program is a failure: in continuous integration.
const REQUIRED: &str = "ROWKEY_REQUIRE_PEERS";

/// Says that a test is left out because a program is missing; an error where all of them are
/// required.
pub(crate) fn skipped(test: &str, why: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if std::env::var_os(REQUIRED).is_some() {
        return Err(format!("{test}: {why}, and {REQUIRED} is set").into());
    }
    // Not by a macro, whose output is kept back when a test passes.
    writeln!(std::io::stderr(), "{test}: SKIPPED, because {why}")?;
    Ok(())
}
