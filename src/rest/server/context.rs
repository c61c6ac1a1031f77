//! What all requests to a server share.

use std::net::SocketAddr;
use std::sync::Arc;

use rowkey_authorization::Accounts;
use rowkey_sql::engine::Engine;
use tokio::sync::Semaphore;

use super::body::BodyMemory;
use crate::operations::CorsRules;

#[derive(Debug)]
pub(super) struct ServerContext {
    pub database: Arc<Engine>,
    pub accounts: Accounts,
    pub cors_rules: CorsRules,
    pub bound: SocketAddr,
    pub is_https: bool,
    /// One for each request that may be under way.
    pub requests: Semaphore,
    /// What bodies of requests that are under way may take together.
    pub bodies: BodyMemory,
}
