//! A `rowkey serve` of a test's own.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a start may take on a busy machine.
const START: Duration = Duration::from_secs(60);
/// The last line that a server announces itself with.
const ANNOUNCED: &str = "Ctrl-C stops it.";

/// Killed when it is dropped.
pub(crate) struct ServerProcess {
    pub process: Child,
    /// The lines that it announced itself with.
    pub announced: Vec<String>,
}

/// The command that serves PostgreSQL's protocol alone, on a free port.
pub(crate) fn serve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rowkey"));
    command.args(["serve", "--rest", "off", "--pg", "127.0.0.1:0"]).env_remove("ROWKEY_DATA");
    command
}

impl ServerProcess {
    /// Runs a server's command until it has announced itself.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut started = Self { process, announced: Vec::new() };
        let out = started.process.stdout.take().ok_or_else(|| io::Error::other("the server has no output"))?;
        let (announcement, announced) = mpsc::channel();
        // Reads to the end: a server that cannot say where it listens ends.
        thread::spawn(move || {
            let mut lines = Vec::new();
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                lines.push(line);
                if lines.last().is_some_and(|line| line == ANNOUNCED) {
                    // The receiver is gone where the start took too long.
                    drop(announcement.send(std::mem::take(&mut lines)));
                }
            }
        });
        if let Ok(announced) = announced.recv_timeout(START) {
            started.announced = announced;
            return Ok(started);
        }
        started.process.kill()?;
        let mut said = String::new();
        if let Some(mut stderr) = started.process.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        Err(io::Error::other(format!("the server announced no port; it said: {said}")))
    }

    /// Where it listens for PostgreSQL's protocol.
    pub(crate) fn address(&self) -> &str {
        // Rowkey listens on ADDRESS. Connect with
        self.announced[0].split_whitespace().nth(3).unwrap_or_default().trim_end_matches('.')
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
