//! Rowkey's server, as its binary.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::differential::Outcome;
use crate::differential::wire::Client;

const BINARY: &str = env!("CARGO_BIN_EXE_rowkey");
/// The account, which is the database.
const DATABASE: &str = "devstoreaccount1";

/// A running server over a folder of its own. Dropping it stops it and removes the folder.
pub(crate) struct Rowkey {
    folder: PathBuf,
    server: Child,
    /// Kept open: a server that cannot say where it listens ends.
    _stdout: BufReader<ChildStdout>,
    address: String,
}

/// Imports an export, service JSON by lines.
fn import(folder: &Path, table: &str, ndjson: &str) -> Outcome<()> {
    let mut import = Command::new(BINARY)
        .args(["import", "--data"])
        .arg(folder)
        .args(["--table", table, "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    import.stdin.take().ok_or("no standard input")?.write_all(ndjson.as_bytes())?;
    let ended = import.wait_with_output()?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(format!("import of {table}: {}", String::from_utf8_lossy(&ended.stderr)).into()),
    }
}

impl Rowkey {
    pub(crate) fn start(tables: &[(&str, String)]) -> Outcome<Self> {
        Self::start_in("questions", tables)
    }

    /// A server with a folder of its own.
    pub(crate) fn start_in(name: &str, tables: &[(&str, String)]) -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("rowkey-differential-{name}-{}", std::process::id()));
        for (table, ndjson) in tables {
            import(&folder, table, ndjson)?;
        }
        let mut server = Command::new(BINARY)
            .args(["serve", "--rest", "off", "--pg", "127.0.0.1:0", "--data"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdout = BufReader::new(server.stdout.take().ok_or("no standard output")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        // Rowkey listens on ADDRESS. Connect with
        let address = line.split_whitespace().nth(3).map(|word| word.trim_end_matches('.').to_owned());
        let started = Self { folder, server, _stdout: stdout, address: address.unwrap_or_default() };
        if started.address.is_empty() {
            return Err(format!("the server said {line:?}").into());
        }
        Ok(started)
    }

    pub(crate) fn connect(&self) -> Outcome<Client> {
        Client::tcp(&self.address, "rowkey", DATABASE)
    }
}

impl Drop for Rowkey {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}
