//! A client that says what it is told to, whole or in pieces.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::protocol::{Body, bind, describe, execute, message, parse, query, startup, sync};

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const DATABASE: &str = "devstoreaccount1";

/// A connection.
pub(crate) struct Client {
    pub socket: TcpStream,
    pub port: u16,
    pub pid: i32,
    pub secret: i32,
    received: Vec<u8>,
    at: usize,
}

/// A message of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub kind: u8,
    pub body: Vec<u8>,
}

/// All that came up to ReadyForQuery, or to the end of the connection.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The kinds of messages, in order; many rows are one `D`.
    pub kinds: String,
    pub rows: Vec<Vec<Option<String>>>,
    pub row_count: u64,
    pub tags: Vec<String>,
    /// SQLSTATE and text of each error.
    pub errors: Vec<(String, String)>,
    /// What ReadyForQuery says; a blank where the connection ended instead.
    pub status: char,
}

impl Answer {
    /// The SQLSTATE of its error, or nothing.
    pub(crate) fn code(&self) -> &str {
        self.errors.last().map_or("", |(code, _)| code.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        self.errors.last().map_or("", |(_, text)| text.as_str())
    }
}

impl Client {
    #[track_caller]
    pub(crate) fn connect(port: u16, settings: &[(&str, &str)]) -> Self {
        Self::try_connect(port, settings).unwrap_or_else(|answer| panic!("refused: {answer:?}"))
    }

    /// The session, or what the server said instead.
    pub(crate) fn try_connect(port: u16, settings: &[(&str, &str)]) -> Result<Self, Answer> {
        let mut client = Self::dial(port);
        let pairs = [("user", "rowkey"), ("database", DATABASE)];
        let sent = client.send(&startup(pairs.iter().chain(settings)));
        let answer = client.answer_with(|client, message| {
            if message.kind == b'K' {
                client.pid = i32::from_be_bytes(message.body[..4].try_into().expect("four bytes"));
                client.secret = i32::from_be_bytes(message.body[4..8].try_into().expect("four bytes"));
            }
        });
        match answer.status {
            'I' if sent.is_ok() => Ok(client),
            _ => Err(answer),
        }
    }

    /// A socket on which nothing was said.
    #[track_caller]
    pub(crate) fn dial(port: u16) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        socket.set_nodelay(true).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        socket.set_write_timeout(Some(PATIENCE)).expect("a socket");
        Self { socket, port, pid: 0, secret: 0, received: Vec::new(), at: 0 }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// The next message; none at the end of the connection. Panics where neither comes.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Option<Message> {
        loop {
            let rest = &self.received[self.at..];
            if let Some(head) = rest.first_chunk::<5>() {
                let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if rest.len() > length {
                    let message = Message { kind: head[0], body: rest[5..=length].to_vec() };
                    self.at += 1 + length;
                    return Some(message);
                }
            }
            if self.at > 0 {
                self.received.drain(..self.at);
                self.at = 0;
            }
            let mut bytes = [0; 16 << 10];
            match self.socket.read(&mut bytes) {
                Ok(0) => return None,
                Ok(count) => self.received.extend_from_slice(&bytes[..count]),
                Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
                    return None;
                }
                Err(error) => panic!("no answer: {error}"),
            }
        }
    }

    /// Everything up to ReadyForQuery or the end.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.answer_with(|_, _| {})
    }

    #[track_caller]
    fn answer_with(&mut self, mut look: impl FnMut(&mut Self, &Message)) -> Answer {
        let mut answer = Answer { status: ' ', ..Answer::default() };
        while let Some(message) = self.receive() {
            look(self, &message);
            if message.kind != b'D' || !answer.kinds.ends_with('D') {
                answer.kinds.push(message.kind as char);
            }
            match message.kind {
                b'D' => {
                    answer.row_count += 1;
                    // Enough for any assertion.
                    if answer.rows.len() < 1000 {
                        answer.rows.push(row(&message.body));
                    }
                }
                b'C' => answer.tags.push(Body(&message.body).text().expect("a tag")),
                b'E' => {
                    let failure = Body(&message.body).failure().expect("an error");
                    answer.errors.push((failure.sqlstate, failure.message));
                }
                b'Z' => {
                    answer.status = message.body[0] as char;
                    break;
                }
                _ => {}
            }
        }
        answer
    }

    /// Asks in the simple protocol.
    #[track_caller]
    pub(crate) fn ask(&mut self, sql: &str) -> Answer {
        self.send(&query(sql)).expect("sent");
        self.answer()
    }

    /// Asks in the extended protocol.
    #[track_caller]
    pub(crate) fn ask_extended(&mut self, sql: &str, values: &[&str]) -> Answer {
        let messages = [parse("", sql, &[]), bind("", "", values), describe(b'P', ""), execute("", 0), sync()];
        self.send(&messages.concat()).expect("sent");
        self.answer()
    }

    /// The one value of an answer.
    #[track_caller]
    pub(crate) fn value(&mut self, sql: &str) -> String {
        let answer = self.ask(sql);
        match answer.rows.as_slice() {
            [row] if row.len() == 1 && answer.errors.is_empty() => row[0].clone().unwrap_or_default(),
            _ => panic!("{sql}: not one value but {answer:?}"),
        }
    }

    /// Sends a CancelRequest for this session, as another connection.
    pub(crate) fn cancel(&self, secret: i32) {
        Self::cancel_for(self.port, self.pid, secret);
    }

    /// Sends a CancelRequest for any session.
    pub(crate) fn cancel_for(port: u16, pid: i32, secret: i32) {
        let mut other = Self::dial(port);
        let mut request = Vec::new();
        for number in [16, 80_877_102, pid, secret] {
            request.extend_from_slice(&i32::to_be_bytes(number));
        }
        other.send(&request).expect("sent");
        assert_eq!(other.receive(), None, "a CancelRequest has no answer");
    }

    /// Terminates in good order.
    pub(crate) fn leave(mut self) {
        // The server may have gone first.
        let _ = self.send(&message(b'X', &[]));
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}

fn row(body: &[u8]) -> Vec<Option<String>> {
    let mut body = Body(body);
    let values = body.values().expect("a row");
    assert!(body.0.is_empty(), "a row has more than its values");
    values.into_iter().map(|value| value.map(|value| String::from_utf8_lossy(value).into_owned())).collect()
}
