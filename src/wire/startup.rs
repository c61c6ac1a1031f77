//! The first messages of a connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::ErrorResponse;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::connection::Connection;
use super::context::ServerContext;
use super::error_fields::{Severity, fields};
use super::message::{self, First};
use super::message_budget::MessageBytes;
use super::peer::Peer;
use super::pending::PendingConnection;
use super::wire::Wire;
use rowkey_sql::engine::Principal;
use rowkey_sql::session::{Error, FileAccess, Result, Session, Settings, SqlState};

/// How long a client may take to send its startup message.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// The parameters of a startup message.
#[derive(Debug, Default)]
struct Client {
    user: String,
    database: Option<String>,
    settings: Vec<(String, String)>,
    /// Options of a later protocol, and its minor version: declined.
    unknown: Vec<String>,
    minor: u16,
}

/// Serves a connection to its end. Only its own socket suffers from what it sends.
pub(crate) async fn accept(
    mut socket: TcpStream,
    address: SocketAddr,
    context: Arc<ServerContext>,
    mut pending: PendingConnection,
) {
    // Small answers go out at once. Without it the connection is slower, nothing else.
    let _ = socket.set_nodelay(true);
    let mut buffer = BytesMut::new();
    let first = tokio::select! {
        first = tokio::time::timeout(STARTUP_TIMEOUT, startup_message(&mut socket, &mut buffer, &context)) => first,
        () = pending.evicted() => return,
    };
    drop(pending);
    let client = match first {
        Ok(Ok(Some(client))) => client,
        Ok(Err(error)) => return refuse(&mut socket, &error).await,
        // Nothing came in time, another protocol, or a cancel request, which is done.
        Ok(Ok(None)) | Err(_) => return,
    };
    let session = match open_session(&client, address, &context) {
        Ok(session) => session,
        Err(error) => return refuse(&mut socket, &error).await,
    };
    serve(socket, buffer, client, session, context).await;
}

