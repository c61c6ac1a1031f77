//! The settings that a plan depends on.

use rowkey_postgres::settings::Settings;

/// The settings that a plan depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PlanningSettings {
    pub search_path: Vec<String>,
    pub time_zone: String,
    pub date_style: String,
    pub interval_style: String,
    pub bytea_output: String,
    pub extra_float_digits: String,
}

impl PlanningSettings {
    pub(crate) fn of(settings: &Settings) -> Self {
        let get = |name| settings.get(name).unwrap_or_default().to_owned();
        Self {
            search_path: settings.search_path(),
            time_zone: get("TimeZone"),
            date_style: get("DateStyle"),
            interval_style: get("IntervalStyle"),
            bytea_output: get("bytea_output"),
            extra_float_digits: get("extra_float_digits"),
        }
    }
}
