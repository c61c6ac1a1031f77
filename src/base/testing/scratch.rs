//! Folders that tests write to.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new empty folder, removed when it is dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// `name` identifies the folder where a crash has left it.
    pub fn new(name: &str) -> std::io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rowkey-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left lies in the system's folder for temporary files.
        drop(std::fs::remove_dir_all(&self.0));
    }
}
