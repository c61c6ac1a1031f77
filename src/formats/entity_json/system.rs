//! Reading the system properties: PartitionKey, RowKey and Timestamp.

use std::borrow::Cow;

use super::error::{EntityJsonError, no_key_text, twice};
use crate::json::Parser;
use rowkey_model::DateTime;

/// The system properties of an entity.
#[derive(Default)]
pub(crate) struct System<'a> {
    pub(crate) partition: Option<Cow<'a, str>>,
    pub(crate) row: Option<Cow<'a, str>>,
    has_timestamp: bool,
    pub(crate) timestamp: Option<DateTime>,
}

impl System<'_> {
    /// Passes over the Timestamp of a request, whatever its value.
    pub(super) fn skip_timestamp(
        &mut self,
        parser: &mut Parser<'_>,
        scratch: &mut String,
    ) -> Result<(), EntityJsonError> {
        self.begin_timestamp()?;
        Ok(parser.skip_value(scratch)?)
    }

    fn begin_timestamp(&mut self) -> Result<(), EntityJsonError> {
        if std::mem::replace(&mut self.has_timestamp, true) { Err(twice("Timestamp")) } else { Ok(()) }
    }

    pub(super) fn read_timestamp(
        &mut self,
        parser: &mut Parser<'_>,
        scratch: &mut String,
    ) -> Result<(), EntityJsonError> {
        self.begin_timestamp()?;
        match parser.peek() {
            Some(b'"') => {
                let text = parser.string(scratch)?;
                self.timestamp = Some(DateTime::parse(text).map_err(|rejected| rejected.named("Timestamp"))?);
                Ok(())
            }
            Some(b'n') => Ok(parser.skip_value(scratch)?),
            _ => Err(EntityJsonError::Refused("Timestamp is written as a string".to_owned())),
        }
    }
}

/// Passes over a null PartitionKey or RowKey, where the one that counts stands outside of the text.
pub(super) fn skip_null_key(
    to: &mut Option<Cow<'_, str>>,
    what: &str,
    parser: &mut Parser<'_>,
    scratch: &mut String,
) -> Result<(), EntityJsonError> {
    if to.replace(Cow::Borrowed("")).is_some() {
        return Err(twice(what));
    }
    Ok(parser.skip_value(scratch)?)
}

/// Reads PartitionKey or RowKey.
pub(crate) fn key_text<'a>(
    to: &mut Option<Cow<'a, str>>,
    what: &str,
    parser: &mut Parser<'a>,
    scratch: &mut String,
) -> Result<(), EntityJsonError> {
    if to.is_some() {
        return Err(twice(what));
    }
    if parser.peek() != Some(b'"') {
        let is_number = matches!(parser.peek(), Some(b'-' | b'0'..=b'9'));
        return Err(no_key_text(what, is_number));
    }
    *to = Some(match parser.plain_string() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(parser.string(scratch)?.to_owned()),
    });
    Ok(())
}
