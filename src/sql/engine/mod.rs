//! The lifetime of a data folder in a process: opening it, its accounts and sessions, keeping it in
//! shape.

mod accounts;
mod check;
mod maintenance;
mod open;
mod statements;

pub use crate::entity_service::{
    Denied, EntityOperation, EntityPage, EntityPermissions, EntityQuery, EntityService, EntityStream, Grant, IfMatch,
    ImportOptions, ImportProgress, ImportReport, OnReject, PAGE_ENTITIES_MAX, Principal, PropertyReport,
    SkippedAccount, TablePermissions,
};
pub use open::{Engine, Options};
pub use rowkey_storage::{
    CheckReport, DamagedFile, Durability, EntityFilter, Finding, LogRepair, Quarantined, VacuumReport, expect_outside,
    is_data_folder,
};

#[cfg(test)]
mod tests;
