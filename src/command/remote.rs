//! A server that runs, which `--server` names, over the Postgres wire.

use std::error::Error as _;
use std::pin::pin;
use std::str::FromStr;

use futures::{StreamExt, stream};
use tokio_postgres::error::ErrorPosition;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};

use super::failure::{Failure, tell};
use rowkey_sql::session::{Error, SqlState};

const USER: &str = "rowkey";
const DATABASE: &str = "devstoreaccount1";
const HOW_TO_NAME: &str = "for example --server postgresql://rowkey@127.0.0.1:5433/devstoreaccount1";

/// Connects, without TLS. Notices of the server are told as they come.
///
/// # Errors
/// A URL that is none, and a server that is not there or refuses.
pub(super) async fn connect(url: &str) -> Result<Client, Failure> {
    connect_with(url, |message| message.to_owned()).await
}

/// The same; `shown` puts notices into other words.
pub(super) async fn connect_with(
    url: &str,
    shown: impl Fn(&str) -> String + Send + 'static,
) -> Result<Client, Failure> {
    let mut config = Config::from_str(url)
        .map_err(|error| Failure::usage(format!("--server {url}: {}", told(&error)), HOW_TO_NAME))?;
    if config.get_user().is_none() {
        config.user(USER);
    }
    if config.get_dbname().is_none() {
        config.dbname(DATABASE);
    }
    config.application_name("rowkey");
    let (client, mut connection) = config.connect(NoTls).await.map_err(not_connected)?;
    tokio::spawn(async move {
        let mut messages = pin!(stream::poll_fn(|context| connection.poll_message(context)));
        // Who waits for an answer has the error.
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notice(notice) = message {
                tell(format_args!("note: {}", shown(notice.message())));
            }
        }
    });
    Ok(client)
}

/// A server that is not there, or that does not let this user in.
fn not_connected(error: tokio_postgres::Error) -> Failure {
    match failure(error) {
        Failure::Plain { message, hint } => Failure::Connection { message, hint },
        other => other,
    }
}

/// An error of the server, or of the connection to it.
pub(super) fn failure(error: tokio_postgres::Error) -> Failure {
    match error.as_db_error() {
        Some(refused) => {
            let hint = refused.hint().or(refused.detail()).unwrap_or("the server refused it; nothing was changed");
            Failure::plain(refused.message(), hint)
        }
        None => Failure::connection(
            told(&error),
            "is it running, and reached without TLS? `rowkey serve` prints how to connect; a server that wants TLS is \
             reached by psql and its \\copy",
        ),
    }
}

/// The error of a statement.
pub(super) fn refused(error: tokio_postgres::Error) -> Failure {
    let Some(told) = error.as_db_error() else { return failure(error) };
    let sqlstate = SqlState::from_code(told.code().code()).unwrap_or(SqlState::INTERNAL_ERROR);
    let mut refused = Error::new(sqlstate, told.message());
    if let Some(hint) = told.hint() {
        refused = refused.with_hint(hint);
    }
    if let Some(detail) = told.detail() {
        refused = refused.with_detail(detail);
    }
    if let Some(ErrorPosition::Original(position)) = told.position() {
        refused = refused.at(*position as usize);
    }
    refused.into()
}

/// The message with what is behind it.
fn told(error: &tokio_postgres::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
