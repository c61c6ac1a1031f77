//! The session as the catalog and functions see it while a statement runs.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::TypeSignature;

use super::prepared::Prepared;
use super::statement_session::{SettingChange, StatementSession};
use crate::entity_service::account_names;
use crate::statement_statistics::{StatementCost, StatementStatistics, milliseconds};
use crate::system_catalog::SessionControl;
use crate::system_catalog::{
    ActivityRow, CopyRow, CursorRow, FunctionKind, FunctionRow, PreparedRow, SessionInfo, SettingRow, StatementRow,
};
use rowkey_model::AccountName;
use rowkey_postgres::cancellation::Interrupt;
use rowkey_postgres::settings::{Access, DEFINITIONS, Definition, Kind, SERVER_VERSION, Settings, bound};
use rowkey_postgres::types::{Error, type_of};
use rowkey_storage::Catalog;

/// Answers the catalog and functions from the session that a statement sees.
#[derive(Debug, Clone)]
pub(crate) struct CatalogSession {
    pub session: Arc<StatementSession>,
    pub database: String,
    pub default_account: Arc<AccountName>,
    pub catalog: Arc<Catalog>,
    pub started_micros: i64,
    pub now_micros: i64,
    pub transaction: u64,
    pub functions: Arc<FunctionNames>,
    pub statistics: Arc<StatementStatistics>,
}

impl CatalogSession {
    /// The settings with the changes of this statement.
    fn current(&self) -> Settings {
        let mut settings = self.session.settings.clone();
        // A statement is a transaction at least.
        settings.begin();
        for change in self.session.changes.lock().iter() {
            // It was validated when the function ran.
            let _tried = settings.set(&change.name, Some(&change.value), change.local);
        }
        settings
    }
}

impl SessionControl for CatalogSession {
    fn version_text(&self) -> String {
        let (platform, version) = (std::env::consts::ARCH, SERVER_VERSION);
        format!("PostgreSQL {version} on {platform}-unknown-{}, 64-bit", std::env::consts::OS)
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.current().get(name).map(str::to_owned)
    }

    fn set_setting(&self, name: &str, value: &str, local: bool) -> Result<String, Error> {
        let mut settings = self.current();
        let refused = |error: rowkey_base::Error| Error::new(error.sqlstate(), error.to_string());
        settings.set(name, Some(value), false).map_err(refused)?;
        self.session.changes.lock().push(SettingChange { name: name.to_owned(), value: value.to_owned(), local });
        Ok(settings.get(name).unwrap_or(value).to_owned())
    }

    fn cancel_backend(&self, pid: i32) -> bool {
        self.session.registry.interrupt(pid, Interrupt::Cancel)
    }

    fn terminate_backend(&self, pid: i32) -> bool {
        self.session.registry.interrupt(pid, Interrupt::Terminate)
    }

    fn reset_statements(&self) {
        self.statistics.reset(&self.database);
    }

    fn transaction_id(&self) -> u64 {
        self.transaction
    }

    fn search_path(&self) -> Vec<String> {
        self.session.settings.search_path()
    }
}

impl SessionInfo for CatalogSession {
    fn database(&self) -> &str {
        &self.database
    }

    fn databases(&self) -> Vec<String> {
        let mut names = account_names(&self.catalog, &self.default_account);
        if let Err(place) = names.binary_search(&self.database) {
            names.insert(place, self.database.clone());
        }
        names
    }

    fn user(&self) -> &str {
        &self.session.user
    }

    fn backend_pid(&self) -> i32 {
        self.session.pid
    }

    fn started_micros(&self) -> i64 {
        self.started_micros
    }

    fn now_micros(&self) -> i64 {
        self.now_micros
    }

    fn settings(&self) -> Vec<SettingRow> {
        DEFINITIONS.iter().map(|definition| setting_row(definition, &self.session.settings)).collect()
    }

