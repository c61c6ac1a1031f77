//! `rowkey serve`: the PostgreSQL wire server, and that of the Table service.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::arguments::{DATA_MEMORY, ServeArguments};
use super::failure::{ExitStatus, Failure};
use super::listen_address::resolve;
use super::request_log;
use super::rest_door::RestDoor;
use super::sample;
use rowkey_rest::Server as RestServer;
use rowkey_sql::engine::{Engine, expect_outside};
use rowkey_wire::{Server, ServerOptions};

/// Worth trying on the sample data.
const TRY: [(&str, &str); 4] = [
    (
        "group and order, names without quotes",
        "select partitionkey, max(salary), count(*) from employees where rowkey not like 'email%' group by 1 order by 2 desc;",
    ),
    (
        "a join, which the service cannot do",
        "select d.rowkey, d.region, avg(e.age) from employees e join departments d on e.partitionkey = d.rowkey group by 1, 2;",
    ),
    (
        "newest first without a sort: the log tail",
        "select at, client, ip from logins where partitionkey = 'ada.abe@accounting.contoso.com' order by partitionkey, rowkey limit 5;",
    ),
    (
        "what a query reads, before it reads it",
        "explain select * from events where partitionkey = 'device-0421' and rowkey like '2024-02-20%';",
    ),
];

pub(super) async fn run(arguments: ServeArguments) -> Result<ExitStatus, Failure> {
    let address = resolve("--pg", &arguments.pg)?;
    let rest = RestDoor::of(&arguments.rest)?;
    request_log::start(arguments.rest.log_requests)?;
    if let Some(folder) = arguments.copy_dir.as_ref().filter(|folder| !folder.is_dir()) {
        let message = format!("--copy-dir {}: there is no such folder", folder.display());
        return Err(Failure::usage(message, "make it first"));
    }
    let location = if arguments.sample { arguments.data.location_of_sample() } else { arguments.data.location()? };
    if let Some(folder) = &arguments.copy_dir
        && location != DATA_MEMORY
        && !location.contains("://")
    {
        // Before opening makes the data folder.
        expect_outside(Path::new(&location), folder).map_err(|error| {
            Failure::usage(format!("--copy-dir: {error}"), "name a folder beside the data folder, for copies alone")
        })?;
    }
    let database = super::open_with(&location, &arguments.data, &arguments.engine).await?;
    if arguments.sample {
        sample::add(&database).await?;
    }
    let options = ServerOptions { address, copy_folder: arguments.copy_dir, ..ServerOptions::default() };
    serve(database, &options, rest, arguments.sample).await
}

async fn serve(
    database: Arc<Engine>,
    options: &ServerOptions,
    rest: RestDoor,
    is_sample: bool,
) -> Result<ExitStatus, Failure> {
    let server = Server::bind(database.clone(), options).await?;
    let rest = rest.bind(&database).await?;
    let rest_url = rest.as_ref().map(url_of);
    // It is for messages alone.
    let _ = database.name_server(server.address()?);
    announce(&server.address()?, rest_url.as_deref(), database.account().as_str(), is_sample)?;
    let (stop, stopped) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())
        .map_err(|error| Failure::plain(format!("cannot wait for signals: {error}"), "start it again"))?;
    let rest = rest.map(|rest| tokio::spawn(rest.serve(stopped.clone())));
    let server = tokio::spawn(server.serve(stopped));
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    eprintln!("stopping: statements that run are cancelled");
    stop.send_replace(true);
    if let Err(error) = server.await {
        return Err(Failure::defect(format!("the server ended unexpectedly: {error}")));
    }
    if let Some(rest) = rest
        && let Err(error) = rest.await
    {
        return Err(Failure::defect(format!("the Table service ended unexpectedly: {error}")));
    }
    Ok(ExitStatus::Well)
}

fn url_of(rest: &RestServer) -> String {
    format!("{}://{}", if rest.is_https() { "https" } else { "http" }, rest.address())
}

fn announce(address: &SocketAddr, rest: Option<&str>, database: &str, is_sample: bool) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let (host, port) = (address.ip(), address.port());
    writeln!(out, "Rowkey listens on {address}. Connect with")?;
    writeln!(out, "    psql -h {host} -p {port} -U rowkey {database}")?;
    writeln!(out, "    postgresql://rowkey@{address}/{database}")?;
    if let Some(rest) = rest {
        writeln!(out, "    {rest}/{database}    (SDKs of Azure Tables)")?;
    }
    if is_sample {
        writeln!(out, "and try")?;
        for (what, query) in TRY {
            writeln!(out, "    -- {what}\n    {query}")?;
        }
    }
    writeln!(out, "Ctrl-C stops it.")?;
    out.flush()?;
    Ok(())
}
