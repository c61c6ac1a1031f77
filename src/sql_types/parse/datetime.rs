use crate::sql_types::{Error, TextStyle};
pub(super) fn parse_timestamp(text: &str, _: &TextStyle) -> Result<i64, Error> {
    Err(Error::invalid_text("timestamp", text))
}
pub(super) fn parse_timestamptz(text: &str, _: &TextStyle) -> Result<i64, Error> {
    Err(Error::invalid_text("timestamp", text))
}
pub(super) fn parse_time(text: &str, _: &TextStyle) -> Result<i64, Error> {
    Err(Error::invalid_text("timestamp", text))
}
pub(super) fn parse_date(text: &str, _: &TextStyle) -> Result<i32, Error> {
    Err(Error::invalid_text("timestamp", text))
}
