//! `rowkey.settings`: what this program and its data are, and how it is set up.

use super::cells::{Column, Kind, Row};
use rowkey_model::AccountName;
use rowkey_storage::run::RunFiles;
use rowkey_storage::{MaintenanceStatus, Snapshot};

pub(super) static COLUMNS: [Column; 3] = [
    Column::new("name", Kind::Text),
    // Sizes in bytes; NULL where the program decides by itself.
    Column::nullable("value", Kind::Text),
    Column::new("description", Kind::Text),
];

/// A row of `rowkey.settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub name: String,
    /// In text; `None` where the program decides by itself.
    pub value: Option<String>,
    pub description: String,
}

impl Setting {
    pub(crate) fn new(name: &str, value: Option<String>, description: &str) -> Self {
        Self { name: name.to_owned(), value, description: description.to_owned() }
    }
}

pub(super) fn of_data(
    snapshot: &Snapshot,
    account: &AccountName,
    files: &RunFiles,
    maintenance: &MaintenanceStatus,
) -> Vec<Setting> {
    let checkpoint_failure = maintenance.checkpoint_failure.as_ref().map(|cause| cause.to_string());
    vec![
        Setting::new("version", Some(env!("CARGO_PKG_VERSION").to_owned()), "version of this program"),
        Setting::new("account", Some(account.to_string()), "account whose tables these are, and name of the database"),
        Setting::new("location", Some(files.store().location()), "where the data lies"),
        Setting::new(
            "log_sequence",
            Some(snapshot.sequence.to_string()),
            "number of the last record of the log that this statement sees",
        ),
        Setting::new("log_bytes", Some(maintenance.log_bytes.to_string()), "size of the log on disk"),
        Setting::new(
            "checkpoint_failure",
            checkpoint_failure,
            "why the log could not be shortened when it was tried last",
        ),
        Setting::new(
            "durability",
            Some(maintenance.durability.name().to_owned()),
            "sync: a write is acknowledged when it is on disk; os: when the operating system has it",
        ),
    ]
}

pub(super) fn rows(settings: &[Setting]) -> Vec<Row> {
    let row = |setting: &Setting| {
        vec![setting.name.as_str().into(), setting.value.clone().into(), setting.description.as_str().into()]
    };
    settings.iter().map(row).collect()
}
