//! Asking a server over the wire.

use std::path::Path;
use std::sync::Arc;

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::answer::{Answer, AnswerBuilder, Refused};
use crate::script::Ask;
use crate::server_process::{ServerProcess, serve};

pub(crate) fn server(folder: &Path) -> Result<ServerProcess, String> {
    ServerProcess::start(serve().arg("--data").arg(folder)).map_err(|error| format!("the server: {error}"))
}

pub(crate) async fn connect(server: &ServerProcess) -> Result<Client, String> {
    let url = format!("postgresql://rowkey@{}/devstoreaccount1", server.address());
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.map_err(|error| format!("{url}: {error}"))?;
    tokio::spawn(connection);
    Ok(client)
}

pub(crate) fn ask(client: Client) -> Ask {
    let client = Arc::new(client);
    Box::new(move |sql| {
        let client = Arc::clone(&client);
        Box::pin(async move { answer(&client, &sql).await })
    })
}

/// The rows come by the simple protocol, where all values are text. The client does not tell the
/// types that it sends with them, so the statement is described first.
async fn answer(client: &Client, sql: &str) -> Result<Answer, Refused> {
    let described = client.prepare(sql).await;
    let messages = client.simple_query(sql).await.map_err(refused)?;
    let described = described.map_err(|error| Refused::fault(format!("only Describe fails: {}", refused(error))))?;
    let columns = described.columns();
    let mut rows = AnswerBuilder::new(columns.iter().map(|column| (column.name(), column.type_().oid())));
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(sent) => {
                let (sent, told): (Vec<_>, Vec<_>) =
                    (sent.iter().map(|column| column.name()).collect(), columns.iter().map(|c| c.name()).collect());
                if sent != told {
                    return Err(Refused::fault(format!("columns are {sent:?}, and were described as {told:?}")));
                }
            }
            SimpleQueryMessage::Row(row) => rows.push((0..row.len()).map(|column| row.get(column))),
            _ => {}
        }
    }
    Ok(rows.finish())
}

fn refused(error: tokio_postgres::Error) -> Refused {
    match error.as_db_error() {
        Some(told) => Refused { message: told.message().to_owned(), sqlstate: Some(told.code().code().to_owned()) },
        None => Refused::fault(error),
    }
}
