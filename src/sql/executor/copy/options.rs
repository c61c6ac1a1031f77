//! Options of COPY.

use datafusion::sql::sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption};

use rowkey_base::{Error, Result, SqlState};

/// How rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyOptions {
    pub csv: bool,
    pub header: bool,
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    /// Of CSV.
    pub quote: u8,
    pub escape: u8,
}

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} of COPY is not supported"))
}

fn byte(name: &str, given: char) -> Result<u8> {
    let byte = u8::try_from(given).ok().filter(u8::is_ascii);
    byte.ok_or_else(|| {
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("COPY {name} must be a single one-byte character"))
    })
}

impl CopyOptions {
    /// CSV whose first line has the names of the columns.
    pub(crate) fn csv_with_header() -> Self {
        Self { csv: true, header: true, delimiter: b',', null: String::new(), quote: b'"', escape: b'"' }
    }

    pub(crate) fn of(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<Self> {
        let (mut csv, mut header) = (false, false);
        let (mut delimiter, mut null, mut quote, mut escape) = (None, None, None, None);
        for option in options {
            match option {
                CopyOption::Format(name) => match name.value.to_ascii_lowercase().as_str() {
                    "text" => csv = false,
                    "csv" => csv = true,
                    "binary" => return Err(unsupported("the binary format")),
                    other => {
                        let message = format!("COPY format \"{other}\" not recognized");
                        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
                    }
                },
                CopyOption::Header(given) => header = *given,
                CopyOption::Delimiter(given) => delimiter = Some(byte("delimiter", *given)?),
                CopyOption::Null(given) => null = Some(given.clone()),
                CopyOption::Quote(given) => quote = Some(byte("quote", *given)?),
                CopyOption::Escape(given) => escape = Some(byte("escape", *given)?),
                CopyOption::Freeze(false) => {}
                CopyOption::Encoding(name) if is_utf8(name) => {}
                other => return Err(unsupported(other)),
            }
        }
        for option in legacy {
            match option {
                CopyLegacyOption::Csv(more) => {
                    csv = true;
                    for option in more {
                        match option {
                            CopyLegacyCsvOption::Header => header = true,
                            CopyLegacyCsvOption::Quote(given) => quote = Some(byte("quote", *given)?),
                            CopyLegacyCsvOption::Escape(given) => escape = Some(byte("escape", *given)?),
                            other => return Err(unsupported(other)),
                        }
                    }
                }
                CopyLegacyOption::Header => header = true,
                CopyLegacyOption::Delimiter(given) => delimiter = Some(byte("delimiter", *given)?),
                CopyLegacyOption::Null(given) => null = Some(given.clone()),
                CopyLegacyOption::Binary => return Err(unsupported("the binary format")),
                other => return Err(unsupported(other)),
            }
        }
        for (name, given) in [("quote", quote), ("escape", escape)] {
            if given.is_some() && !csv {
                return Err(Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("COPY {name} available only in CSV mode"),
                ));
            }
        }
        let quote = quote.unwrap_or(b'"');
        let options = Self {
            csv,
            header,
            delimiter: delimiter.unwrap_or(if csv { b',' } else { b'\t' }),
            null: null.unwrap_or_else(|| if csv { String::new() } else { "\\N".to_owned() }),
            quote,
            escape: escape.unwrap_or(quote),
        };
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Result<()> {
        let refused = |message: &str| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        if matches!(self.delimiter, b'\n' | b'\r') {
            return refused("COPY delimiter cannot be newline or carriage return");
        }
        if self.null.contains(['\n', '\r']) {
            return refused("COPY null representation cannot use newline or carriage return");
        }
        if !self.csv
            && (self.delimiter.is_ascii_lowercase()
                || self.delimiter.is_ascii_digit()
                || b"\\.".contains(&self.delimiter))
        {
            return refused(&format!("COPY delimiter cannot be \"{}\"", char::from(self.delimiter)));
        }
        if self.null.contains(char::from(self.delimiter)) {
            return refused("COPY delimiter must not appear in the NULL specification");
        }
        if self.csv && self.delimiter == self.quote {
            return refused("COPY delimiter and quote must be different");
        }
        if self.csv && self.null.contains(char::from(self.quote)) {
            return refused("CSV quote character must not appear in the NULL specification");
        }
        Ok(())
    }
}

fn is_utf8(name: &str) -> bool {
    ["utf8", "utf-8", "unicode"].contains(&name.to_ascii_lowercase().as_str())
}
