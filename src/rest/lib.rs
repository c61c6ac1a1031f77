//! The Table service's REST protocol: Azure's SDKs work unchanged.
//!
//! The contract is the Table service's specification, whose sections the comments name; where it
//! says that something is unconfirmed, what keeps clients working was chosen.
//!
//! A request is read from the bottom up: [`server`](Server) accepts connections, checks the host
//! and bounds time, memory and concurrency; `address` reads the path and the query; `authorization`
//! finds whose request it is, and what that one may do with `rowkey_authorization`; `dispatch`
//! finds the operation; `operations` do it with the entity service; `batch` reads and writes entity
//! group transactions. `errors` maps what goes wrong to the service's statuses, codes and bodies;
//! `document` reads and writes XML. OData filters are read by `rowkey_sql::odata`, entities by
//! `rowkey_formats::entity_json`.
//!
//! What is no part of the service lies below `/_rowkey/`.

mod address;
mod authorization;
mod batch;
mod dispatch;
mod document;
mod errors;
mod operations;
mod reply;
mod request;
mod server;
mod time;
mod version;

pub use server::{Server, ServerOptions, TlsIdentity};
