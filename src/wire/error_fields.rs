//! The fields of an error or a notice, as PostgreSQL sends them.

use rowkey_sql::session::{Error, SqlState};

/// Longest text of an error: the client's library takes 30,000 bytes in all.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Warning,
    Error,
    /// The connection ends with it.
    Fatal,
}

/// The fields of an error or a notice.
pub(crate) fn fields(error: &Error, severity: Severity) -> Vec<(u8, String)> {
    let severity = match severity {
        Severity::Warning if error.sqlstate() == SqlState::SUCCESSFUL_COMPLETION => "NOTICE",
        Severity::Warning => "WARNING",
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
    };
    let mut fields = vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', error.sqlstate().code().to_owned()),
        (b'M', error.to_string()),
    ];
    let text = |text: Option<&str>| text.map(str::to_owned);
    let violated = error.violated();
    let more = [
        (b'D', text(error.detail())),
        (b'H', text(error.hint())),
        (b'P', error.position().map(|p| p.to_string())),
        (b'W', text(error.context())),
        (b's', text(violated.map(|violated| violated.schema.as_str()))),
        (b't', text(violated.map(|violated| violated.table.as_str()))),
        (b'c', violated.and_then(|violated| violated.column.clone())),
        (b'n', violated.and_then(|violated| violated.constraint.clone())),
    ];
    fields.extend(more.into_iter().filter_map(|(name, value)| Some((name, value?))));
    for (_, value) in &mut fields {
        if value.len() > TEXT_BYTES_MAX {
            value.truncate(value.floor_char_boundary(TEXT_BYTES_MAX));
            value.push_str(" ...");
        }
        // A NUL would end the field.
        value.retain(|c| c != '\0');
    }
    fields
}

#[cfg(test)]
mod tests;
