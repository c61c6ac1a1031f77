//! The prompt of `rowkey sql`, driven through a terminal: `drive.py` types and reads, with nothing but Python's own modules.
//! Without a python3 the test says that it is skipped.

#[path = "../scratch/mod.rs"]
mod scratch;

use std::io::Write;
use std::path::Path;
use std::process::Command;

use scratch::Scratch;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[test]
fn a_user_at_a_terminal() -> Outcome<()> {
    let has_terminals = Command::new("python3").args(["-c", "import pty, termios"]).output();
    if !has_terminals.is_ok_and(|output| output.status.success()) {
        // Not by a macro, whose output is kept back when a test passes.
        writeln!(std::io::stderr(), "prompt: SKIPPED, because there is no python3 with module pty")?;
        return Ok(());
    }
    let scratch = Scratch::new("prompt")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/prompt/drive.py");
    let output = Command::new("python3").arg(script).arg(env!("CARGO_BIN_EXE_rowkey")).arg(scratch.path()).output()?;
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{said}{complained}", output.status);
    assert_eq!(said.lines().last(), Some("all steps passed"), "{said}{complained}");
    Ok(())
}
