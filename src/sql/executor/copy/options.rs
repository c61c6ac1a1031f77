//! Options of COPY: what they say, checked as PostgreSQL checks them.

use datafusion::sql::sqlparser::ast::Ident;

use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::syntax::{CopyArgument, CopyOption, Source};

/// How rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyOptions {
    pub format: CopyFormat,
    pub header: Header,
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    /// Of CSV, as all that follow.
    pub quote: u8,
    pub escape: u8,
    /// Of COPY TO.
    pub force_quote: ForceQuote,
    /// Of COPY FROM, as the next.
    pub force_not_null: Vec<Ident>,
    pub force_null: Vec<Ident>,
}

/// The form of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyFormat {
    Text,
    Csv,
    Binary,
}

/// What the first line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    Row,
    Names,
    /// Names that have to be those of the columns.
    Match,
}

/// The columns whose values are quoted, whatever they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ForceQuote {
    All,
    Columns(Vec<Ident>),
}

/// The options as they were given, each once.
#[derive(Default)]
struct Given<'a> {
    format: Option<CopyFormat>,
    freeze: bool,
    header: Option<Header>,
    delimiter: Option<String>,
    null: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Option<ForceQuote>,
    force_not_null: &'a [Ident],
    force_null: &'a [Ident],
}

fn syntax(message: impl Into<String>) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn unsupported(message: impl Into<String>) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

impl CopyOptions {
    /// CSV whose first line has the names of the columns.
    pub(crate) fn csv_with_header() -> Self {
        Self {
            format: CopyFormat::Csv,
            header: Header::Names,
            delimiter: b',',
            null: String::new(),
            quote: b'"',
            escape: b'"',
            force_quote: ForceQuote::Columns(Vec::new()),
            force_not_null: Vec::new(),
            force_null: Vec::new(),
        }
    }

    /// The options of a COPY that sends rows, or takes them, in the text of its statement.
    ///
    /// # Errors
    /// PostgreSQL's, in its order.
    pub(crate) fn of(options: &[CopyOption], sends: bool, source: &Source) -> Result<Self> {
        let given = Given::of(options, sends, source)?;
        let format = given.format.unwrap_or(CopyFormat::Text);
        if format == CopyFormat::Binary {
            for (name, given) in [("DELIMITER", &given.delimiter), ("NULL", &given.null)] {
                if given.is_some() {
                    return Err(syntax(format!("cannot specify {name} in BINARY mode")));
                }
            }
        }
        let is_csv = format == CopyFormat::Csv;
        let header = given.header.unwrap_or(Header::Row);
        let delimiter = one_byte("delimiter", given.delimiter.as_deref().unwrap_or(if is_csv { "," } else { "\t" }))?;
        let null = given.null.unwrap_or_else(|| if is_csv { String::new() } else { "\\N".to_owned() });
        if matches!(delimiter, b'\n' | b'\r') {
            return Err(invalid("COPY delimiter cannot be newline or carriage return"));
        }
        if null.contains(['\n', '\r']) {
            return Err(invalid("COPY null representation cannot use newline or carriage return"));
        }
        if !is_csv
            && (delimiter.is_ascii_lowercase() || delimiter.is_ascii_digit() || matches!(delimiter, b'\\' | b'.'))
        {
            return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(delimiter))));
        }
        if format == CopyFormat::Binary && header != Header::Row {
            return Err(unsupported("cannot specify HEADER in BINARY mode"));
        }
        let of_csv = |name: &str, is_given: bool| match is_given && !is_csv {
            true => Err(unsupported(format!("COPY {name} available only in CSV mode"))),
            false => Ok(()),
        };
        of_csv("quote", given.quote.is_some())?;
        let quote = one_byte("quote", given.quote.as_deref().unwrap_or("\""))?;
        if is_csv && delimiter == quote {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        of_csv("escape", given.escape.is_some())?;
        let escape = given.escape.as_deref().map_or(Ok(quote), |escape| one_byte("escape", escape))?;
        for (name, is_given, of_sending) in [
            ("force quote", given.force_quote.is_some(), true),
            ("force not null", !given.force_not_null.is_empty(), false),
            ("force null", !given.force_null.is_empty(), false),
        ] {
            of_csv(name, is_given)?;
            if is_given && sends != of_sending {
                let direction = if of_sending { "TO" } else { "FROM" };
                return Err(unsupported(format!("COPY {name} only available using COPY {direction}")));
            }
        }
        if null.contains(char::from(delimiter)) {
            return Err(unsupported("COPY delimiter must not appear in the NULL specification"));
        }
        if is_csv && null.contains(char::from(quote)) {
            return Err(unsupported("CSV quote character must not appear in the NULL specification"));
        }
        // It changes how rows are stored there, and only of a table that the transaction has made.
        if given.freeze && !sends {
            return Err(unsupported("FREEZE of COPY is not supported"));
        }
        Ok(Self {
            format,
            header,
            delimiter,
            null,
            quote,
            escape,
            force_quote: given.force_quote.unwrap_or(ForceQuote::Columns(Vec::new())),
            force_not_null: given.force_not_null.to_vec(),
            force_null: given.force_null.to_vec(),
        })
    }
}

