//! Settings of a session: SET, SHOW, set_config, pg_settings and start-up parameters are one store.

mod definitions;
mod known;
mod recorded;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use definitions::Access;
pub use definitions::Definition;
pub use definitions::Kind;
pub use definitions::SERVER_VERSION;
pub use known::{DEFINITIONS, definition};
pub use value::bound;

use crate::types::{DateStyle, TextStyle, Zone};
use rowkey_base::{Error, Result, SqlState};

/// Whether the transaction refuses writes.
pub const READ_ONLY: &str = "transaction_read_only";

/// Whether INSERT adds the columns that it names and its table does not have.
pub const NEW_PROPERTIES: &str = "rowkey.new_properties";

/// How long a statement takes whose plan is logged, as it ran.
pub const LOG_PLANS_LONGER_THAN: &str = "rowkey.log_plans_longer_than";

/// What the next transaction begins with.
const READ_ONLY_DEFAULT: &str = "default_transaction_read_only";

/// What the settings of a session take together, in bytes.
const SETTINGS_BYTES_MAX: usize = 4 << 20;
/// What one takes beside its name and its value.
const SETTING_BYTES: usize = 64;

/// Settings that are the transaction's own, each with the one that says what it begins with.
const TRANSACTION_MODES: [(&str, &str); 3] = [
    (READ_ONLY, READ_ONLY_DEFAULT),
    ("transaction_isolation", "default_transaction_isolation"),
    ("transaction_deferrable", "default_transaction_deferrable"),
];

/// What `client_min_messages` lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeastMessage {
    Notice,
    Warning,
    Error,
}

type Values = Arc<BTreeMap<String, String>>;

/// The settings of a session. A change rolls back with its transaction.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the connection began with; RESET goes back to it.
    startup: Values,
    current: Level,
    /// What to go back to: first the state before the transaction, then one for every savepoint.
    saved: Vec<Level>,
    /// No transaction can be read-write.
    refuses_writes: bool,
    style: Arc<TextStyle>,
    limits: Limits,
}

/// Settings that every statement reads, parsed once when they are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    pub statement_timeout: Option<Duration>,
    pub idle_session_timeout: Option<Duration>,
    pub idle_in_transaction_session_timeout: Option<Duration>,
    pub is_read_only: bool,
    /// Plans of statements that take as long are logged.
    pub log_plans_longer_than: Option<Duration>,
}

#[derive(Debug, Clone, Default)]
struct Level {
    session: Values,
    /// Until the end of the transaction.
    local: Values,
}

impl Settings {
    /// Settings that begin with values of the client's; an unknown name or a bad value is an error.
    pub fn new(startup: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let mut settings = Self {
            startup: Values::default(),
            current: Level::default(),
            saved: Vec::new(),
            refuses_writes: false,
            style: Arc::default(),
            limits: Limits::default(),
        };
        settings.read_back();
        for (name, value) in startup {
            settings.set(&name, Some(&value), false)?;
        }
        settings.startup = Arc::clone(&settings.current.session);
        Ok(settings)
    }

    /// Makes every transaction read-only for good, whatever the client has asked for.
    pub fn allow_no_writes(&mut self) {
        self.tell(READ_ONLY_DEFAULT, "on");
        self.refuses_writes = true;
        self.read_back();
    }

    /// Whether transactions may be read-write.
    pub fn allows_writes(&self) -> bool {
        !self.refuses_writes
    }

    /// Facts about the server and the connection, which SET cannot change.
    pub fn tell(&mut self, name: &str, value: &str) {
        for values in [&mut self.startup, &mut self.current.session] {
            Arc::make_mut(values).insert(name.to_ascii_lowercase(), value.to_owned());
        }
    }

    /// A value in the form in which it would be kept.
    pub fn canonical(definition: &'static Definition, value: &str) -> Result<String> {
        value::canonical(definition, value)
    }

    /// The value as SHOW prints it.
    pub fn get(&self, name: &str) -> Option<&str> {
        let key = name.to_ascii_lowercase();
        // Between transactions, what the next one begins with.
        if self.saved.is_empty()
            && let Some((_, default)) = TRANSACTION_MODES.iter().find(|(mode, _)| *mode == key)
        {
            return self.get(default);
        }
        let set = self.current.local.get(&key).or_else(|| self.current.session.get(&key));
        set.map(String::as_str).or_else(|| definition(name).map(|definition| definition.default))
    }

