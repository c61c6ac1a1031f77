//! A client of the wire protocol that shows all of an answer: types, places of errors, values in
//! both formats.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::differential::Outcome;
use crate::protocol::{Body, Failure, bind_with_formats, describe, execute, parse, query, startup, sync};

/// Answers that take longer are a hang.
const ANSWER_SECONDS_MAX: u64 = 15;

/// PostgreSQL is stopped sooner, but writes on for as long as a join has spilled before it ends one.
const PEER_SECONDS_MAX: u64 = 120;

/// Between the values of a row.
pub(crate) const SEPARATOR: &str = " | ";

/// How a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Simple,
    /// Parse, Bind, Execute: parameters and results as texts.
    Texts,
    /// Parameters as texts, results in binary.
    Binary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub label: String,
    pub type_oid: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rows {
    pub columns: Vec<Column>,
    pub rows: Vec<String>,
    /// Of parameters.
    pub parameters: Vec<u32>,
    pub tag: String,
}

pub(crate) type Answer = Result<Rows, Failure>;

trait Stream: Read + Write {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

/// The connection, what the last answer said beside its rows, and the types that parameters are
/// declared with.
pub(crate) struct Client(BufReader<Box<dyn Stream>>, Aside, Vec<u32>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Aside {
    /// SQLSTATE and text of each warning.
    pub warnings: Vec<String>,
    /// What ReadyForQuery says of the transaction.
    pub status: char,
}

impl Client {
    pub(crate) fn tcp(address: &str, user: &str, database: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)))?;
        Self::started(Box::new(stream), user, database)
    }

    pub(crate) fn unix(path: &Path, user: &str, database: &str) -> Outcome<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(Duration::from_secs(PEER_SECONDS_MAX)))?;
        Self::started(Box::new(stream), user, database)
    }

    fn started(stream: Box<dyn Stream>, user: &str, database: &str) -> Outcome<Self> {
        let mut client = Self(BufReader::new(stream), Aside::default(), Vec::new());
        let pairs = [("user", user), ("database", database), ("client_encoding", "UTF8")];
        client.0.get_mut().write_all(&startup(pairs.iter()))?;
        match client.answer(false)? {
            Ok(_) => Ok(client),
            Err(failure) => Err(format!("refused: {failure:?}").into()),
        }
    }

    /// Statements whose answers do not matter, as long as they are no errors.
    pub(crate) fn run(&mut self, statements: &str) -> Outcome<()> {
        match self.ask(statements, &[], Form::Simple)? {
            Ok(_) => Ok(()),
            Err(failure) => Err(format!("{statements:.200}: {failure:?}").into()),
        }
    }

    /// Declares the types of the parameters of all statements from here on; 0 is none.
    pub(crate) fn declare(&mut self, types: &[u32]) {
        self.2 = types.to_vec();
    }

    pub(crate) fn aside(&self) -> &Aside {
        &self.1
    }

    pub(crate) fn ask(&mut self, statement: &str, parameters: &[Option<String>], form: Form) -> Outcome<Answer> {
        if form == Form::Simple {
            self.0.get_mut().write_all(&query(statement))?;
            return self.answer(false);
        }
        let binary = form == Form::Binary;
        let values = parameters.iter().map(Option::as_deref);
        let bind = bind_with_formats("", "", values, &[u16::from(binary)]);
        let messages = [parse("", statement, &self.2), describe(b'S', ""), bind, execute("", 0), sync()];
        self.0.get_mut().write_all(&messages.concat())?;
        self.answer(binary)
    }

    /// All messages up to ReadyForQuery.
    fn answer(&mut self, binary: bool) -> Outcome<Answer> {
        let mut found = Rows::default();
        let mut failure = None;
        self.1 = Aside::default();
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length.checked_sub(4).ok_or("a message without a length")?];
            self.0.read_exact(&mut body)?;
            let mut body = Body(&body);
            match head[0] {
                b'T' => {
                    found.columns.clear();
                    for _ in 0..body.u16()? {
                        let label = body.text()?;
                        body.take(6)?;
                        let type_oid = body.u32()?;
                        body.take(8)?;
                        found.columns.push(Column { label, type_oid });
                    }
                }
                b't' => {
                    for _ in 0..body.u16()? {
                        found.parameters.push(body.u32()?);
                    }
                }
                b'D' => {
                    let row = body.values()?.into_iter();
                    let row: Vec<_> = row.map(|value| value.map_or("NULL".to_owned(), |v| shown(v, binary))).collect();
                    found.rows.push(row.join(SEPARATOR));
                }
                b'C' => found.tag = body.text()?,
                b'E' => failure = failure.or(Some(body.failure()?)),
                b'R' if body.u32()? != 0 => return Err("a password is asked for".into()),
                b'N' => {
                    let warning = body.failure()?;
                    self.1.warnings.push(format!("{} {}", warning.sqlstate, warning.message));
                }
                b'Z' => {
                    self.1.status = body.take(1)?[0].into();
                    return Ok(failure.map_or(Ok(found), Err));
                }
                _ => {}
            }
        }
    }
}

fn shown(value: &[u8], binary: bool) -> String {
    match binary {
        true => format!("0x{}", value.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        false => format!("{:?}", String::from_utf8_lossy(value)),
    }
}
