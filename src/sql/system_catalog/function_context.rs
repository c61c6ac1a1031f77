//! What functions ask about the database, answered from the catalog of a statement and from its
//! session.

use std::sync::Arc;

use super::lookup::Oids;
use super::session_info::{SessionInfo, SettingRow};
use rowkey_postgres::functions::system::{
    ConstraintFacts, FunctionContext, FunctionFacts, IndexFacts, RelationFacts, SettingFacts, TypeFacts,
};
use rowkey_postgres::types::Error;
use rowkey_storage::run::{PARTITION_KEY, ROW_KEY};

/// What only the session can answer or do.
pub(crate) trait SessionControl: std::fmt::Debug + Send + Sync {
    /// The whole of `version()`.
    fn version_text(&self) -> String;
    /// A setting as SHOW prints it.
    fn setting(&self, name: &str) -> Option<String>;
    fn set_setting(&self, name: &str, value: &str, local: bool) -> Result<String, Error>;
    fn cancel_backend(&self, pid: i32) -> bool;
    fn terminate_backend(&self, pid: i32) -> bool;
    /// Forgets what statements have cost.
    fn reset_statements(&self);
    fn transaction_id(&self) -> u64;
    /// The schemas that `search_path` names, in its order, without `pg_catalog` unless it is named.
    fn search_path(&self) -> Vec<String>;
}

/// A statement's [`FunctionContext`]: the catalog of its snapshot and its session.
#[derive(Debug)]
pub(crate) struct CatalogContext {
    pub oids: Oids,
    pub session: Arc<dyn SessionInfo>,
    pub control: Arc<dyn SessionControl>,
}

const PG_CATALOG: &str = "pg_catalog";
const KEY: [&str; 2] = [PARTITION_KEY, ROW_KEY];

/// Catalogs of what can have a comment.
const COMMENTED: [&str; 5] = ["pg_class", "pg_namespace", "pg_database", "pg_type", "pg_proc"];

impl CatalogContext {
    /// The first that `find` finds: in the schema named, else along the search path.
    fn along_path<T>(&self, schema: Option<&str>, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        match schema {
            Some(schema) => find(schema),
            None => self.search_path(true).iter().find_map(|schema| find(schema)),
        }
    }
}

impl FunctionContext for CatalogContext {
    fn database(&self) -> String {
        self.session.database().to_owned()
    }

    fn user(&self) -> String {
        self.session.user().to_owned()
    }

    fn search_path(&self, implicit: bool) -> Vec<String> {
        let mut path = self.control.search_path();
        path.retain(|schema| self.oids.namespace_oid(schema).is_some());
        if implicit && !path.iter().any(|schema| schema == PG_CATALOG) {
            path.insert(0, PG_CATALOG.to_owned());
        }
        path
    }

    fn backend_pid(&self) -> i32 {
        self.session.backend_pid()
    }

    fn version_text(&self) -> String {
        self.control.version_text()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.control.setting(name)
    }

    fn set_setting(&self, name: &str, value: &str, local: bool) -> Result<String, Error> {
        self.control.set_setting(name, value, local)
    }

    fn settings(&self) -> Vec<SettingFacts> {
        let row = |row: SettingRow| SettingFacts {
            boot: row.boot_val.unwrap_or_default(),
            reset: row.reset_val.unwrap_or_default(),
            name: row.name,
            setting: row.setting,
            unit: row.unit,
            category: row.category,
            description: row.short_desc,
            more: row.extra_desc,
            context: row.context,
            value_type: row.vartype,
            source: row.source,
            min: row.min_val,
            max: row.max_val,
            allowed: row.enumvals,
        };
        self.session.settings().into_iter().map(row).collect()
    }

    fn cancel_backend(&self, pid: i32) -> bool {
        self.control.cancel_backend(pid)
    }

    fn terminate_backend(&self, pid: i32) -> bool {
        self.control.terminate_backend(pid)
    }

    fn reset_statements(&self) {
        self.control.reset_statements();
    }

    fn started_micros(&self) -> i64 {
        self.session.started_micros()
    }

