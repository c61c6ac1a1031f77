//! Entities by key, without SQL: what every door to them is built on.
//!
//! An [`EntityService`] is one account of a data folder as one [`Principal`] may use it: its
//! tables, single entities, pages of a query, operations and groups of them, imports.

mod accounts;
mod entities;
mod import;
mod operations;
mod page;
mod principal;
mod service;
mod settings;
mod tables;

pub(crate) use accounts::account_names;
pub use entities::EntityStream;
pub use import::{ImportOptions, ImportProgress, ImportReport, OnReject, PropertyReport, SkippedAccount};
pub use operations::{EntityOperation, IfMatch};
pub use page::{EntityPage, EntityQuery, PAGE_ENTITIES_MAX};
pub use principal::{Denied, EntityPermissions, Grant, Principal, TablePermissions};
pub use service::EntityService;
