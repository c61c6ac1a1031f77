//! A statement in the user's own editor.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Names under which the file is tried: those that are taken belong to others.
const NAMES_MAX: u32 = 100;

/// The text as the user leaves it. The error is for people.
pub(super) fn edit(text: &str) -> Result<String, String> {
    let file = TemporaryFile::new(text).map_err(|error| format!("\\e: cannot write a file to edit: {error}"))?;
    let editor = editor(|name| env::var(name).ok());
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&file.0).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("\\e: {editor} ended with {status}; nothing was run")),
        Err(error) => return Err(format!("\\e: cannot start {editor}: {error}")),
    }
    fs::read_to_string(&file.0).map_err(|error| format!("\\e: {}: {error}", file.0.display()))
}

fn editor(variable: impl Fn(&str) -> Option<String>) -> String {
    let named = |name| variable(name).filter(|command| !command.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

/// A file that only its owner reads, gone when this is dropped.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(text: &str) -> io::Result<Self> {
        let folder = env::temp_dir();
        for number in 0..NAMES_MAX {
            let path = folder.join(format!("rowkey-{}-{number}.sql", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(mut file) => {
                    let made = Self(path);
                    file.write_all(text.as_bytes())?;
                    if !text.ends_with('\n') {
                        file.write_all(b"\n")?;
                    }
                    return Ok(made);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file that stays is in the folder of temporary files.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_editor() {
        let of = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            editor(move |name| set.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()))
        };
        assert_eq!(of(&[]), "vi");
        assert_eq!(of(&[("EDITOR", "ed")]), "ed");
        assert_eq!(of(&[("EDITOR", "ed"), ("VISUAL", "code -w")]), "code -w");
        assert_eq!(of(&[("EDITOR", "ed"), ("VISUAL", "")]), "ed");
    }

    #[test]
    fn the_file_is_private_and_goes() {
        use std::os::unix::fs::PermissionsExt;
        let file = TemporaryFile::new("SELECT 1").unwrap();
        let path = file.0.clone();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap(), "SELECT 1\n");
        drop(file);
        assert!(!path.exists());
    }
}
