//! The manifest of an AzCopy 7 export, which says what belongs to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::convert;
use super::error::Error;
use super::notes::{Warning, WarningKind};
use super::property_types::PropertyTypes;
use super::source::Source;

/// A manifest is one short object; a bound of what is read.
const BYTES_MAX: u64 = 1 << 20;

/// A manifest and the files of its export.
#[derive(Debug)]
pub struct Manifest {
    pub table: String,
    pub account: String,
    /// Its data files, in the order of their names. The first one has the warnings.
    pub sources: Vec<Source>,
    /// All its files, the manifest and files of columns included.
    pub files: Vec<PathBuf>,
    /// What is missing, if anything is.
    pub warning: Option<Warning>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Written {
    table_name: String,
    #[serde(default)]
    account_name: String,
    total_data_files: Option<u64>,
}

impl Manifest {
    /// True if a file is one by its name.
    pub fn is_named(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("manifest"))
    }

    /// Reads a manifest and finds its files, which lie beside it and begin with its name.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let input: Arc<str> = path.display().to_string().into();
        let failed = |source: io::Error| Error::Read { input: Arc::clone(&input), source };
        let bytes = fs::metadata(path).map_err(failed)?.len();
        if bytes > BYTES_MAX {
            let source = io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a manifest has at most {BYTES_MAX} bytes, this has {bytes}"),
            );
            return Err(failed(source));
        }
        let text = fs::read(path).map_err(failed)?;
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        let written: Written = serde_json::from_slice(text).map_err(|error| Error::UnknownFormat {
            input: Arc::clone(&input),
            reason: format!("this is no manifest of AzCopy: {error}"),
        })?;
        let prefix = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut beside: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            // "Orders_1" does not begin "Orders_10_…": what follows the name is an underscore.
            let is_own =
                name.to_str().and_then(|name| name.strip_prefix(prefix)).is_some_and(|rest| rest.starts_with('_'));
            if is_own && entry.path() != path {
                beside.push(entry.path());
            }
        }
        beside.sort();
        let (data, _): (Vec<&PathBuf>, Vec<&PathBuf>) = beside.iter().partition(|path| is_data(path));
        let mut sources = Vec::with_capacity(data.len());
        for &path in &data {
            let source = Source::file(path)?;
            sources.push(match column_types(path)? {
                Some(types) => source.with_column_types(types),
                None => source,
            });
        }
        let found = data.len() as u64;
        let warning = written.total_data_files.filter(|total| *total != found).map(|total| Warning {
            input: Arc::clone(&input),
            kind: WarningKind::Truncated,
            reason: format!("the manifest says that there are {total} data files, {found} were found beside it"),
        });
        if let (Some(warning), Some(first)) = (&warning, sources.first_mut()) {
            first.warn(warning.clone());
        }
        let files = beside.into_iter().chain([path.to_owned()]).collect();
        Ok(Self { table: written.table_name, account: written.account_name, sources, files, warning })
    }
}

fn is_data(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    (name.ends_with(".json") || name.ends_with(".csv")) && !name.ends_with(".schema.csv")
}

/// The types in `X.schema.csv` beside `X.csv`: rows of a name and a type, or a row of names and a
/// row of types. A file of another form says nothing.
fn column_types(data: &Path) -> Result<Option<Arc<PropertyTypes>>, Error> {
    let schema = data.with_extension("schema.csv");
    let text = match fs::metadata(&schema) {
        Ok(metadata) if metadata.len() <= BYTES_MAX => fs::read_to_string(&schema),
        _ => return Ok(None),
    };
    let text = text.map_err(|source| Error::Read { input: schema.display().to_string().into(), source })?;
    let cell = |cell: &str| cell.trim().trim_matches('"').to_owned();
    let rows: Vec<Vec<String>> = text
        .trim_start_matches('\u{feff}')
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.split(',').map(cell).collect())
        .collect();
    let mut types = PropertyTypes::default();
    let mut add = |name: &str, edm_type: &str| {
        if let Some(edm_type) = convert::type_named(edm_type)
            && !matches!(name, "PartitionKey" | "RowKey" | "Timestamp")
        {
            types.insert(name, edm_type);
        }
    };
    match &rows[..] {
        [names, row] if names.len() == row.len() && names.len() > 2 => {
            names.iter().zip(row).for_each(|(name, edm_type)| add(name, edm_type));
        }
        rows => rows.iter().filter(|row| row.len() >= 2).for_each(|row| add(&row[0], &row[1])),
    }
    Ok((!types.is_empty()).then(|| Arc::new(types)))
}

#[cfg(test)]
mod tests;
