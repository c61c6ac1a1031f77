//! The embedded API: a database in the process of its user.

mod database;
mod entity_writes;
mod shared;
mod table;

pub use database::Database;
pub use rowkey_sql::ScanOptions;
pub use rowkey_sql::engine::{
    CheckReport, DamagedFile, Durability, EntityFilter, EntityOperation, EntityPage, EntityQuery, EntityStream,
    Finding, IfMatch, ImportOptions, ImportProgress, ImportReport, LogRepair, OnReject, Options, PAGE_ENTITIES_MAX,
    PropertyReport, Quarantined, SkippedAccount,
};
pub use rowkey_sql::session::{
    Answer, Error, ErrorKind, ExportOptions, ExportProgress, ExportReport, Result, Selection, SqlState,
};
pub use shared::SharedDatabase;
pub use table::Table;

/// The vocabulary: entities, keys and their ranges, property types, and the limits of the Table
/// service.
pub mod model {
    pub use rowkey_model::columns::PropertyLookup;
    pub use rowkey_model::{
        ACCOUNT_NAME_CHARS_MAX, ACCOUNT_NAME_CHARS_MIN, AccessPolicy, AccountName, BINARY_BYTES_MAX, Cut, DateTime,
        ENTITY_BYTES_MAX, ENTITY_GROUP_BYTES_MAX, ENTITY_GROUP_OPERATIONS_MAX, EdmType, Entity, EntityBuilder,
        Interval, IntervalSet, KEY_UTF16_UNITS_MAX, Key, KeyCut, KeyRange, KeyRef, KeySet, PROPERTIES_MAX,
        PROPERTY_NAME_CHARS_MAX, Rejected, Rule, STRING_UTF16_UNITS_MAX, TABLE_NAME_CHARS_MAX, TABLE_NAME_CHARS_MIN,
        TableName, TypedError, VIEW_NAME_BYTES_MAX, Value, ViewName, binary, guid, validate_property_name,
    };
}

/// What exports are read from and written to, and in which formats.
pub mod formats {
    pub use rowkey_formats::{
        AssumedType, Compression, Destination, ExportFormat, Format, JsonTool, KeyColumns, KeyTemplate, Layout,
        Manifest, Place, PropertyTypes, Reject, RejectsFile, Source, Warning, WarningKind,
    };
}
