//! The formats, and their detection.

use std::sync::Arc;

use super::error::Error;
use super::key_columns::{KeyColumns, key_option};
use super::source::Source;
use super::tool_json::{self, JsonTool};
use super::typed_csv;

/// A format of exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The service's JSON in any metadata level: pages with a `value` array, arrays, or entities
    /// one after another.
    ServiceJson,
    /// Parquet with key columns.
    Parquet,
    /// The CSV of Azure Storage Explorer, with or without a column of types behind each property.
    TypedCsv,
    /// The database file of Azurite, with all tables of all accounts.
    AzuriteDatabase,
    /// JSON as a tool or an SDK writes it.
    Tool(JsonTool),
}

impl Format {
    /// Those that a user can ask for.
    pub const ALL: [Format; 13] = {
        let mut all = [Format::ServiceJson; 13];
        all[1] = Format::Parquet;
        all[2] = Format::TypedCsv;
        all[3] = Format::AzuriteDatabase;
        let mut at = 0;
        while at < JsonTool::ALL.len() {
            all[4 + at] = Format::Tool(JsonTool::ALL[at]);
            at += 1;
        }
        all
    };

    /// The name by which a user asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Format::ServiceJson => "json",
            Format::Parquet => "parquet",
            Format::TypedCsv => "csv",
            Format::AzuriteDatabase => "azurite",
            Format::Tool(tool) => tool.name(),
        }
    }

    /// The format of a [`name`](Self::name).
    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Detects the format by the first bytes (a few hundred are plenty, except for the first line
    /// of a CSV); the file's name only helps where they leave a doubt, and to say what is wrong.
    /// The error is the reason, without the name.
    pub fn detect(first: &[u8], name: &str) -> Result<Format, String> {
        if first.starts_with(b"PAR1") {
            return Ok(Format::Parquet);
        }
        if let Some(encoding) = foreign_encoding(first) {
            return Err(format!("the text is {encoding}; convert it to UTF-8"));
        }
        if first.starts_with(&[0x1f, 0x8b]) || first.starts_with(b"PK\x03\x04") {
            return Err("the file is compressed; unpack it first".to_owned());
        }
        if first.starts_with(b"PARE") {
            return Err("encrypted Parquet cannot be read".to_owned());
        }
        if name.ends_with(".parquet") {
            return Err("this is not Parquet, which begins with PAR1".to_owned());
        }
        let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
        if let Some(filename) = azurite_file(text) {
            return match filename {
                _ if filename.contains("__azurite_db_") && !filename.contains("__azurite_db_table") => {
                    Err("this is a database of Azurite without tables; they are in __azurite_db_table__.json"
                        .to_owned())
                }
                _ => Ok(Format::AzuriteDatabase),
            };
        }
        let is_json = text.trim_ascii_start().starts_with(b"{") || text.trim_ascii_start().starts_with(b"[");
        if let Some(tool) = is_json.then(|| tool_json::detect(text)).flatten() {
            return Ok(Format::Tool(tool));
        }
        match text.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'{') if name.ends_with("__azurite_db_table__.json") => Ok(Format::AzuriteDatabase),
            None if is_table_name(name) => Ok(Format::TypedCsv),
            None | Some(b'{' | b'[') => Ok(Format::ServiceJson),
            Some(_) if is_table_name(name) || typed_csv::is_header(text) => Ok(Format::TypedCsv),
            Some(_) => {
                let shown: String = String::from_utf8_lossy(text).trim_start().chars().take(20).collect();
                let shown = shown.escape_debug();
                Err(format!(
                    "neither JSON nor Parquet nor a CSV with PartitionKey and RowKey begins with \"{shown}\"; of a CSV with other columns, keys are made with {}, and {}",
                    key_option("PartitionKey"),
                    key_option("RowKey")
                ))
            }
        }
    }
}

impl Source {
    /// Detects the format by the first bytes, which stay to be read.
    pub fn detect(&mut self) -> Result<Format, Error> {
        if self.is_one_table() {
            return Ok(Format::AzuriteDatabase);
        }
        let first = self.first_bytes()?;
        Format::detect(&first, self.name())
            .map_err(|reason| Error::UnknownFormat { input: Arc::clone(self.name()), reason })
    }

    /// The same where keys may be made of columns: a table of any columns is CSV then, whatever its
    /// name.
    pub fn detect_with(&mut self, keys: &KeyColumns) -> Result<Format, Error> {
        match self.detect() {
            Err(Error::UnknownFormat { .. }) if !keys.is_empty() && !self.first_bytes()?.contains(&0) => {
                Ok(Format::TypedCsv)
            }
            detected => detected,
        }
    }
}

/// True if a file is CSV by its name.
fn is_table_name(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.ends_with(".csv") || name.ends_with(".tsv")
}

/// The encoding of text that is not UTF-8, by its byte order mark or by the zeros between letters.
fn foreign_encoding(first: &[u8]) -> Option<&'static str> {
    match first {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        [letter, 0, other, 0, ..] | [0, letter, 0, other, ..] if letter.is_ascii() && other.is_ascii() => {
            (*letter != 0 && *other != 0).then_some("UTF-16 without a byte order mark")
        }
        _ => None,
    }
}

/// What a database of Azurite says its file is called: `{"filename":"…","collections":[` is how it
/// begins.
fn azurite_file(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let rest = after(after(after(&text, "{")?, "\"filename\"")?, ":")?.trim_start();
    let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let filename = strings.next()?.ok()?;
    after(after(&rest[strings.byte_offset()..], ",")?, "\"collections\"")?;
    Some(filename)
}

/// What is behind `token`, if that comes first.
fn after<'a>(text: &'a str, token: &str) -> Option<&'a str> {
    text.trim_start().strip_prefix(token)
}

#[cfg(test)]
mod tests;
