//! Exit statuses and errors of commands.

use std::io::{self, Write};
use std::process::ExitCode;

use super::diagnostics;
use super::output;
use super::text::visible;
use rowkey_sql::session;

/// How a command that could do its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExitStatus {
    Well,
    /// A finding of `check`, or rejects: 1.
    Found,
    /// An import left out rejected entities without `--on-error`: 3.
    Rejected,
}

impl ExitStatus {
    pub(super) fn exit_code(self) -> ExitCode {
        match self {
            ExitStatus::Well => ExitCode::SUCCESS,
            ExitStatus::Found => ExitCode::FAILURE,
            ExitStatus::Rejected => ExitCode::from(EXIT_REJECTED),
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(super) enum Failure {
    Engine(session::Error),
    Statement(Box<StatementFailure>),
    Input(rowkey_formats::Error),
    /// With a hint on what to do.
    Plain {
        message: String,
        hint: String,
    },
    /// The arguments do not go together.
    Usage {
        message: String,
        hint: String,
    },
    /// A server that is not reached, or not any more.
    Connection {
        message: String,
        hint: String,
    },
    /// Ended by a signal; the exit status is 128 and its number.
    Interrupted {
        message: String,
        hint: String,
        status: u8,
    },
    /// A result that cannot be shown in the form asked for.
    Shown(output::Error),
    /// Standard output cannot be written.
    Write(io::Error),
}

/// An error of a statement, with the line that it is about and a caret below.
#[derive(Debug)]
pub(super) struct StatementFailure {
    pub error: session::Error,
    place: String,
    /// It was read from a file or from standard input.
    in_script: bool,
}

/// The exit status that shells show for a program ended by SIGPIPE.
const EXIT_BROKEN_PIPE: u8 = 141;
/// The exit status for arguments that make no sense, the same as clap's.
const EXIT_USAGE: u8 = 2;
/// The exit status where there is no connection to the server, as psql has it.
const EXIT_CONNECTION: u8 = 2;
/// The exit status where a statement of a script fails, as psql has it.
const EXIT_SCRIPT: u8 = 3;
/// The exit status of an import that left entities out.
const EXIT_REJECTED: u8 = 3;

impl Failure {
    pub(super) fn plain(message: impl ToString, hint: impl Into<String>) -> Self {
        Failure::Plain { message: message.to_string(), hint: hint.into() }
    }

    /// An error that a statement gave, at its place in it.
    pub(super) fn in_statement(self, statement: &str) -> Self {
        match self {
            Failure::Engine(error) => {
                let place = error.position().map_or_else(String::new, |at| diagnostics::place(statement, at));
                Failure::Statement(Box::new(StatementFailure { error, place, in_script: false }))
            }
            other => other,
        }
    }

    /// The error of one of the statements of a script.
    pub(super) fn in_script(self) -> Self {
        match self {
            Failure::Statement(mut failure) => {
                failure.in_script = true;
                Failure::Statement(failure)
            }
            other => other,
        }
    }

    pub(super) fn connection(message: impl ToString, hint: impl Into<String>) -> Self {
        Failure::Connection { message: message.to_string(), hint: hint.into() }
    }

    pub(super) fn defect(message: impl Into<String>) -> Self {
        Failure::Plain { message: message.into(), hint: "this is a defect of rowkey; please report it".to_owned() }
    }

    pub(super) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::Usage { message: message.into(), hint: hint.into() }
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage { .. } => ExitCode::from(EXIT_USAGE),
            Failure::Interrupted { status, .. } => ExitCode::from(*status),
            Failure::Connection { .. } => ExitCode::from(EXIT_CONNECTION),
            Failure::Statement(failure) if failure.in_script => ExitCode::from(EXIT_SCRIPT),
            _ if self.is_broken_pipe() => ExitCode::from(EXIT_BROKEN_PIPE),
            _ => ExitCode::FAILURE,
        }
    }

    /// Prints the error on standard error; nothing on a broken pipe.
    pub(super) fn tell(&self) {
        if self.is_broken_pipe() {
            return;
        }
        let (message, hint) = match self {
            Failure::Engine(error) => (error.to_string(), error.hint()),
            Failure::Statement(failure) => (failure.error.to_string(), failure.error.hint()),
            Failure::Input(error) => (error.to_string(), None),
            Failure::Plain { message, hint }
            | Failure::Usage { message, hint }
            | Failure::Connection { message, hint }
            | Failure::Interrupted { message, hint, .. } => (message.clone(), Some(hint.as_str())),
            Failure::Shown(error) => (error.to_string(), error.hint()),
            Failure::Write(error) => (format!("cannot write to standard output: {error}"), None),
        };
        tell(format_args!("error: {message}"));
        if let Failure::Statement(failure) = self {
            failure.place.lines().for_each(tell);
            if let Some(detail) = failure.error.detail() {
                tell(format_args!("detail: {detail}"));
            }
        }
        if let Some(hint) = hint {
            tell(format_args!("hint: {hint}"));
        }
    }

    fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<session::Error> for Failure {
    fn from(error: session::Error) -> Self {
        Failure::Engine(error)
    }
}

impl From<rowkey_formats::Error> for Failure {
    fn from(error: rowkey_formats::Error) -> Self {
        Failure::Input(error)
    }
}

impl From<output::Error> for Failure {
    fn from(error: output::Error) -> Self {
        match error {
            output::Error::Write(error) => Failure::Write(error),
            error => Failure::Shown(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Write(error)
    }
}

/// Writes a line to standard error, in which values from input cannot change the terminal. A
/// closed one is ignored.
pub(super) fn tell(line: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", visible(&line.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_statuses() {
        let write = |kind: io::ErrorKind| Failure::from(output::Error::Write(kind.into())).exit_code();
        let shown = |code: ExitCode| format!("{code:?}");
        assert_eq!(shown(write(io::ErrorKind::BrokenPipe)), shown(ExitCode::from(141)));
        assert_eq!(shown(write(io::ErrorKind::StorageFull)), shown(ExitCode::from(1)));
        assert_eq!(shown(Failure::usage("", "").exit_code()), shown(ExitCode::from(2)));
        assert_eq!(shown(Failure::connection("", "").exit_code()), shown(ExitCode::from(2)));
        let failed = || Failure::from(session::Error::new(session::SqlState::UNDEFINED_TABLE, "")).in_statement("");
        assert_eq!(shown(failed().exit_code()), shown(ExitCode::from(1)));
        assert_eq!(shown(failed().in_script().exit_code()), shown(ExitCode::from(3)));
        let outcomes =
            [ExitStatus::Well, ExitStatus::Found, ExitStatus::Rejected].map(ExitStatus::exit_code).map(shown);
        assert_eq!(outcomes, [0, 1, 3].map(ExitCode::from).map(shown));
        let column = output::Error::ColumnTwice { column: "a".to_owned() };
        assert_eq!(shown(Failure::from(column).exit_code()), shown(ExitCode::from(1)));
    }
}
