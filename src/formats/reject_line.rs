//! Entities that were not taken, as lines of JSON that can be corrected and imported again.
//!
//! Each line is the entity with `odata.reject` before its members, which says where it stood and
//! what is wrong with it; importing skips that. What had no members to be written (a line of a CSV
//! with too many values, a text that was too long) has `odata.record` instead of them, with what
//! there is of it: importing that is refused, since it would be lost without a word.

use super::error::Reject;
use super::key_columns::KeyColumns;
use rowkey_model::rows::{PropertyNames, RowRef};
use rowkey_model::{EdmType, KeyRef, Value};

/// The member that says what was wrong.
pub(super) const REASON: &str = "odata.reject";

/// The member that stands in for an entity.
pub(super) const RECORD: &str = "odata.record";
/// Of a record that stands in for an entity, shown in a message.
const SHOWN_CHARS: usize = 60;

/// Why an object with such a member is refused.
pub(super) fn refused_record(record: &str) -> String {
    if record.is_empty() {
        return format!("{RECORD} stands for an entity that was too long to be kept; take it from the export again");
    }
    let shown: String = record.chars().take(SHOWN_CHARS).collect();
    let more = if shown.len() < record.len() { "..." } else { "" };
    let shown = shown.escape_debug();
    format!(
        "{RECORD} is a line that could not be taken apart, \"{shown}{more}\"; write it as members, with PartitionKey and RowKey"
    )
}

/// The beginning of a line: an object with the reason.
fn begin(reject: &Reject, line: &mut Vec<u8>) {
    line.push(b'{');
    push_text(REASON, line);
    line.push(b':');
    push_text(&reject.to_string(), line);
}

/// One whose text was not held.
pub(super) fn without_text(reject: &Reject, line: &mut Vec<u8>) {
    let mut line = LineBuilder::begin(reject, line);
    line.record("");
    line.end();
}

/// One that was read as JSON. What is no object at all stands on a line of its own, to be mended or
/// taken out.
pub(super) fn of_json(reject: &Reject, entity: &[u8], line: &mut Vec<u8>) {
    begin(reject, line);
    let inner = entity.strip_prefix(b"{");
    let is_empty = inner.is_some_and(|inner| inner.trim_ascii_start().starts_with(b"}"));
    line.extend_from_slice(match inner {
        Some(_) if is_empty => b"",
        Some(_) => b",",
        None => b"}\n",
    });
    // Line ends are white space in JSON, for within texts they are escaped.
    line.extend(inner.unwrap_or(entity).iter().map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
    line.push(b'\n');
}

/// Writes the line of an entity that was decoded, and lost to another one of its key. Keys that
/// were made of one column stand under that column's name, so that the line is read with the same
/// options.
pub fn write_lost(reject: &Reject, row: RowRef<'_>, names: &PropertyNames, keys: &KeyColumns, lines: &mut Vec<u8>) {
    let mut line = LineBuilder::begin(reject, lines);
    let KeyRef { partition, row: row_key } = row.key();
    for (name, template, text) in [("PartitionKey", &keys.partition, partition), ("RowKey", &keys.row, row_key)] {
        match template {
            None => line.member(name, None, text),
            Some(template) => {
                // Columns that make a key together are properties, each by itself.
                if let Some(column) = template.column() {
                    line.member(column, None, text);
                }
            }
        }
    }
    if let Some(at) = row.timestamp() {
        line.member("Timestamp", None, &at.to_string());
    }
    for (id, value) in row.properties() {
        line.value(&names.name(id), &value.to_value());
    }
    line.end();
}

/// Builds the line of an entity that was no JSON.
pub(super) struct LineBuilder<'a> {
    line: &'a mut Vec<u8>,
}

impl<'a> LineBuilder<'a> {
    pub(super) fn begin(reject: &Reject, line: &'a mut Vec<u8>) -> Self {
        begin(reject, line);
        Self { line }
    }

    /// A text member, with its type unless that is String.
    pub(super) fn member(&mut self, name: &str, edm_type: Option<&str>, text: &str) {
        if let Some(edm_type) = edm_type.filter(|edm_type| *edm_type != "Edm.String") {
            self.line.push(b',');
            push_text(&format!("{name}@odata.type"), self.line);
            self.line.push(b':');
            push_text(edm_type, self.line);
        }
        self.line.push(b',');
        push_text(name, self.line);
        self.line.push(b':');
        push_text(text, self.line);
    }

    /// What stands in for all members.
    pub(super) fn record(&mut self, text: &str) {
        self.member(RECORD, None, text);
    }

    pub(super) fn value(&mut self, name: &str, value: &Value) {
        let edm_type = match value.edm_type() {
            EdmType::String => None,
            edm_type => Some(format!("Edm.{edm_type}")),
        };
        self.member(name, edm_type.as_deref(), &value.to_string());
    }

    pub(super) fn end(self) {
        self.line.extend_from_slice(b"}\n");
    }
}

fn push_text(text: &str, line: &mut Vec<u8>) {
    line.push(b'"');
    for character in text.chars() {
        match character {
            '"' | '\\' => line.extend_from_slice(&[b'\\', character as u8]),
            '\0'..' ' => line.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes()),
            _ => line.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    line.push(b'"');
}