    fn transaction_id(&self) -> u64 {
        self.control.transaction_id()
    }

    fn database_bytes(&self, name: Option<&str>) -> Option<u64> {
        if name.is_some_and(|name| self.oids.database_oid(name).is_none()) {
            return None;
        }
        Some(self.oids.account_bytes(name.unwrap_or(self.session.database())))
    }

    fn schema_oid(&self, name: &str) -> Option<u32> {
        self.oids.namespace_oid(name)
    }

    fn schema_name(&self, oid: u32) -> Option<String> {
        self.oids.namespace_name(oid).map(str::to_owned)
    }

    fn role_oid(&self, name: &str) -> Option<u32> {
        self.oids.role_oid(name)
    }

    fn role_name(&self, oid: u32) -> Option<String> {
        self.oids.role_name(oid)
    }

    fn database_oid(&self, name: &str) -> Option<u32> {
        self.oids.database_oid(name)
    }

    fn database_name(&self, oid: u32) -> Option<String> {
        self.oids.database_name(oid)
    }

    fn relation_oid(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        self.along_path(schema, |schema| self.oids.relation_oid(schema, name))
    }

    fn relation(&self, oid: u32) -> Option<Arc<RelationFacts>> {
        let facts = self.oids.relation(oid)?;
        Some(Arc::new(RelationFacts {
            oid,
            schema: facts.schema.to_owned(),
            name: facts.name,
            kind: facts.kind,
            columns: self.oids.columns(oid),
            view_definition: self.oids.view_definition(oid),
            bytes: facts.bytes,
        }))
    }

    fn index(&self, oid: u32) -> Option<IndexFacts> {
        let facts = self.oids.relation(oid).filter(|facts| facts.kind == 'i')?;
        self.oids.index_definition(oid, 0)?;
        let table = facts.name.strip_suffix("_pkey").unwrap_or(&facts.name).to_owned();
        let columns = KEY.iter().map(|name| (*name).to_owned()).collect();
        Some(IndexFacts { name: facts.name, schema: facts.schema.to_owned(), table, columns })
    }

    fn constraint(&self, oid: u32) -> Option<ConstraintFacts> {
        self.oids.constraint_definition(oid)?;
        let columns = KEY.iter().map(|name| (*name).to_owned()).collect();
        Some(ConstraintFacts { columns })
    }

    fn type_oid(&self, schema: Option<&str>, name: &str) -> Option<u32> {
        self.along_path(schema, |schema| self.oids.type_oid(schema, name))
    }

    fn type_facts(&self, oid: u32) -> Option<TypeFacts> {
        let facts = self.oids.type_facts(oid)?;
        let element = (facts.element != 0).then_some(facts.element);
        Some(TypeFacts { name: facts.name, schema: facts.schema.to_owned(), element })
    }

    fn function_oids(&self, schema: Option<&str>, name: &str) -> Vec<u32> {
        match schema {
            None | Some(PG_CATALOG) => self.oids.function_oids(name),
            Some(_) => Vec::new(),
        }
    }

    fn function(&self, oid: u32) -> Option<FunctionFacts> {
        let name = self.oids.function_name(oid)?;
        let (argument_types, result_type) = self.oids.function_types(oid)?;
        let namesakes = self.oids.function_oids(&name).len();
        let schema = PG_CATALOG.to_owned();
        Some(FunctionFacts { name, schema, argument_types, result_type, namesakes, ..FunctionFacts::default() })
    }

    /// Operators, collations and their like are all PostgreSQL's own.
    fn object_schema(&self, _catalog: &str, _oid: u32) -> Option<String> {
        Some(PG_CATALOG.to_owned())
    }

    fn comment(&self, oid: u32, catalog: Option<&str>, column: i32) -> Option<String> {
        let class = |catalog: &str| self.oids.relation_oid(PG_CATALOG, catalog);
        match catalog {
            Some(catalog) => self.oids.comment(oid, class(catalog)?, column),
            None => COMMENTED.iter().find_map(|catalog| self.oids.comment(oid, class(catalog)?, column)),
        }
    }
}

#[cfg(test)]
mod tests;
