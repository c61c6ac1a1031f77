//! COPY: its statement, and its options as they are written.

use std::fmt;

use datafusion::sql::sqlparser::ast::{CopyTarget, Ident, Statement};
use datafusion::sql::sqlparser::tokenizer::Location;

/// A COPY. Its options stand beside the parser's statement, which has no room for all of them.
#[derive(Debug, Clone)]
pub struct CopyStatement {
    pub statement: Statement,
    pub options: Vec<CopyOption>,
}

/// An option with its name in lower case, as `(FORMAT csv)` or in the words from before 9.0, which
/// say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOption {
    pub name: String,
    pub argument: CopyArgument,
    /// In the text of the statement.
    pub location: Location,
}

/// What stands behind the name of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyArgument {
    Nothing,
    /// A word in lower case, or what is in quotes.
    Text(String),
    Number(String),
    /// `*`.
    All,
    Columns(Vec<Ident>),
}

impl CopyStatement {
    /// Whether it sends rows to the client or writes them to a file.
    pub fn sends(&self) -> bool {
        matches!(self.statement, Statement::Copy { to: true, .. })
    }

    /// The file of the server that it writes.
    pub fn file_written(&self) -> Option<&str> {
        match &self.statement {
            Statement::Copy { to: true, target: CopyTarget::File { filename }, .. } => Some(filename),
            _ => None,
        }
    }
}

impl fmt::Display for CopyOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name.to_ascii_uppercase())?;
        match &self.argument {
            CopyArgument::Nothing => Ok(()),
            CopyArgument::Text(text) => write!(f, " '{}'", text.replace('\'', "''")),
            CopyArgument::Number(number) => write!(f, " {number}"),
            CopyArgument::All => f.write_str(" *"),
            CopyArgument::Columns(columns) => {
                let names: Vec<String> = columns.iter().map(ToString::to_string).collect();
                write!(f, " ({})", names.join(", "))
            }
        }
    }
}
