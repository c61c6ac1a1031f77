//! A `rowkey serve` of the test's own, with the table Types.

use std::error::Error;
use std::process::Command;

use crate::server_process::{ServerProcess, serve};
use rowkey_base::testing::Scratch;

const ROWKEY: &str = env!("CARGO_BIN_EXE_rowkey");
const TYPES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/EightTypes.ndjson");

/// Its folder is removed once it has ended.
pub(crate) struct Server {
    server: ServerProcess,
    _folder: Scratch,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Box<dyn Error>> {
        let scratch = Scratch::new("clients")?;
        let folder = scratch.path().join("data");
        let imported =
            Command::new(ROWKEY).arg("import").arg("--data").arg(&folder).args(["--table", "Types", TYPES]).output()?;
        if !imported.status.success() {
            return Err(format!("import: {}", String::from_utf8_lossy(&imported.stderr)).into());
        }
        let server = ServerProcess::start(serve().arg("--data").arg(folder))?;
        Ok(Self { server, _folder: scratch })
    }

    /// How a client of that name connects.
    pub(crate) fn address(&self, user: &str) -> String {
        format!("postgresql://{user}@{}/devstoreaccount1", self.server.address())
    }
}
