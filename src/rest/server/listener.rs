//! The listener: admission of connections, and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::AccountName;
use rowkey_sql::engine::Engine;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::context::ServerContext;
use super::handler::handle;
use crate::authorization::{AccountKeys, Accounts};

/// How long requests may take to end at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept: usually there are no descriptors left, and some are closed soon.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// How long a connection may wait for the head of a request, the first and every further one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of the head of a request; clients send filters of tens of KiB.
const HEAD_BYTES_MAX: usize = 256 << 10;
const HEADERS_MAX: usize = 100;

/// How the server runs.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub address: SocketAddr,
    /// The accounts that are served, with their keys.
    pub accounts: Vec<(AccountName, AccountKeys)>,
    /// Lets other machines in without TLS: signatures are of little use then to whoever listens,
    /// but everything that is read and written can be seen.
    pub is_insecure_allowed: bool,
    /// Most connections at a time; further ones are closed.
    pub connections_max: usize,
    /// Most requests at a time; further ones are told to come again.
    pub requests_max: usize,
}

impl ServerOptions {
    /// On the emulators' address, for one account with the key that everybody knows.
    ///
    /// # Errors
    /// None that depends on the account.
    pub fn development(account: AccountName) -> Result<Self> {
        Ok(Self {
            address: SocketAddr::from(([127, 0, 0, 1], 10002)),
            accounts: vec![(account, AccountKeys::development()?)],
            is_insecure_allowed: false,
            connections_max: 1000,
            requests_max: 200,
        })
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    context: Arc<ServerContext>,
    connections_max: usize,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// `FEATURE_NOT_SUPPORTED` for an address that other machines reach, unless that is allowed;
    /// `IO_ERROR` where the address cannot be had, because another program has it.
    pub async fn bind(database: Arc<Engine>, options: &ServerOptions) -> Result<Self> {
        let address = options.address;
        if !address.ip().is_loopback() && !options.is_insecure_allowed {
            let message = format!("{address} can be reached from other machines, and there is no TLS");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("listen on 127.0.0.1 or [::1], or say --insecure where the network is trusted"));
        }
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let error =
                Error::new(SqlState::IO_ERROR, format!("cannot listen on {address}: {error}")).with_source(error);
            error.with_hint("another program has the port: stop it, or choose another one with --rest 127.0.0.1:PORT")
        })?;
        let bound = listener.local_addr().map_err(|error| Error::new(SqlState::IO_ERROR, error.to_string()))?;
        let context = ServerContext {
            database,
            accounts: Accounts::new(options.accounts.iter().cloned()),
            bound,
            requests: Semaphore::new(options.requests_max),
        };
        Ok(Self { listener, context: Arc::new(context), connections_max: options.connections_max })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.context.bound
    }

    /// Serves until `stop` is set; then requests that are under way are answered, and connections
    /// closed.
    pub async fn serve(self, mut stop: watch::Receiver<bool>) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept() => match accepted {
                    // Dropped, and so closed.
                    Ok(_) if connections.len() >= self.connections_max => {}
                    Ok((socket, client)) => {
                        connections.spawn(connection(socket, client, Arc::clone(&self.context), stop.clone()));
                    }
                    Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
                },
            }
        }
        drop(self.listener);
        let ended = async { while connections.join_next().await.is_some() {} };
        // Clients that do not read their answer are cut off.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is dropped.
    let _ = stop.wait_for(|stop| *stop).await.map(|_| ());
}

/// Serves one connection. What goes wrong with it concerns its client alone.
async fn connection(
    socket: TcpStream,
    client: SocketAddr,
    context: Arc<ServerContext>,
    mut stop: watch::Receiver<bool>,
) {
    // Answers are small and written at once.
    let _ = socket.set_nodelay(true);
    // The service's paths fit no router's patterns: all of them come to one handler.
    let router: Router = Router::new().fallback(move |request: Request| handle(Arc::clone(&context), client, request));
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .half_close(false);
    let served = server.serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    tokio::pin!(served);
    tokio::select! {
        _ = served.as_mut() => return,
        () = stopped(&mut stop) => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
