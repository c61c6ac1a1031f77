//! From the paths of the command line to the files they name.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::failure::Failure;
use rowkey_formats::Manifest;

/// Extensions of the files that are taken from a folder.
const EXTENSIONS: [&str; 6] = ["json", "ndjson", "jsonl", "csv", "tsv", "parquet"];
/// Ends of names that backups have, whose extension says something else.
const BACKUP_EXTENSIONS: [&str; 2] = ["txt", "7z"];
const BACKUP_MARK: &str = "_Backup_";

const HOW_TO_NAME: &str = "PATH is a file, a folder, a glob such as 'pages/*.json', or - for standard input";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    Standard,
    File(PathBuf),
    /// The manifests of AzCopy's exports in one place.
    Manifests(Vec<PathBuf>),
}

#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// In the order of the command line, those of a folder or a glob in the order of their names.
    pub(super) found: Vec<Input>,
    /// What lies in a folder and is no export by its name.
    pub(super) skipped: Vec<PathBuf>,
    /// The length of all inputs, if it is known of each.
    pub(super) bytes_total: Option<u64>,
}

/// Finds what the paths name. A path that names nothing is an error.
pub(super) fn find(paths: &[PathBuf]) -> Result<Inputs, Failure> {
    let mut inputs = Inputs { bytes_total: Some(0), ..Inputs::default() };
    for path in paths {
        if path == Path::new("-") {
            if inputs.found.iter().any(|input| matches!(input, Input::Standard)) {
                return Err(Failure::usage("standard input (-) is given twice", HOW_TO_NAME));
            }
            inputs.found.push(Input::Standard);
            inputs.bytes_total = None;
            continue;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => inputs.add_named_folder(path)?,
            Ok(_) if Manifest::is_named(path) => inputs.add_manifests(std::slice::from_ref(path)).map(drop)?,
            Ok(metadata) => inputs.add_file(path.clone(), &metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => inputs.add_glob(path)?,
            Err(error) => return Err(unreadable(path, &error)),
        }
    }
    Ok(inputs)
}

impl Inputs {
    fn add_file(&mut self, path: PathBuf, metadata: &fs::Metadata) {
        // Of what is packed more is read than its length.
        let is_packed = path.extension().is_some_and(|extension| extension == "gz" || extension == "7z");
        let bytes = (metadata.is_file() && !is_packed).then_some(metadata.len());
        self.bytes_total = self.bytes_total.zip(bytes).map(|(total, bytes)| total.saturating_add(bytes));
        self.found.push(Input::File(path));
    }

    fn add_named_folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let before = self.found.len();
        self.add_folder(folder)?;
        if self.found.len() > before {
            return Ok(());
        }
        Err(Failure::plain(
            format!("{}: the folder holds no .json, .ndjson, .jsonl, .csv or .parquet file", folder.display()),
            "a file of another name can be given by itself",
        ))
    }

    /// The files of a folder and of the folders in it. Links to folders are not followed: they may
    /// lead back.
    fn add_folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(|error| unreadable(folder, &error))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let manifests: Vec<PathBuf> =
            entries.iter().map(fs::DirEntry::path).filter(|path| Manifest::is_named(path)).collect();
        let listed = self.add_manifests(&manifests)?;
        for entry in entries {
            let path = entry.path();
            if listed.contains(&path) {
                continue;
            }
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                // A link that leads nowhere.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.skipped.push(path);
                    continue;
                }
                Err(error) => return Err(unreadable(&path, &error)),
            };
            let is_link = entry.file_type().map_err(|error| unreadable(&path, &error))?.is_symlink();
            if metadata.is_dir() && !is_link {
                self.add_folder(&path)?;
            } else if metadata.is_file() && is_export(&path) {
                self.add_file(path, &metadata);
            } else {
                self.skipped.push(path);
            }
        }
        Ok(())
    }

    /// Adds what manifests say belongs to them, and returns its files.
    fn add_manifests(&mut self, paths: &[PathBuf]) -> Result<HashSet<PathBuf>, Failure> {
        let mut listed = HashSet::new();
        for path in paths {
            listed.extend(Manifest::read(path)?.files);
        }
        if !paths.is_empty() {
            self.bytes_total = None;
            self.found.push(Input::Manifests(paths.to_vec()));
        }
        Ok(listed)
    }

    fn add_glob(&mut self, pattern: &Path) -> Result<(), Failure> {
        let shown = pattern.display();
        let Some(text) = pattern.to_str().filter(|text| text.contains(['*', '?', '['])) else {
            return Err(Failure::plain(format!("{shown}: there is no such file or folder"), HOW_TO_NAME));
        };
        let matches = glob::glob(text)
            .map_err(|error| Failure::usage(format!("{shown}: not a glob: {}", error.msg), HOW_TO_NAME))?;
        let mut any = false;
        for path in matches {
            let path = path.map_err(|error| unreadable(error.path(), error.error()))?;
            let metadata = fs::metadata(&path).map_err(|error| unreadable(&path, &error))?;
            any = true;
            if metadata.is_dir() {
                self.add_named_folder(&path)?;
            } else if Manifest::is_named(&path) {
                self.add_manifests(&[path])?;
            } else {
                self.add_file(path, &metadata);
            }
        }
        if any {
            return Ok(());
        }
        Err(Failure::plain(format!("{shown}: no file has a name like this"), HOW_TO_NAME))
    }
}

/// Beside what has no such extension, the emulator's databases of blobs and queues and AzCopy's
/// lists of CSV columns are none.
fn is_export(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name.ends_with(".schema.csv") || (name.starts_with("__azurite_db_") && !name.starts_with("__azurite_db_table_"))
    {
        return false;
    }
    let unpacked = name.strip_suffix(".gz").unwrap_or(name);
    let extension = unpacked.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_one_of = |known: &[&str]| known.iter().any(|known| extension.eq_ignore_ascii_case(known));
    is_one_of(&EXTENSIONS) || is_one_of(&BACKUP_EXTENSIONS) && name.contains(BACKUP_MARK)
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::plain(format!("{}: cannot read it: {error}", path.display()), HOW_TO_NAME)
}

#[cfg(test)]
mod tests;
