//! The program as a shell finds it, and a server of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use crate::readme::Outcome;

const ROWKEY: &str = env!("CARGO_BIN_EXE_rowkey");
/// The last line that the server announces itself with.
const ANNOUNCED: &str = "Ctrl-C stops it.";
/// Where it listens unless told otherwise.
pub(crate) const ADDRESS: &str = "127.0.0.1:5433";

/// A line for the shell, in a folder, with `rowkey` on the path.
fn shell(folder: &Path, line: &str) -> Outcome<Command> {
    let programs = Path::new(ROWKEY).parent().ok_or("the program lies in a folder")?;
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs.to_owned()].into_iter().chain(std::env::split_paths(&others)))?;
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("PATH", path).env_remove("ROWKEY_DATA").stdin(Stdio::null());
    Ok(command)
}

/// Runs a command that has to succeed; its standard output.
pub(crate) fn run(folder: &Path, line: &str) -> Outcome<String> {
    let Output { status, stdout, stderr } = shell(folder, line)?.output()?;
    if !status.success() {
        return Err(format!("{line}: {status}: {}", String::from_utf8_lossy(&stderr)).into());
    }
    Ok(String::from_utf8(stdout)?)
}

/// Stopped when it is dropped.
pub(crate) struct Server {
    process: Child,
    /// Kept open: the server may go on writing to it.
    _out: BufReader<ChildStdout>,
    /// What it says when it starts.
    pub announced: Vec<String>,
    /// With the port that was free, in place of [`ADDRESS`].
    pub address: String,
}

impl Server {
    /// Starts `rowkey serve ...` on a free port.
    pub(crate) fn start(folder: &Path, line: &str) -> Outcome<Self> {
        // `exec`, so that what is stopped is the server and not the shell.
        let mut process = shell(folder, &format!("exec {line} --pg 127.0.0.1:0"))?.stdout(Stdio::piped()).spawn()?;
        let mut out = BufReader::new(process.stdout.take().ok_or("the server has no output")?);
        let mut announced = Vec::new();
        while announced.last().is_none_or(|line| line != ANNOUNCED) {
            let mut line = String::new();
            if out.read_line(&mut line)? == 0 {
                return Err(format!("the server ended: {announced:?}").into());
            }
            announced.push(line.trim_end().to_owned());
        }
        let address = announced[0].trim_start_matches("Rowkey listens on ").split(". ").next().unwrap_or_default();
        Ok(Self { process, _out: out, address: address.to_owned(), announced })
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap_or_default()
    }

    /// A command or an address of README, with the port of this server.
    pub(crate) fn here(&self, text: &str) -> String {
        text.replace("5433", self.port())
    }

    /// What a session of psql writes, opened by a command of README; nothing where psql is missing.
    pub(crate) fn psql(&self, test: &str, command: &str, statements: &str) -> Outcome<Option<String>> {
        if Command::new("psql").arg("--version").output().is_err() {
            crate::peers::skipped(test, "there is no psql")?;
            return Ok(None);
        }
        let words = self.here(command);
        let Some(("psql", arguments)) = words.split_once(' ') else {
            return Err(format!("no call of psql: {command}").into());
        };
        let mut psql = Command::new("psql");
        // The user's own settings must not change what is written.
        psql.arg("-X").args(arguments.split(' ')).env("LC_ALL", "C");
        let mut session = psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        std::io::Write::write_all(&mut session.stdin.take().ok_or("psql has no input")?, statements.as_bytes())?;
        let Output { status, stdout, stderr } = session.wait_with_output()?;
        let complaints = String::from_utf8_lossy(&stderr);
        if !status.success() || !complaints.is_empty() {
            return Err(format!("{words}: {status}: {complaints}").into());
        }
        Ok(Some(String::from_utf8(stdout)?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What is left behind is a process that ends.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
