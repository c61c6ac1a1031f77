//! What clients send, read with every length checked.

use bytes::{Buf, Bytes, BytesMut};

/// Longest message of a session, in bytes: a statement or a row of values must fit.
pub(crate) const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Longer ones are not decoded as they are read.
const DECODED_AT_ONCE_BYTES_MAX: usize = 64 << 10;
/// What says that it is longer than this is no message (PostgreSQL has the same bound).
const PASSED_OVER_BYTES_MAX: usize = (1 << 30) - 1;
/// Longest first message of a connection.
const STARTUP_BYTES_MAX: usize = 10_000;

const SSL_REQUEST: i32 = 80_877_103;
const GSS_REQUEST: i32 = 80_877_104;
const CANCEL_REQUEST: i32 = 80_877_102;

/// The first message of a connection.
#[derive(Debug, PartialEq)]
pub(crate) enum First {
    Ssl,
    Gss,
    Cancel {
        pid: i32,
        secret: i32,
    },
    Startup {
        major: u16,
        minor: u16,
        parameters: Vec<(String, String)>,
    },
    /// It says that it is one of the last kind, and is not.
    Unreadable,
}

/// A message of a session.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    Query(String),
    Parse {
        name: String,
        text: String,
        types: Vec<u32>,
    },
    Bind(Bind),
    DescribeStatement(String),
    DescribePortal(String),
    Execute {
        portal: String,
        rows_max: i32,
    },
    CloseStatement(String),
    ClosePortal(String),
    Flush,
    Sync,
    Terminate,
    /// It takes long to decode.
    Large(LargeMessage),
    /// Where no copy is under way, these three mean nothing.
    CopyData(Bytes),
    CopyDone,
    CopyFail(String),
    FunctionCall,
    /// It was read to its end, and is an error in the session.
    Malformed(Malformed),
    /// The same of a simple query or a function call, which no Sync follows.
    MalformedQuery(Malformed),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Bind {
    pub portal: String,
    pub statement: String,
    /// None, one for all, or one for each: 0 is text, 1 binary.
    pub formats: Vec<i16>,
    pub values: Vec<Option<Bytes>>,
    pub result_formats: Vec<i16>,
}

/// A message that is not decoded yet.
#[derive(Debug, PartialEq)]
pub(crate) struct LargeMessage {
    kind: u8,
    body: Bytes,
}

impl LargeMessage {
    /// What it says; never a [`Message::Large`].
    pub(crate) fn decode(self) -> Message {
        decode(self.kind, self.body)
    }
}

/// What is wrong with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// The content does not fit the length.
    Content(&'static str),
    NotUtf8,
    /// It has this many bytes.
    TooLarge(usize),
    /// The same, and the messages of all clients together have no more room.
    NoRoom(usize),
}

/// The connection cannot go on: the boundaries of the messages that follow are lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost(pub String);

/// The first message, once all of it is there.
pub(crate) fn first(buffer: &mut BytesMut) -> Result<Option<First>, Lost> {
    let Some(length) = peek_length(buffer, 0) else { return Ok(None) };
    if !(8..=STARTUP_BYTES_MAX as i64).contains(&length) {
        return Err(Lost(format!("invalid length of startup packet: {length}")));
    }
    let length = length as usize;
    if buffer.len() < length {
        return Ok(None);
    }
    let mut body = Body(buffer.split_to(length).freeze().slice(4..));
    let fits = |part: Option<First>| part.map(Some).ok_or_else(|| Lost("invalid startup packet".to_owned()));
    match body.int4() {
        Some(SSL_REQUEST) => Ok(Some(First::Ssl)),
        Some(GSS_REQUEST) => Ok(Some(First::Gss)),
        Some(CANCEL_REQUEST) => fits(body.int4().zip(body.int4()).map(|(pid, secret)| First::Cancel { pid, secret })),
        Some(version) => Ok(Some(body.startup(version).unwrap_or(First::Unreadable))),
        None => fits(None),
    }
}