impl<'a> Given<'a> {
    fn of(options: &'a [CopyOption], sends: bool, source: &Source) -> Result<Self> {
        let mut given = Self::default();
        let mut names: Vec<&str> = Vec::new();
        for option in options {
            let at = |error: Error| error.at(source.position(option.location));
            match option.name.as_str() {
                "format" => {
                    given.format = Some(match &*text(option)? {
                        "text" => CopyFormat::Text,
                        "csv" => CopyFormat::Csv,
                        "binary" => CopyFormat::Binary,
                        other => return Err(at(invalid(format!("COPY format \"{other}\" not recognized")))),
                    });
                }
                "freeze" => given.freeze = flag(option)?.ok_or_else(|| needs_boolean(option, ""))?,
                "header" => given.header = Some(header(option, sends)?),
                "delimiter" => given.delimiter = Some(text(option)?),
                "null" => given.null = Some(text(option)?),
                "quote" => given.quote = Some(text(option)?),
                "escape" => given.escape = Some(text(option)?),
                "force_quote" => {
                    given.force_quote = Some(match &option.argument {
                        CopyArgument::All => ForceQuote::All,
                        _ => ForceQuote::Columns(columns(option).map_err(at)?.to_vec()),
                    });
                }
                "force_not_null" => given.force_not_null = columns(option).map_err(at)?,
                "force_null" => given.force_null = columns(option).map_err(at)?,
                "encoding" => {
                    let name = text(option)?;
                    if !is_utf8(&name) {
                        return Err(at(unsupported(format!("COPY in encoding \"{name}\" is not supported"))));
                    }
                }
                other => return Err(at(syntax(format!("option \"{other}\" not recognized")))),
            }
            // There are no more names than those above.
            if names.contains(&option.name.as_str()) {
                return Err(at(syntax("conflicting or redundant options")));
            }
            names.push(&option.name);
        }
        Ok(given)
    }
}

pub(super) fn text(option: &CopyOption) -> Result<String> {
    match &option.argument {
        CopyArgument::Nothing => Err(syntax(format!("{} requires a parameter", option.name))),
        CopyArgument::Text(text) | CopyArgument::Number(text) => Ok(text.clone()),
        CopyArgument::All => Ok("*".to_owned()),
        CopyArgument::Columns(columns) => {
            let names: Vec<&str> = columns.iter().map(|column| column.value.as_str()).collect();
            Ok(names.join("."))
        }
    }
}

/// Whether an option is on; `None` if it does not say.
fn flag(option: &CopyOption) -> Result<Option<bool>> {
    Ok(match &option.argument {
        CopyArgument::Nothing => Some(true),
        CopyArgument::Number(number) => match number.as_str() {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        },
        _ => match text(option)?.to_ascii_lowercase().as_str() {
            "true" | "on" => Some(true),
            "false" | "off" => Some(false),
            _ => None,
        },
    })
}

fn needs_boolean(option: &CopyOption, more: &str) -> Error {
    syntax(format!("{} requires a Boolean value{more}", option.name))
}

fn header(option: &CopyOption, sends: bool) -> Result<Header> {
    match flag(option)? {
        Some(true) => return Ok(Header::Names),
        Some(false) => return Ok(Header::Row),
        None => {}
    }
    match &option.argument {
        CopyArgument::Text(word) if word.eq_ignore_ascii_case("match") => match sends {
            true => Err(unsupported(format!("cannot use \"{word}\" with HEADER in COPY TO"))),
            false => Ok(Header::Match),
        },
        _ => Err(needs_boolean(option, " or \"match\"")),
    }
}

fn columns(option: &CopyOption) -> Result<&[Ident]> {
    match &option.argument {
        CopyArgument::Columns(columns) => Ok(columns),
        _ => Err(invalid(format!("argument to option \"{}\" must be a list of column names", option.name))),
    }
}

fn one_byte(name: &str, given: &str) -> Result<u8> {
    match given.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(unsupported(format!("COPY {name} must be a single one-byte character"))),
    }
}

pub(super) fn is_utf8(name: &str) -> bool {
    ["utf8", "utf-8", "unicode"].contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
