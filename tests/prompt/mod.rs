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

#[test]
fn a_file_has_statements_and_commands() -> Outcome<()> {
    let scratch = Scratch::new("file-of-commands")?;
    let (first, second) = (scratch.path().join("first.sql"), scratch.path().join("second.sql"));
    let copied = scratch.path().join("copied.csv");
    std::fs::write(
        &first,
        format!(
            "\\set n 3\n\\echo 'from here'\nSELECT :n AS n, 'x\\y' AS t;\n\\i '{}'\n\\copy people to '{}' (format csv)\n\
             SELECT count(*) FROM people \\gx\nSELECT 1 / 0;\nSELECT 'not reached';\n",
            second.display(),
            copied.display()
        ),
    )?;
    std::fs::write(
        &second,
        "CREATE TABLE people (partitionkey text, rowkey text, age int);\n\
         INSERT INTO people VALUES ('a', '1', 40), ('a', '2', 41);\n",
    )?;
    let run = |form: &str, file: &Path| {
        let arguments = ["sql", "--data", ":memory:", "--output", form, "--file"];
        Command::new(env!("CARGO_BIN_EXE_rowkey")).args(arguments).arg(file).output()
    };
    let output = run("table", &first)?;
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}{complained}");
    let expected = "from here\n n |  t\n---+-----\n 3 | x\\y\n(1 row)\n\nCREATE TABLE\nINSERT 0 2\nCOPY 2\n\
                    -[ RECORD 1 ]\ncount | 2\n\n";
    assert_eq!(said, expected);
    assert!(complained.starts_with("error: division by zero"), "{complained}");
    assert_eq!(std::fs::read_to_string(&copied)?, "a,1,40\na,2,41\n");

    std::fs::write(&first, "SELECT 1 AS a, NULL AS b;\n\\echo x\n\\nothing\nSELECT 2;\n")?;
    let output = run("ndjson", &first)?;
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((said.as_ref(), output.status.code()), ("{\"a\":1,\"b\":null}\nx\n", Some(1)));
    assert!(complained.starts_with("error: invalid command \\nothing"), "{complained}");
    Ok(())
}
