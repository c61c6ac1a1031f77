//! Settings with a meaning of their own here: type, default and meaning. Names and defaults are
//! PostgreSQL 15's.

use super::{LOG_PLANS_LONGER_THAN, NEW_PROPERTIES};

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Bool,
    /// Between these, in this unit ("" for a plain number).
    Integer {
        min: i64,
        max: i64,
        unit: &'static str,
    },
    Real {
        min: f64,
        max: f64,
        unit: &'static str,
    },
    Enum(&'static [&'static str]),
    Text,
    TimeZone,
    DateStyle,
    /// Only UTF-8 is spoken.
    Encoding,
    /// A list of schemas.
    Schemas,
}

/// Who may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Anyone,
    /// Read-only: it reports a fact.
    Fixed,
}

/// A setting.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// As SHOW ALL prints it; looked up in any case.
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub access: Access,
    /// Reported to the client (ParameterStatus) at the start and at every change.
    pub reported: bool,
    /// False where it is accepted, and another value than the default changes nothing.
    pub acts: bool,
    /// As `pg_settings` groups them.
    pub category: &'static str,
    pub description: &'static str,
}

/// The category of what has none of its own.
const CATEGORY: &str = "Client Connection Defaults";

/// That of settings with a dot in their names, as PostgreSQL has it for extensions.
const CUSTOM_CATEGORY: &str = "Customized Options";

/// What `server_version` says: the PostgreSQL release that this server behaves like, then what it
/// is.
pub const SERVER_VERSION: &str = concat!("15.8 (Rowkey ", env!("CARGO_PKG_VERSION"), ")");

const fn own(name: &'static str, kind: Kind, default: &'static str, description: &'static str) -> Definition {
    Definition {
        name,
        kind,
        default,
        access: Access::Anyone,
        reported: false,
        acts: true,
        category: CATEGORY,
        description,
    }
}

/// One that PostgreSQL does not have.
const fn custom(name: &'static str, kind: Kind, default: &'static str, description: &'static str) -> Definition {
    Definition { category: CUSTOM_CATEGORY, ..own(name, kind, default, description) }
}

/// One that changes nothing.
const fn ignored(definition: Definition) -> Definition {
    Definition { acts: false, ..definition }
}

const fn fixed(name: &'static str, kind: Kind, default: &'static str, description: &'static str) -> Definition {
    Definition { access: Access::Fixed, ..own(name, kind, default, description) }
}

const fn reported(definition: Definition) -> Definition {
    Definition { reported: true, ..definition }
}

const ISOLATION: Kind = Kind::Enum(&["serializable", "repeatable read", "read committed", "read uncommitted"]);
const LEVELS: Kind = Kind::Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "notice", "warning", "error",
]);
const MILLISECONDS: Kind = Kind::Integer { min: 0, max: i32::MAX as i64, unit: "ms" };
pub(super) const COUNT: Kind = Kind::Integer { min: 0, max: i32::MAX as i64, unit: "" };
const KIBIBYTES: Kind = Kind::Integer { min: 64, max: i32::MAX as i64, unit: "kB" };