    fn prepared_statements(&self) -> Vec<PreparedRow> {
        let named = self.session.prepared.iter().filter(|(name, _)| !name.is_empty());
        let row = |(name, prepared): (&String, &Arc<Prepared>)| PreparedRow {
            name: name.clone(),
            statement: prepared.statement.text().to_owned(),
            prepared_micros: prepared.prepared_micros,
            parameter_type_oids: prepared.parameters.iter().map(|ty| ty.oid).collect(),
            from_sql: prepared.from_sql,
        };
        named.map(row).collect()
    }

    fn cursors(&self) -> Vec<CursorRow> {
        self.session.cursors.clone()
    }

    fn activity(&self) -> Vec<ActivityRow> {
        let row = |activity: crate::registry::Activity| {
            let client = activity.client.parse::<std::net::SocketAddr>().ok();
            ActivityRow {
                pid: activity.pid,
                database: activity.database,
                user: activity.user,
                application_name: activity.application_name,
                client_addr: client.map(|client| client.ip().to_string()),
                client_port: client.map(|client| i32::from(client.port())),
                backend_start_micros: activity.began.micros(),
                xact_start_micros: activity.transaction_began.map(|at| at.micros()),
                query_start_micros: activity.query_began.map(|at| at.micros()),
                state_change_micros: activity.query_began.map(|at| at.micros()),
                state: activity.state.to_owned(),
                query: activity.query,
                copy: activity.copy.map(|copy| CopyRow {
                    command: if copy.is_from { "COPY FROM" } else { "COPY TO" },
                    table: copy.table,
                    bytes: copy.bytes,
                    rows: copy.rows,
                }),
            }
        };
        self.session.registry.activities().into_iter().map(row).collect()
    }

    fn statements(&self) -> Vec<StatementRow> {
        let row = |statement: StatementCost| {
            let StatementCost { id, text, totals } = statement;
            StatementRow {
                id,
                calls: totals.calls,
                total_ms: milliseconds(totals.total),
                least_ms: milliseconds(totals.least),
                most_ms: milliseconds(totals.most),
                mean_ms: totals.mean_ms(),
                standard_deviation_ms: totals.standard_deviation_ms(),
                rows: totals.rows,
                point_queries: totals.reads.point_queries,
                range_queries: totals.reads.range_queries,
                partition_scans: totals.reads.partition_scans,
                table_scans: totals.reads.table_scans,
                entities_read: totals.reads.entities,
                bytes_read: totals.reads.bytes,
                text,
            }
        };
        self.statistics.costs(&self.database).into_iter().map(row).collect()
    }

    fn functions(&self) -> Vec<FunctionRow> {
        self.functions.typed.clone()
    }

    fn function_names(&self) -> &[(String, FunctionKind)] {
        &self.functions.names
    }
}

fn setting_row(definition: &'static Definition, settings: &Settings) -> SettingRow {
    let (vartype, unit, min, max, allowed) = match definition.kind {
        Kind::Bool => ("bool", "", None, None, None),
        Kind::Integer { min, max, unit } => ("integer", unit, Some(min.to_string()), Some(max.to_string()), None),
        Kind::Real { min, max, unit } => ("real", unit, Some(bound(min)), Some(bound(max)), None),
        Kind::Enum(values) => ("enum", "", None, None, Some(values.iter().map(|value| (*value).to_owned()).collect())),
        Kind::Text | Kind::TimeZone | Kind::DateStyle | Kind::Encoding | Kind::Schemas => {
            ("string", "", None, None, None)
        }
    };
    let setting = settings.get(definition.name).unwrap_or_default();
    SettingRow {
        name: definition.name.to_owned(),
        setting: rowkey_postgres::settings::plain(definition, setting),
        unit: (!unit.is_empty()).then(|| unit.to_owned()),
        category: definition.category.to_owned(),
        short_desc: definition.description.to_owned(),
        extra_desc: (!definition.acts).then(|| "Accepted without effect.".to_owned()),
        context: if definition.access == Access::Fixed { "internal" } else { "user" }.to_owned(),
        vartype: vartype.to_owned(),
        source: if setting == definition.default { "default" } else { "session" }.to_owned(),
        min_val: min,
        max_val: max,
        enumvals: allowed,
        boot_val: Some(rowkey_postgres::settings::plain(definition, definition.default)),
        reset_val: Some(rowkey_postgres::settings::plain(definition, settings.reset_value(definition))),
    }
}

