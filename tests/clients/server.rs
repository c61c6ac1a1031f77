//! A `rowkey serve` of the test's own, with the table Types.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const ROWKEY: &str = env!("CARGO_BIN_EXE_rowkey");
const TYPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/EightTypes.ndjson");

/// Stopped, and its folder removed, when it is dropped.
pub(crate) struct Server {
    process: Child,
    /// Kept open: the server goes on writing to it.
    _out: BufReader<ChildStdout>,
    folder: PathBuf,
    address: String,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("rowkey-clients-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        let imported =
            Command::new(ROWKEY).arg("import").arg("--data").arg(&folder).args(["--table", "Types", TYPES]).output()?;
        if !imported.status.success() {
            return Err(format!("import: {}", String::from_utf8_lossy(&imported.stderr)).into());
        }
        let mut command = Command::new(ROWKEY);
        command.arg("serve").arg("--data").arg(&folder).args(["--rest", "off", "--pg", "127.0.0.1:0"]);
        let mut process = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().ok_or("the server has no output")?);
        out.read_line(&mut line)?;
        let address = line.trim_start_matches("Rowkey listens on ").split(". ").next().unwrap_or_default().to_owned();
        Ok(Self { process, _out: out, folder, address })
    }

    /// How a client of that name connects.
    pub(crate) fn address(&self, user: &str) -> String {
        format!("postgresql://{user}@{}/devstoreaccount1", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What is left behind is a process that ends and a folder among temporary ones.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
