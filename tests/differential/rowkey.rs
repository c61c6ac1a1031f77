//! Rowkey's server, as its binary.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::differential::Outcome;
use crate::differential::wire::Client;
use crate::server_process::{ServerProcess, serve};
use rowkey_base::testing::Scratch;

const BINARY: &str = env!("CARGO_BIN_EXE_rowkey");
/// The account, which is the database.
const DATABASE: &str = "devstoreaccount1";

/// A running server over a folder of its own, which is removed once the server has ended.
pub(crate) struct Rowkey {
    server: ServerProcess,
    _folder: Scratch,
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
        let scratch = Scratch::new(&format!("differential-{name}"))?;
        let folder = scratch.path().join("data");
        for (table, ndjson) in tables {
            import(&folder, table, ndjson)?;
        }
        let server = ServerProcess::start(serve().arg("--data").arg(folder).stderr(Stdio::null()))?;
        Ok(Self { server, _folder: scratch })
    }

    pub(crate) fn connect(&self) -> Outcome<Client> {
        Client::tcp(self.server.address(), "rowkey", DATABASE)
    }
}
