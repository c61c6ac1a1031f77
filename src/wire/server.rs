//! The listener: admission of connections, and shutdown.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::context::ServerContext;
use super::message_budget::MessageBudget;
use super::peer::{POLL_INTERVAL, Peers};
use super::pending::PendingConnections;
use super::startup;
use rowkey_sql::engine::Engine;
use rowkey_sql::session::{Error, Result, SqlState};

/// How long sessions may take to end at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept: usually there are no descriptors left, and some are closed soon.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// How the server runs.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub address: SocketAddr,
    /// Most sessions at a time.
    pub connections_max: usize,
    /// Where COPY may write files; none are written without. It neither contains the data folder
    /// nor lies in it.
    pub copy_folder: Option<PathBuf>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { address: SocketAddr::from(([127, 0, 0, 1], 5433)), connections_max: 500, copy_folder: None }
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    context: Arc<ServerContext>,
    #[cfg(feature = "testing")]
    watch: Option<Arc<rowkey_base::testing::PollWatch>>,
}

impl Server {
    /// Listens. Only addresses of this machine are taken, since there is no authentication.
    pub async fn bind(database: Arc<Engine>, options: &ServerOptions) -> Result<Self> {
        let address = options.address;
        if !address.ip().is_loopback() {
            let message =
                format!("{address} can be reached from other machines, and this version asks for no password");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("listen on 127.0.0.1 or [::1], and let others in through an SSH tunnel"));
        }
        if let Some(folder) = &options.copy_folder {
            database.expect_outside(folder)?;
        }
        let listener = TcpListener::bind(address).await.map_err(|error| {
            let error =
                Error::new(SqlState::IO_ERROR, format!("cannot listen on {address}: {error}")).with_source(error);
            error.with_hint("another program has the port: stop it, or choose another one with --pg 127.0.0.1:PORT")
        })?;
        let port = listener.local_addr().map_err(|error| Error::new(SqlState::IO_ERROR, error.to_string()))?.port();
        let registry = Arc::clone(database.registry());
        registry.allow(options.connections_max);
        Ok(Self {
            listener,
            context: Arc::new(ServerContext {
                messages: MessageBudget::beside(database.memory_bytes()),
                database,
                registry,
                peers: Peers::default(),
                port,
                copy_folder: options.copy_folder.clone(),
            }),
            #[cfg(feature = "testing")]
            watch: None,
        })
    }

    /// Has the polls of connections measured.
    #[cfg(feature = "testing")]
    pub fn watch_polls(self, watch: Arc<rowkey_base::testing::PollWatch>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(|error| Error::new(SqlState::IO_ERROR, error.to_string()))
    }

    /// Serves until `stop` is set; then statements are cancelled, clients get a FATAL error, and
    /// sockets are closed.
    pub async fn serve(self, mut stop: watch::Receiver<bool>) {
        let mut pending = PendingConnections::default();
        let mut connections = JoinSet::new();
        let mut polls = tokio::time::interval(POLL_INTERVAL);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut stop) => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                _ = polls.tick(), if !connections.is_empty() => self.context.peers.poll(&self.context.registry),
                accepted = self.listener.accept() => match accepted {
                    Ok((socket, client)) => {
                        let place = pending.admit();
                        let served = startup::accept(socket, client, Arc::clone(&self.context), place);
                        self.spawn(&mut connections, served);
                    }
                    Err(_) => {
                        pending.evict_oldest();
                        tokio::time::sleep(ACCEPT_RETRY).await;
                    }
                },
            }
        }
        drop(self.listener);
        self.context.registry.terminate_all();
        let ended = async { while connections.join_next().await.is_some() {} };
        // Clients that do not read the last message are cut off.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
    }

    fn spawn(&self, connections: &mut JoinSet<()>, served: impl Future<Output = ()> + Send + 'static) {
        #[cfg(feature = "testing")]
        if let Some(watch) = &self.watch {
            connections.spawn(watch.watch(served));
            return;
        }
        connections.spawn(served);
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is dropped.
    let _ = stop.wait_for(|stop| *stop).await.map(|_| ());
}