/// What a buffer begins with.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    Whole(Message),
    /// Not all of it is there.
    Part,
    PassedOver(PassedOver),
}

/// A message that is larger than is taken. It is passed over, and an error in the session.
#[derive(Debug, PartialEq)]
pub(crate) struct PassedOver {
    kind: u8,
    reason: Malformed,
    bytes_left: usize,
}

impl PassedOver {
    /// The message that a buffer begins with, for want of room; none where no length has come.
    pub(crate) fn for_want_of_room(buffer: &BytesMut) -> Option<Self> {
        let length = usize::try_from(peek_length(buffer, 1)?).ok()?;
        Some(Self { kind: *buffer.first()?, reason: Malformed::NoRoom(length), bytes_left: 1 + length })
    }

    /// How many of these bytes belong to it; they are done with.
    pub(crate) fn pass_over(&mut self, bytes: usize) -> usize {
        let passed = bytes.min(self.bytes_left);
        self.bytes_left -= passed;
        passed
    }

    pub(crate) fn is_over(&self) -> bool {
        self.bytes_left == 0
    }

    pub(crate) fn message(self) -> Message {
        malformed(self.kind, self.reason)
    }
}

/// Whether the buffer begins with a message, or with something that cannot become one.
pub(crate) fn is_whole(buffer: &BytesMut) -> bool {
    peek_length(buffer, 1).is_some_and(|length| {
        let bytes = usize::try_from(length).unwrap_or_default();
        bytes > MESSAGE_BYTES_MAX || buffer.len() > bytes
    })
}

/// How many bytes are missing of the message that the buffer begins with; 0 where no length has
/// come, and for one that is not taken.
pub(crate) fn bytes_to_come(buffer: &BytesMut) -> usize {
    let length = peek_length(buffer, 1).and_then(|length| usize::try_from(length).ok());
    let length = length.filter(|length| *length <= MESSAGE_BYTES_MAX);
    length.map_or(0, |length| (1 + length).saturating_sub(buffer.len()))
}

const UNKNOWN_KIND: &str = "invalid frontend message type";
/// The messages of a session, by their first bytes; `p` is only asked for before it begins.
const KINDS: &[u8] = b"QPBDECHSXdcfFp";

fn malformed(kind: u8, malformed: Malformed) -> Message {
    match kind {
        b'Q' | b'F' => Message::MalformedQuery(malformed),
        _ => Message::Malformed(malformed),
    }
}

/// The next message of a session.
pub(crate) fn next(buffer: &mut BytesMut) -> Result<Next, Lost> {
    let (Some(&kind), Some(length)) = (buffer.first(), peek_length(buffer, 1)) else { return Ok(Next::Part) };
    if !KINDS.contains(&kind) {
        return Err(Lost(format!("invalid frontend message type {kind}")));
    }
    let length = usize::try_from(length).ok().filter(|length| (4..=PASSED_OVER_BYTES_MAX).contains(length));
    let length = length.ok_or_else(|| Lost("invalid message length".to_owned()))?;
    if length > MESSAGE_BYTES_MAX {
        let reason = Malformed::TooLarge(length);
        return Ok(Next::PassedOver(PassedOver { kind, reason, bytes_left: 1 + length }));
    }
    if buffer.len() < 1 + length {
        buffer.reserve(1 + length - buffer.len());
        return Ok(Next::Part);
    }
    let body = buffer.split_to(1 + length).freeze().slice(5..);
    // The bytes of a copy are taken as they are.
    if length > DECODED_AT_ONCE_BYTES_MAX && kind != b'd' {
        return Ok(Next::Whole(Message::Large(LargeMessage { kind, body })));
    }
    Ok(Next::Whole(decode(kind, body)))
}

fn decode(kind: u8, body: Bytes) -> Message {
    let mut body = Body(body);
    match body.message(kind) {
        Ok(message) if body.0.is_empty() => message,
        other => malformed(kind, other.err().unwrap_or(Malformed::Content("invalid message format"))),
    }
}

