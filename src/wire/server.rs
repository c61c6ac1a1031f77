//! The listener: who may come in, and how all leave.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::peer::{LOOKS_EVERY, Peers};
use super::startup;
use super::strangers::Strangers;
use rowkey_sql::engine::Engine;
use rowkey_sql::session::{Error, Registry, Result, SqlState};

/// How long sessions may take to say goodbye.
const SHUTDOWN: Duration = Duration::from_secs(5);
/// After a refused accept: usually there are no descriptors left, and some come back.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// How often a thread of the sessions' runtime is woken. Where the one that waited for sockets and
/// timers has got a statement that computes for long, no other waits for them until it is woken
/// (tokio hands that on only with a second task).
const WAKES_EVERY: Duration = Duration::from_millis(10);

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
    shared: Arc<Shared>,
}

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub database: Arc<Engine>,
    pub registry: Arc<Registry>,
    pub peers: Peers,
    /// Where statements run: not where sockets are served.
    pub compute: Handle,
    pub port: u16,
    pub copy_folder: Option<PathBuf>,
}

impl Server {
    /// Listens. Only addresses of this machine are taken, since there is no authentication.
    pub async fn bind(database: Arc<Engine>, options: &ServerOptions, compute: Handle) -> Result<Self> {
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
            shared: Arc::new(Shared {
                database,
                registry,
                peers: Peers::default(),
                compute,
                port,
                copy_folder: options.copy_folder.clone(),
            }),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().map_err(|error| Error::new(SqlState::IO_ERROR, error.to_string()))
    }

    /// Serves until told to stop; then statements are stopped, clients are told, and sockets
    /// closed.
    pub async fn serve(self, mut stop: watch::Receiver<bool>) {
        let mut strangers = Strangers::default();
        let mut connections = JoinSet::new();
        let mut looks = tokio::time::interval(LOOKS_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut wakes = tokio::time::interval(WAKES_EVERY);
        wakes.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = asked_to_stop(&mut stop) => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                _ = looks.tick(), if !connections.is_empty() => self.shared.peers.look(&self.shared.registry),
                // The task has nothing to do: whoever takes it waits for sockets and timers next.
                _ = wakes.tick(), if !connections.is_empty() => drop(self.shared.compute.spawn(std::future::ready(()))),
                accepted = self.listener.accept() => match accepted {
                    Ok((socket, client)) => {
                        let stranger = strangers.one_more();
                        connections.spawn(startup::welcome(socket, client, Arc::clone(&self.shared), stranger));
                    }
                    Err(_) => {
                        strangers.one_goes();
                        tokio::time::sleep(ACCEPT_AGAIN).await;
                    }
                },
            }
        }
        drop(self.listener);
        self.shared.registry.terminate_all();
        let goodbye = async { while connections.join_next().await.is_some() {} };
        // Those who do not read their goodbye are cut off.
        let _ = tokio::time::timeout(SHUTDOWN, goodbye).await;
    }
}

async fn asked_to_stop(stop: &mut watch::Receiver<bool>) {
    // An error means that nobody is left who could ask.
    let _ = stop.wait_for(|stop| *stop).await.map(|_| ());
}

/// Small answers go out at once.
pub(super) fn set_no_delay(socket: &TcpStream) {
    // Without it the connection is slower, nothing else.
    let _ = socket.set_nodelay(true);
}
