//! What all connections of a server share.

use std::path::PathBuf;
use std::sync::Arc;

use super::message_budget::MessageBudget;
use super::peer::Peers;
use rowkey_sql::engine::Engine;
use rowkey_sql::session::Registry;

#[derive(Debug)]
pub(crate) struct ServerContext {
    pub database: Arc<Engine>,
    pub registry: Arc<Registry>,
    pub peers: Peers,
    pub port: u16,
    pub messages: Arc<MessageBudget>,
    pub copy_folder: Option<PathBuf>,
}