fn peek_length(buffer: &BytesMut, at: usize) -> Option<i64> {
    let bytes: [u8; 4] = buffer.get(at..at + 4)?.try_into().ok()?;
    Some(i64::from(i32::from_be_bytes(bytes)))
}

/// What is left of a message.
struct Body(Bytes);

const SHORT: Malformed = Malformed::Content("insufficient data left in message");

impl Body {
    fn int4(&mut self) -> Option<i32> {
        (self.0.len() >= 4).then(|| self.0.get_i32())
    }

    fn int2(&mut self) -> Option<i16> {
        (self.0.len() >= 2).then(|| self.0.get_i16())
    }

    fn text(&mut self) -> Result<String, Malformed> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Malformed::Content("invalid string in message"))?;
        let text = self.0.split_to(end);
        self.0.advance(1);
        String::from_utf8(text.into()).map_err(|_| Malformed::NotUtf8)
    }

    /// A count, then so many of what `read` reads, each at least `bytes_min` long.
    fn list<T>(&mut self, bytes_min: usize, mut read: impl FnMut(&mut Self) -> Option<T>) -> Result<Vec<T>, Malformed> {
        let count = usize::from(self.int2().ok_or(SHORT)? as u16);
        if count * bytes_min > self.0.len() {
            return Err(SHORT);
        }
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(read(self).ok_or(SHORT)?);
        }
        Ok(list)
    }

    fn startup(&mut self, version: i32) -> Option<First> {
        let (major, minor) = ((version >> 16) as u16, version as u16);
        let mut parameters = Vec::new();
        if major == 3 {
            loop {
                let name = self.text().ok()?;
                if name.is_empty() {
                    break;
                }
                parameters.push((name, self.text().ok()?));
            }
        }
        Some(First::Startup { major, minor, parameters })
    }

    fn message(&mut self, kind: u8) -> Result<Message, Malformed> {
        Ok(match kind {
            b'Q' => Message::Query(self.text()?),
            b'P' => Message::Parse {
                name: self.text()?,
                text: self.text()?,
                types: self.list(4, |body| body.int4().map(|oid| oid as u32))?,
            },
            b'B' => Message::Bind(Bind {
                portal: self.text()?,
                statement: self.text()?,
                formats: self.list(2, Self::int2)?,
                values: self.list(4, |body| match body.int4()? {
                    -1 => Some(None),
                    length => {
                        let length = usize::try_from(length).ok().filter(|length| *length <= body.0.len())?;
                        Some(Some(body.0.split_to(length)))
                    }
                })?,
                result_formats: self.list(2, Self::int2)?,
            }),
            b'D' | b'C' => {
                let target = (!self.0.is_empty()).then(|| self.0.get_u8());
                let name = self.text()?;
                match (kind, target) {
                    (b'D', Some(b'S')) => Message::DescribeStatement(name),
                    (b'D', Some(b'P')) => Message::DescribePortal(name),
                    (b'C', Some(b'S')) => Message::CloseStatement(name),
                    (b'C', Some(b'P')) => Message::ClosePortal(name),
                    _ => return Err(Malformed::Content("invalid DESCRIBE or CLOSE message subtype")),
                }
            }
            b'E' => Message::Execute { portal: self.text()?, rows_max: self.int4().ok_or(SHORT)? },
            b'H' => Message::Flush,
            b'S' => Message::Sync,
            b'X' => Message::Terminate,
            b'F' => {
                self.0.clear();
                Message::FunctionCall
            }
            b'd' => Message::CopyData(self.0.split_to(self.0.len())),
            b'f' => Message::CopyFail(self.text()?),
            b'c' | b'p' => {
                self.0.clear();
                Message::CopyDone
            }
            _ => return Err(Malformed::Content(UNKNOWN_KIND)),
        })
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
