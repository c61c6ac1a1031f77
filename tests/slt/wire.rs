//! Asking a server over the wire.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::answer::{Answer, AnswerBuilder, Refused};
use crate::script::Ask;

/// A `rowkey serve`, stopped when it is dropped.
pub(crate) struct Server {
    process: Child,
    /// Kept open: a server that cannot say where it listens ends.
    _out: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    pub(crate) fn start(folder: &Path) -> Result<Self, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rowkey"));
        command.args(["serve", "--rest", "off", "--pg", "127.0.0.1:0", "--data"]).arg(folder).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("the server: {error}"))?;
        let mut line = String::new();
        let out = process.stdout.take().ok_or_else(|| "the server has no output".to_owned());
        let out = out.and_then(|out| {
            let mut out = BufReader::new(out);
            out.read_line(&mut line).map_err(|error| error.to_string())?;
            Ok(out)
        });
        // Rowkey listens on ADDRESS. Connect with
        let address = line.split_whitespace().nth(3).map(|word| word.trim_end_matches('.').to_owned());
        match (out, address) {
            (Ok(out), Some(address)) => Ok(Self { process, _out: out, address }),
            (out, _) => {
                // It has said nothing, so it has ended or is of no use.
                let _ = process.kill();
                let _ = process.wait();
                Err(out.err().unwrap_or_else(|| format!("the server said {line:?}")))
            }
        }
    }

    pub(crate) async fn connect(&self) -> Result<Client, String> {
        let url = format!("postgresql://rowkey@{}/devstoreaccount1", self.address);
        let (client, connection) =
            tokio_postgres::connect(&url, NoTls).await.map_err(|error| format!("{url}: {error}"))?;
        tokio::spawn(connection);
        Ok(client)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What is left behind is a process that ends.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
