//! Keys made of other columns.

use std::borrow::Cow;
use std::sync::Arc;

/// Where PartitionKey and RowKey come from in a file that has no columns of these names; `None`
/// where it has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyColumns {
    pub partition: Option<KeyTemplate>,
    pub row: Option<KeyTemplate>,
}

impl KeyColumns {
    /// Whether both keys are columns of their own names.
    pub fn is_empty(&self) -> bool {
        self.partition.is_none() && self.row.is_none()
    }

    /// True if a column is a key as it is; it is no property then.
    pub(super) fn is_key(&self, column: &str) -> bool {
        [&self.partition, &self.row].into_iter().flatten().any(|template| template.column() == Some(column))
    }

    /// Every column that a key needs.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Arc<str>> {
        [&self.partition, &self.row].into_iter().flatten().flat_map(KeyTemplate::columns)
    }
}

/// The option with which a key is made of other columns, and how it is written.
pub(super) fn key_option(key: &str) -> &'static str {
    match key {
        "RowKey" => "--rk-column Id, or --rk-column '{City}-{Id}' of several columns",
        _ => "--pk-column Country, or --pk-column '{Country}-{City}' of several columns",
    }
}

/// The same where the column has the right name and other values than texts: their text is taken.
pub(super) fn key_option_of_its_own(key: &str) -> &'static str {
    match key {
        "RowKey" => {
            "--rk-column RowKey, or a text with columns in it such as --rk-column '{RowKey}', makes keys of their text"
        }
        _ => {
            "--pk-column PartitionKey, or a text with columns in it such as --pk-column '{PartitionKey}', makes keys of their text"
        }
    }
}

/// A key as text with columns in it: `Country`, or `{Country}-{City}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Column(Arc<str>),
}

impl KeyTemplate {
    /// Reads a template. Without braces it is the name of one column; in one with braces, `{{` and
    /// `}}` stand for a brace. The error is the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("a key is made of a column, and none is named".to_owned());
        }
        if !text.contains(['{', '}']) {
            return Ok(Self { parts: vec![Part::Column(text.into())] });
        }
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..at + 1];
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix(brace) {
                literal.push_str(brace);
                rest = behind;
                continue;
            }
            let column = (brace == "{").then(|| rest.split_once('}')).flatten();
            let Some((column, behind)) = column.filter(|(column, _)| !column.is_empty() && !column.contains('{'))
            else {
                let shown = text.escape_debug();
                return Err(format!(
                    "\"{shown}\": a column stands between braces, and {{{{ or }}}} stands for a brace"
                ));
            };
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(Part::Column(column.into()));
            rest = behind;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }

    /// The column, if the key is that and nothing else.
    pub(super) fn column(&self) -> Option<&str> {
        match &self.parts[..] {
            [Part::Column(column)] => Some(column),
            _ => None,
        }
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(column) => Some(column),
            Part::Text(_) => None,
        })
    }

    /// Puts the key together; `value` gives a column's text and refuses where there is none.
    pub(super) fn key<'v, E>(&self, mut value: impl FnMut(&str) -> Result<Cow<'v, str>, E>) -> Result<String, E> {
        let mut key = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => key.push_str(text),
                Part::Column(column) => key.push_str(&value(column)?),
            }
        }
        Ok(key)
    }
}

#[cfg(test)]
mod tests;
