//! The history of statements, in a file that only its owner can read.

use std::env;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use rustyline::history::FileHistory;
use rustyline::{Editor, Helper};

use rowkey_sql::engine::Engine;
use std::sync::Arc;

/// Statements that are kept.
pub(super) const ENTRIES_MAX: usize = 2000;
/// A longer statement is not kept.
const ENTRY_BYTES_MAX: usize = 64 << 10;

/// The variable that names the file; empty for none.
const VARIABLE: &str = "ROWKEY_HISTORY";

/// The history file, as long as it can be written.
pub(super) struct History {
    file: Option<PathBuf>,
}

impl History {
    /// Reads the file into the editor. If that fails a note is printed, and the history stays in
    /// memory.
    pub(super) fn load<H: Helper>(editor: &mut Editor<H, FileHistory>, database: &Arc<Engine>) -> Self {
        let Some(file) = path(|name| env::var_os(name)) else { return Self { file: None } };
        if let Err(error) = database.expect_outside(&file) {
            eprintln!("note: no history is kept: {error}");
            return Self { file: None };
        }
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            && let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(folder)
        {
            eprintln!("note: no history is kept: {}: {error}", folder.display());
            return Self { file: None };
        }
        if file.exists()
            && let Err(error) = editor.load_history(&file)
        {
            eprintln!("note: no history is kept: {}: {error}", file.display());
            return Self { file: None };
        }
        Self { file: Some(file) }
    }

    /// Adds a statement, also to the file.
    pub(super) fn add<H: Helper>(&mut self, editor: &mut Editor<H, FileHistory>, entry: &str) {
        if entry.len() > ENTRY_BYTES_MAX {
            return;
        }
        let added = editor.add_history_entry(entry).and_then(|_| match &self.file {
            Some(file) => editor.append_history(file),
            None => Ok(()),
        });
        if let Err(error) = added {
            let file = self.file.take().unwrap_or_default();
            eprintln!("note: no history is kept from here on: {}: {error}", file.display());
        }
    }
}

/// The path of the file: of the variable, else in XDG_STATE_HOME, else in HOME.
fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(named) = variable(VARIABLE) {
        return (!named.is_empty()).then(|| PathBuf::from(named));
    }
    // The XDG standard says that relative paths are ignored.
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    folder("XDG_STATE_HOME")
        .map(|state| state.join("rowkey").join("history"))
        .or_else(|| folder("HOME").map(|home| home.join(".rowkey_history")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn where_it_lies() {
        let placed = |set: &[(&str, &str)]| {
            let set: Vec<(String, OsString)> = set.iter().map(|(k, v)| ((*k).to_owned(), OsString::from(v))).collect();
            path(move |name| set.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()))
        };
        assert_eq!(placed(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")]), Some("/s/rowkey/history".into()));
        assert_eq!(placed(&[("HOME", "/h"), ("XDG_STATE_HOME", "s")]), Some("/h/.rowkey_history".into()));
        assert_eq!(placed(&[("HOME", "/h"), (VARIABLE, "x")]), Some("x".into()));
        assert_eq!(placed(&[("HOME", "/h"), (VARIABLE, "")]), None);
        assert_eq!(placed(&[]), None);
    }

    #[test]
    fn entries_are_kept_for_their_owner_alone() {
        let file = env::temp_dir().join(format!("rowkey-history-{}", std::process::id()));
        let config = rustyline::Config::builder().max_history_size(ENTRIES_MAX).unwrap().build();
        let mut editor = Editor::<(), FileHistory>::with_config(config.clone()).unwrap();
        let mut history = History { file: Some(file.clone()) };
        history.add(&mut editor, "SELECT 1\n  + 1;");
        history.add(&mut editor, &"x".repeat(ENTRY_BYTES_MAX + 1));
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        let mut again = Editor::<(), FileHistory>::with_config(config).unwrap();
        again.load_history(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(mode & 0o077, 0);
        assert_eq!(again.history().iter().collect::<Vec<_>>(), ["SELECT 1\n  + 1;"]);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_given_up() {
        let mut editor = Editor::<(), FileHistory>::new().unwrap();
        let mut history = History { file: Some("/no/such/folder/history".into()) };
        history.add(&mut editor, "SELECT 1;");
        assert_eq!(history.file, None);
        assert_eq!(editor.history().iter().count(), 1);
    }
}
