//! A folder for each PartitionKey, as Hive and the engines after it name them.

use std::path::Path;

use super::ParquetWriter;
use crate::output::{Compression, PartFolder, WriteError};
use crate::survey::Survey;
use rowkey_model::rows::Rows;

const PREFIX: &str = "PartitionKey=";
const FILE: &str = "part-0.parquet";
/// What Hive calls an empty value.
const EMPTY: &str = "__HIVE_DEFAULT_PARTITION__";
/// The most that file systems take.
const NAME_BYTES_MAX: usize = 255;

/// Folders `PartitionKey=<value>` with a file each. The files have the PartitionKey as a column all
/// the same, so that they can be read by themselves.
pub(crate) struct PartitionFolders {
    folder: PartFolder,
    survey: Survey,
    compression: Option<Compression>,
    open: Option<(String, ParquetWriter)>,
}

impl PartitionFolders {
    pub(crate) fn new(folder: PartFolder, survey: &Survey, compression: Option<Compression>) -> Self {
        Self { folder, survey: survey.clone(), compression, open: None }
    }

    /// Whether a file of a folder is one of an earlier export.
    pub(crate) fn is_part(file: &Path) -> bool {
        let mut parts = file.iter().filter_map(|part| part.to_str());
        parts.next().is_some_and(|folder| folder.starts_with(PREFIX)) && parts.eq([FILE])
    }

    pub(crate) fn write(&mut self, rows: &Rows) -> Result<(), WriteError> {
        let mut rows = rows.iter().peekable();
        while let Some(next) = rows.peek() {
            let partition = next.key().partition.to_owned();
            let writer = self.writer_of(&partition)?;
            while let Some(row) = rows.next_if(|row| row.key().partition == partition) {
                writer.write(std::iter::once(row))?;
            }
        }
        Ok(())
    }

    fn writer_of(&mut self, partition: &str) -> Result<&mut ParquetWriter, WriteError> {
        let open = match self.open.take() {
            Some(open) if open.0 == partition => open,
            before => {
                if let Some((_, writer)) = before {
                    writer.finish()?;
                }
                let folder = folder_name(partition)?;
                let sink = self.folder.file(Some(&folder), FILE, None)?;
                (partition.to_owned(), ParquetWriter::new(sink, &self.survey, self.compression)?)
            }
        };
        Ok(&mut self.open.insert(open).1)
    }

    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        if let Some((_, writer)) = self.open.take() {
            writer.finish()?;
        }
        self.folder.publish()
    }
}

/// What is no letter, digit or one of `-_.~` is written as a percent sign and two digits for each
/// of its bytes; so is the first byte of a value that is called as Hive calls the empty one, so
/// that the two have folders of their own.
fn folder_name(partition: &str) -> Result<String, WriteError> {
    let mut name = PREFIX.to_owned();
    if partition.is_empty() {
        name.push_str(EMPTY);
    }
    for (at, byte) in partition.bytes().enumerate() {
        match byte {
            byte if at == 0 && partition == EMPTY => name.push_str(&format!("%{byte:02X}")),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => name.push(char::from(byte)),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    if name.len() > NAME_BYTES_MAX {
        let shown: String = partition.chars().take(40).collect();
        return Err(WriteError::Refused(format!(
            "PartitionKey \"{}...\" is too long for the name of a folder; one file takes any",
            shown.escape_debug()
        )));
    }
    Ok(name)
}
