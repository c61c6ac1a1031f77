//! Options of a COPY FROM in a format of entities.

use super::options::{is_utf8, text};
use crate::entity_service::OnReject;
use rowkey_base::{Error, Result, SqlState};
use rowkey_formats::Format;
use rowkey_postgres::syntax::{CopyOption, Request, Source, Statement};

/// How entities come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntityCopyOptions {
    pub format: Format,
    /// As the statement has it.
    pub name: String,
    pub on_reject: OnReject,
}

impl EntityCopyOptions {
    /// The options of a COPY in a format of entities; `None` if it is in one of rows.
    pub(super) fn of(options: &[CopyOption], source: &Source) -> Result<Option<Self>> {
        let Some(format) = options.iter().find(|option| option.name == "format") else { return Ok(None) };
        let name = text(format)?;
        let Some(format) = entity_format(&name) else { return Ok(None) };
        let mut read = Self { format, name, on_reject: OnReject::Stop };
        let mut names: Vec<&str> = Vec::new();
        for option in options {
            let at = |error: Error| error.at(source.position(option.location));
            let invalid = |message: String| at(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            match option.name.as_str() {
                "format" => {}
                "on_error" => {
                    read.on_reject = match text(option)?.to_ascii_lowercase().as_str() {
                        "stop" => OnReject::Stop,
                        "ignore" => OnReject::Skip,
                        other => return Err(invalid(format!("COPY ON_ERROR \"{other}\" not recognized"))),
                    }
                }
                "encoding" if is_utf8(&text(option)?) => {}
                other => {
                    let message = format!("COPY {} is not available in the format \"{}\"", other, read.name);
                    return Err(at(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)));
                }
            }
            if names.contains(&option.name.as_str()) {
                return Err(at(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")));
            }
            names.push(&option.name);
        }
        Ok(Some(read))
    }
}

/// Whether a statement is a COPY FROM STDIN of entities, which runs in no transaction block.
pub(crate) fn imports_entities(statement: &Statement) -> bool {
    match &statement.request {
        Request::Copy(copy) if !copy.sends() => {
            EntityCopyOptions::of(&copy.options, &statement.source).is_ok_and(|options| options.is_some())
        }
        _ => false,
    }
}

/// `csv` is PostgreSQL's; that of entities, with their types beside them, is `typed_csv`.
fn entity_format(name: &str) -> Option<Format> {
    match name {
        "ndjson" => Some(Format::ServiceJson),
        "typed_csv" => Some(Format::TypedCsv),
        "csv" | "azurite" => None,
        name => Format::parse(name),
    }
}
