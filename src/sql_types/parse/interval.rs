use crate::sql_types::{Error, Interval, TextStyle};
pub(super) fn parse_interval(text: &str, _: &TextStyle) -> Result<Interval, Error> {
    Err(Error::invalid_text("interval", text))
}