/// Those with a meaning of their own here, by name.
pub(super) static OWN: &[Definition] = &[
    reported(own("application_name", Kind::Text, "", "Name of the application, as it tells it.")),
    own("bytea_output", Kind::Enum(&["hex", "escape"]), "hex", "How bytea values are written."),
    own("check_function_bodies", Kind::Bool, "on", "Accepted for restore scripts; there are no function bodies."),
    reported(own("client_encoding", Kind::Encoding, "UTF8", "Encoding of the client; only UTF8 is spoken.")),
    own("client_min_messages", LEVELS, "notice", "Least level of the notices that are sent."),
    reported(own("DateStyle", Kind::DateStyle, "ISO, MDY", "How dates are written, and in which order they are read.")),
    fixed("default_table_access_method", Kind::Text, "heap", "There is one way to store tables."),
    own("default_tablespace", Kind::Text, "", "There are no tablespaces."),
    own("default_transaction_deferrable", Kind::Bool, "off", "Default of transaction_deferrable."),
    own("default_transaction_isolation", ISOLATION, "read committed", "Default of transaction_isolation."),
    reported(own("default_transaction_read_only", Kind::Bool, "off", "Default of transaction_read_only.")),
    own(
        "extra_float_digits",
        Kind::Integer { min: -15, max: 3, unit: "" },
        "1",
        "Digits of floating point numbers: above 0 the shortest exact form.",
    ),
    ignored(own("geqo", Kind::Bool, "on", "The planner has no such search.")),
    own(
        "idle_in_transaction_session_timeout",
        MILLISECONDS,
        "0",
        "Ends sessions that idle in a transaction; 0 is never.",
    ),
    own("idle_session_timeout", MILLISECONDS, "0", "Ends sessions that idle; 0 is never."),
    reported(fixed("in_hot_standby", Kind::Bool, "off", "Whether the server only follows another one.")),
    reported(fixed("integer_datetimes", Kind::Bool, "on", "Times are whole microseconds.")),
    reported(own(
        "IntervalStyle",
        Kind::Enum(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
        "How intervals are written.",
    )),
    reported(fixed("is_superuser", Kind::Bool, "on", "Whether the role may do everything.")),
    ignored(own("jit", Kind::Bool, "off", "Queries are vectorized instead.")),
    fixed("lc_collate", Kind::Text, "C", "Texts are ordered by code point."),
    fixed("lc_ctype", Kind::Text, "C", "Kinds of characters."),
    own("lc_messages", Kind::Text, "C", "Language of messages."),
    own("lc_monetary", Kind::Text, "C", "Form of amounts of money."),
    own("lc_numeric", Kind::Text, "C", "Form of numbers in to_char."),
    own("lc_time", Kind::Text, "C", "Form of dates in to_char."),
    own("lock_timeout", MILLISECONDS, "0", "Readers take no locks, so nothing waits for one."),
    fixed("max_connections", COUNT, "500", "Most connections at a time."),
    fixed("max_identifier_length", COUNT, "255", "Longest name of a property."),
    fixed("max_index_keys", COUNT, "32", "Most columns of a key."),
    fixed("port", COUNT, "5433", "Port of the server."),
    custom(
        LOG_PLANS_LONGER_THAN,
        Kind::Integer { min: -1, max: i32::MAX as i64, unit: "ms" },
        "-1",
        "Plans of statements that take as long are logged; 0 is all, -1 none.",
    ),
    custom(
        NEW_PROPERTIES,
        Kind::Bool,
        "off",
        "Whether INSERT adds the columns that it names and its table does not have.",
    ),
    own("row_security", Kind::Bool, "on", "There are no row policies."),
    reported(fixed("server_encoding", Kind::Text, "UTF8", "Encoding of what is stored.")),
    reported(fixed(
        "server_version",
        Kind::Text,
        SERVER_VERSION,
        "The PostgreSQL release that this server behaves like.",
    )),
    fixed("server_version_num", COUNT, "150008", "The same as a number."),
    own("search_path", Kind::Schemas, "\"$user\", public", "Schemas in which unqualified names are looked for."),
    reported(fixed("session_authorization", Kind::Text, "", "The role of the session.")),
    fixed("ssl", Kind::Bool, "off", "Whether connections are encrypted."),
    reported(own(
        "standard_conforming_strings",
        Kind::Enum(&["on"]),
        "on",
        "Backslashes in strings are ordinary characters.",
    )),
    own("statement_timeout", MILLISECONDS, "0", "Stops statements that take longer; 0 is never."),
    ignored(own(
        "synchronous_commit",
        Kind::Enum(&["on", "off", "local", "remote_write", "remote_apply"]),
        "on",
        "Writes are acknowledged when they are synced.",
    )),
    own("synchronize_seqscans", Kind::Bool, "on", "Accepted; scans do not follow each other."),
    ignored(own(
        "tcp_keepalives_idle",
        Kind::Integer { min: 0, max: i32::MAX as i64, unit: "s" },
        "0",
        "The system decides.",
    )),
    reported(own("TimeZone", Kind::TimeZone, "UTC", "Zone in which times are written, and read where they name none.")),
    own("transaction_deferrable", Kind::Bool, "off", "Whether the transaction may wait for a safe snapshot."),
    own("transaction_isolation", ISOLATION, "read committed", "Level of the transaction; each reads one snapshot."),
    own("transaction_read_only", Kind::Bool, "off", "Whether the transaction refuses writes."),
    ignored(own("work_mem", KIBIBYTES, "4MB", "All queries share one bound of memory.")),
    own("xmloption", Kind::Enum(&["content", "document"]), "content", "Accepted; there is no xml."),
    ignored(own("seed", Kind::Real { min: -1.0, max: 1.0, unit: "" }, "0", "random() is not seeded.")),
];
