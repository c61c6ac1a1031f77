//! The prompt of `rowkey sql`, driven through a terminal: `drive.py` types and reads, with nothing
//! but Python's own modules. Without a python3 the test says that it is skipped.

use std::path::Path;
use std::process::Command;

use rowkey_base::testing::Scratch;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[test]
fn a_user_at_a_terminal() -> Outcome<()> {
    let has_terminals = Command::new("python3").args(["-c", "import pty, termios"]).output();
    if !has_terminals.is_ok_and(|output| output.status.success()) {
        return crate::peers::skipped("prompt", "there is no python3 with module pty");
    }
    let scratch = Scratch::new("prompt")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/prompt/drive.py");
    let output = Command::new("python3").arg(script).arg(env!("CARGO_BIN_EXE_rowkey")).arg(scratch.path()).output()?;
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{said}{complained}", output.status);
    assert_eq!(said.lines().last(), Some("all steps passed"), "{said}{complained}");
    Ok(())
}