/// Reads up to the startup message; `None` where the connection has served its purpose.
async fn startup_message(
    socket: &mut TcpStream,
    buffer: &mut BytesMut,
    context: &ServerContext,
) -> Result<Option<Client>> {
    loop {
        match message::first(buffer) {
            Err(_) => return Ok(None),
            Ok(None) => match socket.read_buf(buffer).await {
                Ok(bytes) if bytes > 0 => {}
                _ => return Ok(None),
            },
            // Neither is spoken here; the client goes on in plain text, or leaves.
            Ok(Some(First::Ssl | First::Gss)) => {
                if socket.write_all(b"N").await.is_err() {
                    return Ok(None);
                }
            }
            Ok(Some(First::Cancel { pid, secret })) => {
                context.registry.cancel_with_secret(pid, secret);
                return Ok(None);
            }
            Ok(Some(First::Startup { major: 3, minor, parameters })) => {
                return Client::new(minor, parameters).map(Some);
            }
            Ok(Some(First::Unreadable)) => {
                let message = "invalid startup packet layout: expected terminator as last byte";
                return Err(Error::new(SqlState::PROTOCOL_VIOLATION, message));
            }
            Ok(Some(First::Startup { major, minor, .. })) => {
                let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
    }
}

impl Client {
    fn new(minor: u16, parameters: Vec<(String, String)>) -> Result<Self> {
        let mut client = Self { minor, ..Self::default() };
        for (name, value) in parameters {
            match name.as_str() {
                "user" => client.user = value,
                "database" => client.database = Some(value),
                "options" => client.settings.extend(command_line(&value)?),
                "replication" => match value.as_str() {
                    "false" | "off" | "no" | "0" => {}
                    _ => return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "there is no replication")),
                },
                name if name.starts_with("_pq_.") => client.unknown.push(name.to_owned()),
                _ => client.settings.push((name, value)),
            }
        }
        if client.user.is_empty() {
            let message = "no PostgreSQL user name specified in startup packet";
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
        Ok(client)
    }
}

/// Settings in the form of a command line: `-c name=value`, `-cname=value` or `--name=value`, a
/// backslash before blanks.
fn command_line(options: &str) -> Result<Vec<(String, String)>> {
    let mut words = vec![String::new()];
    let mut chars = options.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => words.last_mut().into_iter().for_each(|word| word.extend(chars.next())),
            c if c.is_whitespace() => words.push(String::new()),
            c => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let mut settings = Vec::new();
    while let Some(word) = words.next() {
        let setting = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(setting), _) => Some(setting.to_owned()),
            (None, Some("")) => words.next(),
            (None, Some(setting)) => Some(setting.to_owned()),
            (None, None) => None,
        };
        let Some((name, value)) = setting.as_deref().and_then(|setting| setting.split_once('=')) else {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("invalid command-line argument for server process: {word}"),
            ));
        };
        settings.push((name.trim().replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

fn open_session(client: &Client, address: SocketAddr, context: &ServerContext) -> Result<Session> {
    let database = client.database.as_deref().unwrap_or(&client.user);
    let account = match context.database.find_account(database) {
        Some(account) => account,
        // Who names no database means the one there is; tools look for that of PostgreSQL.
        None if client.database.is_none() || database == "postgres" => context.database.account().clone(),
        None => return Err(no_such_database(database, &context.database.account_names())),
    };
    let mut settings = Settings::new(client.settings.iter().cloned())?;
    settings.tell("port", &context.port.to_string());
    let principal = Principal::new(&client.user);
    let mut session = context.database.session(&account, &principal, &address.to_string(), settings)?;
    if let Some(folder) = &context.copy_folder {
        session.allow_files(FileAccess::Within(folder.clone()));
    }
    Ok(session)
}

fn no_such_database(name: &str, names: &[String]) -> Error {
    let hint = match names {
        [only] => format!("the database is named {only}"),
        names => format!("the databases are named {}", names.join(", ")),
    };
    Error::new(SqlState::UNDEFINED_DATABASE, format!("database \"{name}\" does not exist")).with_hint(hint)
}

async fn refuse(socket: &mut TcpStream, error: &Error) {
    let mut buffer = BytesMut::new();
    let message = PgWireBackendMessage::ErrorResponse(ErrorResponse::new(fields(error, Severity::Fatal)));
    if message.encode(&mut buffer).is_ok() {
        // Whether it is read or not, the connection ends.
        let _ = socket.write_all(&buffer).await;
        let _ = socket.shutdown().await;
    }
}

/// Serves a session to its end.
async fn serve(socket: TcpStream, buffer: BytesMut, client: Client, session: Session, context: Arc<ServerContext>) {
    let peer = Arc::new(Peer::new(socket));
    context.peers.add(session.registration().pid, &peer);
    let held = MessageBytes::new(Arc::clone(&context.messages));
    let mut wire = Wire::new(peer, buffer, held, Arc::clone(session.compute()));
    if begin(&mut wire, &client, &session).is_err() {
        return;
    }
    Connection::new(session, wire, context).run().await;
}

/// AuthenticationOk, the reported settings, BackendKeyData and ReadyForQuery.
fn begin(wire: &mut Wire, client: &Client, session: &Session) -> Result<()> {
    if client.minor > 0 || !client.unknown.is_empty() {
        negotiate(&mut wire.buffer, &client.unknown);
    }
    // Authentication is done: code 0.
    wire.buffer.put_slice(b"R\0\0\0\x08\0\0\0\0");
    for (name, value) in session.settings().reported() {
        wire.parameter(name, value)?;
    }
    let registration = session.registration();
    wire.buffer.put_slice(b"K\0\0\0\x0c");
    wire.buffer.put_i32(registration.pid);
    wire.buffer.put_i32(registration.secret);
    wire.ready(session.status())
}

/// NegotiateProtocolVersion: the newest minor version spoken here, and the options that are not
/// known.
fn negotiate(buffer: &mut BytesMut, unknown: &[String]) {
    let length = 12 + unknown.iter().map(|name| name.len() + 1).sum::<usize>();
    buffer.put_u8(b'v');
    buffer.put_u32(length as u32);
    buffer.put_i32(3 << 16);
    buffer.put_u32(unknown.len() as u32);
    for name in unknown {
        buffer.put_slice(name.as_bytes());
        buffer.put_u8(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_like_a_command_line() {
        let read = command_line(r"-c statement_timeout=5s -csearch_path=a\ b,c --Date-Style=ISO").expect("read");
        let wanted = [("statement_timeout", "5s"), ("search_path", "a b,c"), ("Date_Style", "ISO")];
        assert_eq!(read, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(command_line("  ").expect("read"), []);
        for bad in ["-c", "-c jit", "jit=on", "-x"] {
            assert!(command_line(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_client_has_to_have_a_name() {
        let error = Client::new(0, vec![("database".to_owned(), "x".to_owned())]).expect_err("no user");
        assert!(error.to_string().contains("user name"));
        let client = Client::new(2, vec![("user".to_owned(), "me".to_owned()), ("_pq_.x".to_owned(), "1".to_owned())]);
        let client = client.expect("a client");
        assert_eq!((client.minor, client.unknown), (2, vec!["_pq_.x".to_owned()]));
    }
}