    /// The same, or PostgreSQL's error for a name that is none.
    pub fn show(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| unknown(name))
    }

    /// What `value` DEFAULT means: the value at the start of the session.
    pub fn reset_value(&self, definition: &'static Definition) -> &str {
        self.startup.get(&definition.name.to_ascii_lowercase()).map_or(definition.default, String::as_str)
    }

    /// Changes a setting; `None` is its default. A local change ends with the transaction.
    pub fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        let key = name.to_ascii_lowercase();
        let local = local || is_transaction_mode(&key);
        let value = match (definition(name), value) {
            (Some(definition), Some(value)) => {
                let canonical = value::canonical(definition, value)?;
                if definition.access == Access::Fixed {
                    if self.get(name) == Some(canonical.as_str()) {
                        return Ok(());
                    }
                    let message = format!("parameter \"{}\" cannot be changed", definition.name);
                    return Err(Error::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message));
                }
                Some(canonical)
            }
            // It always has a value of its own.
            (Some(_), None) if self.refuses_writes && key == READ_ONLY => Some("on".to_owned()),
            (Some(definition), None) if is_transaction_mode(&key) => Some(definition.default.to_owned()),
            // The session may have another, which is there again when the transaction ends.
            (Some(definition), None) if local => Some(self.reset_value(definition).to_owned()),
            (Some(_), None) => self.startup.get(&key).cloned(),
            (None, _) if key.starts_with("datafusion.") => {
                let message = format!("invalid configuration parameter name \"{name}\"");
                return Err(
                    Error::new(SqlState::INVALID_NAME, message).with_detail("\"datafusion\" is a reserved prefix.")
                );
            }
            // Names with a dot are free for clients.
            (None, Some(value)) if key.contains('.') => Some(value.to_owned()),
            (None, None) if key.contains('.') => None,
            (None, _) if key == "role" && value.is_none_or(|value| value.eq_ignore_ascii_case("none")) => return Ok(()),
            (None, _) => return Err(unknown(name)),
        };
        let is_read_only = [READ_ONLY, READ_ONLY_DEFAULT].contains(&key.as_str());
        if self.refuses_writes && is_read_only && value.as_deref() == Some("off") {
            let message = "cannot set transaction read-write mode where the data folder is open for reading only";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        // Without a transaction a local change ends with its own statement.
        if local && self.saved.is_empty() {
            return Ok(());
        }
        if let Some(value) = &value {
            self.check_size(&key, value)?;
        }
        if !local {
            Arc::make_mut(&mut self.current.local).remove(&key);
        }
        let values = Arc::make_mut(if local { &mut self.current.local } else { &mut self.current.session });
        match value {
            Some(value) => values.insert(key, value),
            None => values.remove(&key),
        };
        self.read_back();
        Ok(())
    }

    fn check_size(&self, key: &str, value: &str) -> Result<()> {
        let size = |(name, value): (&String, &String)| name.len() + value.len() + SETTING_BYTES;
        let sets = [&self.current.session, &self.current.local];
        let others = sets.iter().flat_map(|set| set.iter()).filter(|(other, _)| other.as_str() != key);
        let held: usize = others.map(size).sum();
        if held + value.len() <= SETTINGS_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "parameter \"{key}\" cannot have {} bytes: those of a session have at most {SETTINGS_BYTES_MAX}",
            value.len()
        );
        Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message))
    }

    /// RESET ALL: every setting but the transaction's modes has its value from the start again.
    pub fn reset_all(&mut self) {
        let mut local = BTreeMap::clone(&self.current.local);
        local.retain(|name, _| is_transaction_mode(name));
        self.current = Level { session: Arc::clone(&self.startup), local: Arc::new(local) };
        self.read_back();
    }

    /// A transaction begins, unless there is one, with the modes that are set for it.
    pub fn begin(&mut self) {
        if !self.saved.is_empty() {
            return;
        }
        let modes = TRANSACTION_MODES.map(|(mode, _)| (mode.to_owned(), self.get(mode).unwrap_or_default().to_owned()));
        self.save();
        Arc::make_mut(&mut self.current.local).extend(modes);
        self.read_back();
    }

    /// A savepoint begins.
    pub fn save(&mut self) {
        self.saved.push(self.current.clone());
    }

    /// Goes back to how it was at the `depth`th save, which stays.
    pub fn restore(&mut self, depth: usize) {
        if let Some(level) = self.saved.get(depth) {
            self.current = level.clone();
            self.saved.truncate(depth + 1);
            self.read_back();
        }
    }

    /// A mode of the transaction as it was at the `depth`th save.
    pub fn saved_mode(&self, depth: usize, name: &str) -> Option<&str> {
        self.saved.get(depth)?.local.get(name).map(String::as_str)
    }

    /// Forgets saves from `depth` on and keeps what was set since.
    pub fn forget(&mut self, depth: usize) {
        // A transaction that was made read-only within the savepoint is so no longer.
        let read_only = self.saved.get(depth).and_then(|level| level.local.get(READ_ONLY)).cloned();
        self.saved.truncate(depth);
        if depth == 0 {
            self.current.local = Values::default();
        } else if let Some(read_only) = read_only {
            Arc::make_mut(&mut self.current.local).insert(READ_ONLY.to_owned(), read_only);
        }
        self.read_back();
    }

    /// Whether nothing was set since these were cloned from them. Changes that come to the same may
    /// count.
    pub fn is_unchanged_since(&self, earlier: &Self) -> bool {
        // The clone holds the maps, so what is set goes to others.
        Arc::ptr_eq(&self.current.session, &earlier.current.session)
            && Arc::ptr_eq(&self.current.local, &earlier.current.local)
    }

    /// How values are written and read as text.
    pub fn style(&self) -> &Arc<TextStyle> {
        &self.style
    }

    /// The settings that every statement reads.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A setting that is a time in milliseconds; 0 is none.
    fn duration(&self, name: &str) -> Option<Duration> {
        let milliseconds = value::integer(self.get(name)?, "ms")?;
        (milliseconds > 0).then(|| Duration::from_millis(milliseconds.unsigned_abs()))
    }

    fn log_plans_longer_than(&self) -> Option<Duration> {
        let milliseconds = value::integer(self.get(LOG_PLANS_LONGER_THAN)?, "ms")?;
        u64::try_from(milliseconds).ok().map(Duration::from_millis)
    }

    /// The least message that the client wants.
    pub fn least_message(&self) -> LeastMessage {
        match self.get("client_min_messages") {
            Some("error") => LeastMessage::Error,
            Some("warning") => LeastMessage::Warning,
            _ => LeastMessage::Notice,
        }
    }

    /// Settings that have another value than their default, and change nothing.
    pub fn given_without_effect(&self) -> Vec<&'static Definition> {
        let given = self.current.session.keys().filter_map(|name| definition(name));
        given.filter(|definition| !definition.acts && self.get(definition.name) != Some(definition.default)).collect()
    }

    /// Whether a boolean setting is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some("on")
    }

    /// Schemas in which an unqualified name is looked for. `"$user"` is left out: there are no
    /// schemas of users.
    pub fn search_path(&self) -> Vec<String> {
        value::schemas(self.get("search_path").unwrap_or_default())
            .into_iter()
            .filter(|schema| schema != "$user")
            .collect()
    }

    /// Names of all settings there are.
    pub fn names() -> impl Iterator<Item = &'static str> {
        DEFINITIONS.iter().map(|definition| definition.name)
    }

    /// Names and values of the settings that are reported to the client.
    pub fn reported(&self) -> impl Iterator<Item = (&'static str, &str)> {
        DEFINITIONS
            .iter()
            .filter(|definition| definition.reported)
            .map(|definition| (definition.name, self.get(definition.name).unwrap_or_default()))
    }

    /// Values are valid when they are set, so reading them back does not fail.
    fn read_back(&mut self) {
        let get = |name| self.get(name).unwrap_or_default();
        let default = TextStyle::default();
        let style = TextStyle {
            zone: Zone::parse(get("TimeZone")).unwrap_or(default.zone),
            date_style: DateStyle::parse(get("DateStyle"), default.date_style).unwrap_or(default.date_style),
            interval_style: get("IntervalStyle").parse().unwrap_or(default.interval_style),
            bytea_output: get("bytea_output").parse().unwrap_or(default.bytea_output),
            extra_float_digits: get("extra_float_digits").parse().unwrap_or(default.extra_float_digits),
            now: None,
        };
        self.style = Arc::new(style);
        self.limits = Limits {
            statement_timeout: self.duration("statement_timeout"),
            idle_session_timeout: self.duration("idle_session_timeout"),
            idle_in_transaction_session_timeout: self.duration("idle_in_transaction_session_timeout"),
            is_read_only: self.is_on(READ_ONLY),
            log_plans_longer_than: self.log_plans_longer_than(),
        };
    }
}

/// Whether a setting is of the transaction, in any case of letters, and ends with it.
pub fn is_transaction_mode(name: &str) -> bool {
    TRANSACTION_MODES.iter().any(|(mode, _)| mode.eq_ignore_ascii_case(name))
}

/// A value as a plain number in the unit of its setting, as `pg_settings` has it.
pub fn plain(definition: &Definition, value: &str) -> String {
    match definition.kind {
        Kind::Integer { unit, .. } => value::integer(value, unit).map_or_else(|| value.to_owned(), |n| n.to_string()),
        Kind::Real { unit, .. } => value::number_of(value, unit).map_or_else(|| value.to_owned(), |n| n.to_string()),
        _ => value.to_owned(),
    }
}

fn unknown(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

#[cfg(test)]
mod tests;