/// A function as the catalog lists it; none where its signature does not name types.
fn row(
    name: &str,
    signature: &TypeSignature,
    result: impl Fn(&[DataType]) -> Option<DataType>,
    kind: FunctionKind,
) -> Option<FunctionRow> {
    let types = first_exact(signature)?;
    let types = types.as_slice();
    let type_name = |ty: &DataType| type_of(&Field::new("", ty.clone(), true)).map(|ty| ty.name.to_owned());
    let result_type = type_name(&result(types)?)?;
    let argument_types = types.iter().map(type_name).collect::<Option<Vec<_>>>()?;
    Some(FunctionRow { name: name.to_owned(), argument_types, result_type, kind })
}

/// Functions that are rewritten before they are planned.
const REWRITTEN: [(&str, FunctionKind); 12] = [
    ("gen_random_uuid", FunctionKind::Scalar),
    ("json_agg", FunctionKind::Aggregate),
    ("jsonb_agg", FunctionKind::Aggregate),
    ("every", FunctionKind::Aggregate),
    ("variance", FunctionKind::Aggregate),
    ("date", FunctionKind::Scalar),
    ("bool", FunctionKind::Scalar),
    ("unnest", FunctionKind::Set),
    ("string_to_table", FunctionKind::Set),
    ("regexp_split_to_table", FunctionKind::Set),
    ("generate_subscripts", FunctionKind::Set),
    ("timezone", FunctionKind::Scalar),
];

/// The functions that statements may call.
#[derive(Debug, Default)]
pub(crate) struct FunctionNames {
    /// Those whose types are known.
    typed: Vec<FunctionRow>,
    names: Vec<(String, FunctionKind)>,
}

impl FunctionNames {
    pub(crate) fn of(state: &SessionState) -> Self {
        let mut rows = Vec::new();
        for (name, function) in state.scalar_functions() {
            let result = |types: &[DataType]| function.return_type(types).ok();
            rows.extend(row(name, &function.signature().type_signature, result, FunctionKind::Scalar));
        }
        for (name, function) in state.aggregate_functions() {
            let result = |types: &[DataType]| function.return_type(types).ok();
            rows.extend(row(name, &function.signature().type_signature, result, FunctionKind::Aggregate));
        }
        for (name, function) in state.window_functions() {
            // All of those without arguments number rows.
            let result = |_: &[DataType]| Some(DataType::Int64);
            if matches!(function.signature().type_signature, TypeSignature::Nullary) {
                rows.extend(row(name, &TypeSignature::Nullary, result, FunctionKind::Window));
            }
        }
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        let scalar = state.scalar_functions().keys().map(|name| (name.clone(), FunctionKind::Scalar));
        let tables = state.table_functions().keys().map(|name| (name.clone(), FunctionKind::Set));
        let aggregates = state.aggregate_functions().keys().map(|name| (name.clone(), FunctionKind::Aggregate));
        let windows = state.window_functions().keys().map(|name| (name.clone(), FunctionKind::Window));
        // What is rewritten before functions are looked for.
        let rewritten = REWRITTEN.map(|(name, kind)| (name.to_owned(), kind));
        let mut names: Vec<_> = scalar.chain(tables).chain(aggregates).chain(windows).chain(rewritten).collect();
        // Those of schema `rowkey` are not in `pg_catalog`.
        rows.retain(|row| !row.name.contains('.'));
        names.retain(|(name, _)| !name.contains('.'));
        names.sort();
        names.dedup();
        Self { typed: rows, names }
    }
}

/// The first list of types that a function takes, where it names any.
fn first_exact(signature: &TypeSignature) -> Option<Vec<arrow::datatypes::DataType>> {
    match signature {
        TypeSignature::Exact(types) => Some(types.clone()),
        TypeSignature::Nullary => Some(Vec::new()),
        TypeSignature::OneOf(signatures) => signatures.iter().find_map(first_exact),
        _ => None,
    }
}
