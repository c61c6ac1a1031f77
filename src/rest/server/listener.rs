//! The listener: admission of connections, and shutdown.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rowkey_authorization::{AccountKeys, Accounts};
use rowkey_base::{Error, Result, SqlState};
use rowkey_model::AccountName;
use rowkey_sql::engine::Engine;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::body::BodyMemory;
use super::context::ServerContext;
use super::handler::handle;
use super::tls::TlsIdentity;
use crate::operations::CorsRules;

/// How long requests may take to end at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept: usually there are no descriptors left, and some are closed soon.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// How long a connection may wait for the head of a request, the first and every further one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may take to agree on TLS.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of the head of a request; clients send filters of tens of KiB.
const HEAD_BYTES_MAX: usize = 256 << 10;
const HEADERS_MAX: usize = 100;

/// How the server runs.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub address: SocketAddr,
    /// The accounts that are served, with their keys; if there are none, those of the data folder
    /// that have keys, or else the default one with the key that everybody knows.
    pub accounts: Vec<(AccountName, AccountKeys)>,
    /// With it requests come over TLS, and in no other way.
    pub tls: Option<TlsIdentity>,
    /// Accepts plain HTTP from other machines, also with the public key: an eavesdropper sees all
    /// that is read and written, and can replay signed requests until their signatures expire.
    pub is_insecure_allowed: bool,
    /// Most connections at a time; further ones are closed.
    pub connections_max: usize,
    /// Most requests at a time; further ones are told to come again.
    pub requests_max: usize,
}

/// On the emulators' address.
impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 10002)),
            accounts: Vec::new(),
            tls: None,
            is_insecure_allowed: false,
            connections_max: 1000,
            requests_max: 200,
        }
    }
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    context: Arc<ServerContext>,
    tls: Option<TlsAcceptor>,
    connections_max: usize,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.context.bound).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// `FEATURE_NOT_SUPPORTED` for an address that other machines reach, unless that is allowed;
    /// `IO_ERROR` where the address cannot be had, because another program has it.
    pub async fn bind(database: Arc<Engine>, options: &ServerOptions) -> Result<Self> {
        let address = options.address;
        let accounts = Accounts::new(options.accounts.iter().cloned(), database.account().clone());
        if !address.ip().is_loopback() && !options.is_insecure_allowed {
            refuse_insecure(options, accounts.have_public_key(database.entities()))?;
        }
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let error =
                Error::new(SqlState::IO_ERROR, format!("cannot listen on {address}: {error}")).with_source(error);
            error.with_hint("another program has the port: stop it, or choose another one with --rest 127.0.0.1:PORT")
        })?;
        let bound = listener.local_addr().map_err(|error| Error::new(SqlState::IO_ERROR, error.to_string()))?;
        let context = ServerContext {
            database,
            accounts,
            cors_rules: CorsRules::default(),
            bound,
            is_https: options.tls.is_some(),
            requests: Semaphore::new(options.requests_max),
            bodies: BodyMemory::default(),
        };
        let tls = options.tls.as_ref().map(TlsIdentity::acceptor);
        Ok(Self { listener, context: Arc::new(context), tls, connections_max: options.connections_max })
    }

    /// Whether requests come over TLS.
    pub fn is_https(&self) -> bool {
        self.context.is_https
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
                        // Answers are small and written at once.
                        let _ = socket.set_nodelay(true);
                        let (context, tls, stop) = (Arc::clone(&self.context), self.tls.clone(), stop.clone());
                        connections.spawn(accepted_connection(socket, client, tls, context, stop));
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

fn refuse_insecure(options: &ServerOptions, is_key_public: bool) -> Result<()> {
    let address = options.address;
    let (lacks, hint) = if options.tls.is_none() {
        ("there is no TLS", "listen on 127.0.0.1 or [::1], give a certificate with --tls-cert and --tls-key")
    } else if is_key_public {
        ("everybody knows the key of its account", "give the account keys of its own with rowkey account add")
    } else {
        return Ok(());
    };
    let message = format!("{address} can be reached from other machines, and {lacks}");
    let hint = format!("{hint}, or say --insecure where the network is trusted");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(hint))
}

/// Serves one connection, over TLS if there is a certificate. What goes wrong with it concerns its
/// client alone.
async fn accepted_connection(
    socket: TcpStream,
    client: SocketAddr,
    tls: Option<TlsAcceptor>,
    context: Arc<ServerContext>,
    stop: watch::Receiver<bool>,
) {
    let Some(tls) = tls else { return connection(socket, client, context, stop).await };
    tokio::select! {
        () = async { stopped(&mut stop.clone()).await } => {}
        greeted = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(socket)) => {
            if let Ok(Ok(socket)) = greeted {
                connection(socket, client, context, stop).await;
            }
        }
    }
}

async fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    socket: S,
    client: SocketAddr,
    context: Arc<ServerContext>,
    mut stop: watch::Receiver<bool>,
) {
    // The service's paths fit no router's patterns: all of them come to one handler.
    let router: Router = Router::new().fallback(move |request: Request| handle(Arc::clone(&context), client, request));
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        // A client that has said all it has to say may still listen. What one is asked for that has
        // gone is bounded by the time of a request.
        .half_close(true);
    let served = server.serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    tokio::pin!(served);
    tokio::select! {
        _ = served.as_mut() => return,
        () = stopped(&mut stop) => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
