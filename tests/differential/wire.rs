//! A client of the wire protocol that shows all of an answer: types, places of errors, values in
//! both formats.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::differential::Outcome;

/// Answers that take longer are a hang.
const ANSWER_SECONDS_MAX: u64 = 15;

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
pub(crate) struct Failure {
    pub sqlstate: String,
    pub message: String,
    /// In characters from 1.
    pub position: Option<usize>,
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

/// The connection, and what the last answer said beside its rows.
pub(crate) struct Client(BufReader<Box<dyn Stream>>, Aside);

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
        stream.set_read_timeout(Some(Duration::from_secs(ANSWER_SECONDS_MAX)))?;
        Self::started(Box::new(stream), user, database)
    }

    fn started(stream: Box<dyn Stream>, user: &str, database: &str) -> Outcome<Self> {
        let mut client = Self(BufReader::new(stream), Aside::default());
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        for word in ["user", user, "database", database, "client_encoding", "UTF8"] {
            text(&mut body, word);
        }
        body.push(0);
        let mut startup = (body.len() as u32 + 4).to_be_bytes().to_vec();
        startup.extend(body);
        client.0.get_mut().write_all(&startup)?;
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

    pub(crate) fn aside(&self) -> &Aside {
        &self.1
    }

    pub(crate) fn ask(&mut self, statement: &str, parameters: &[Option<String>], form: Form) -> Outcome<Answer> {
        let mut out = Vec::new();
        if form == Form::Simple {
            message(&mut out, b'Q', |body| text(body, statement));
            self.0.get_mut().write_all(&out)?;
            return self.answer(false);
        }
        let binary = form == Form::Binary;
        message(&mut out, b'P', |body| {
            text(body, "");
            text(body, statement);
            body.extend(0_u16.to_be_bytes());
        });
        message(&mut out, b'D', |body| {
            body.push(b'S');
            text(body, "");
        });
        message(&mut out, b'B', |body| {
            text(body, "");
            text(body, "");
            body.extend(0_u16.to_be_bytes());
            body.extend((parameters.len() as u16).to_be_bytes());
            for parameter in parameters {
                match parameter {
                    Some(value) => {
                        body.extend((value.len() as u32).to_be_bytes());
                        body.extend(value.as_bytes());
                    }
                    None => body.extend((-1_i32).to_be_bytes()),
                }
            }
            body.extend(1_u16.to_be_bytes());
            body.extend(u16::from(binary).to_be_bytes());
        });
        message(&mut out, b'E', |body| {
            text(body, "");
            body.extend(0_u32.to_be_bytes());
        });
        message(&mut out, b'S', |_| {});
        self.0.get_mut().write_all(&out)?;
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
                    let mut row = Vec::new();
                    for _ in 0..body.u16()? {
                        row.push(match body.u32()? {
                            u32::MAX => "NULL".to_owned(),
                            length => shown(body.take(length as usize)?, binary),
                        });
                    }
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

fn text(body: &mut Vec<u8>, text: &str) {
    body.extend(text.as_bytes());
    body.push(0);
}

fn message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let mut body = Vec::new();
    write(&mut body);
    out.push(kind);
    out.extend((body.len() as u32 + 4).to_be_bytes());
    out.extend(body);
}

struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, length: usize) -> Outcome<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(length).ok_or("a message ends early")?;
        self.0 = left;
        Ok(taken)
    }

    fn u16(&mut self) -> Outcome<u16> {
        Ok(u16::from_be_bytes(self.take(2)?.try_into()?))
    }

    fn u32(&mut self) -> Outcome<u32> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into()?))
    }

    fn text(&mut self) -> Outcome<String> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or("a text without an end")?;
        // PostgreSQL cuts characters of values that it quotes.
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    fn failure(&mut self) -> Outcome<Failure> {
        let mut failure = Failure::default();
        loop {
            let kind = self.take(1)?[0];
            if kind == 0 {
                return Ok(failure);
            }
            let value = self.text()?;
            match kind {
                b'C' => failure.sqlstate = value,
                b'M' => failure.message = value,
                b'P' => failure.position = Some(value.parse()?),
                _ => {}
            }
        }
    }
}
