//! The program as a shell finds it, and a server of it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::readme::Outcome;
use crate::server_process::ServerProcess;

const ROWKEY: &str = env!("CARGO_BIN_EXE_rowkey");
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

/// A server that a line of README starts.
pub(crate) struct Server(ServerProcess);

impl Server {
    /// Starts `rowkey serve ...` on a free port.
    pub(crate) fn start(folder: &Path, line: &str) -> Outcome<Self> {
        // `exec`, so that what is stopped is the server and not the shell.
        Ok(Self(ServerProcess::start(&mut shell(folder, &format!("exec {line} --pg 127.0.0.1:0"))?)?))
    }

    /// What it says when it starts.
    pub(crate) fn announced(&self) -> &[String] {
        &self.0.announced
    }

    fn port(&self) -> &str {
        self.0.address().rsplit(':').next().unwrap_or_default()
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
