//! Statistics. Rows and what they need are known; accesses are not counted, which PostgreSQL shows
//! as zeros as well.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::contents::{Contents, Relation, key_name};
use super::super::oid::{self, Part};
use super::super::wanted::Wanted;

/// The rows of a relation of statistics; none if it is not one of those that have any.
pub(super) fn rows(contents: &Arc<Contents>, name: &str, wanted: &Wanted) -> Option<Rows> {
    Some(match name {
        "pg_stat_all_tables" => tables(contents, wanted, Scope::All),
        "pg_stat_user_tables" => tables(contents, wanted, Scope::User),
        "pg_stat_sys_tables" => tables(contents, wanted, Scope::System),
        "pg_stat_xact_all_tables" => transaction_tables(contents, wanted, Scope::All),
        "pg_stat_xact_user_tables" => transaction_tables(contents, wanted, Scope::User),
        "pg_stat_xact_sys_tables" => transaction_tables(contents, wanted, Scope::System),
        "pg_statio_all_tables" => table_blocks(contents, wanted, Scope::All),
        "pg_statio_user_tables" => table_blocks(contents, wanted, Scope::User),
        "pg_statio_sys_tables" => table_blocks(contents, wanted, Scope::System),
        "pg_stat_all_indexes" | "pg_stat_user_indexes" => indexes(contents),
        "pg_statio_all_indexes" | "pg_statio_user_indexes" => index_blocks(contents),
        "pg_stat_database" => databases(contents),
        "pg_stat_database_conflicts" => conflicts(contents),
        _ => return None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    User,
    System,
}

fn in_scope(contents: &Contents, wanted: &Wanted, scope: Scope) -> impl Iterator<Item = Relation> + Send + use<> {
    let is_system = |relation: &Relation| relation.user_table().is_none();
    contents.tables_and_views(wanted).filter(move |relation| {
        relation.kind == 'r'
            && match scope {
                Scope::All => true,
                Scope::User => !is_system(relation),
                Scope::System => is_system(relation),
            }
    })
}

fn rows_of(relation: &Relation) -> i64 {
    i64::try_from(relation.live_rows()).unwrap_or(i64::MAX)
}

/// Rows that are masked and still lie in a file.
fn dead_rows(relation: &Relation) -> i64 {
    let masked = relation.user_table().map_or(0, |table| table.manifest.files().map(|file| file.masked_rows()).sum());
    i64::try_from(masked).unwrap_or(i64::MAX)
}

fn tables(contents: &Contents, wanted: &Wanted, scope: Scope) -> Rows {
    rows!(in_scope(contents, wanted, scope), |relation| {
        relid: relation.oid, schemaname: relation.schema, relname: Arc::clone(&relation.name), seq_scan: 0_i64,
        seq_tup_read: 0_i64, idx_scan: 0_i64, idx_tup_fetch: 0_i64, n_tup_ins: 0_i64, n_tup_upd: 0_i64,
        n_tup_del: 0_i64, n_tup_hot_upd: 0_i64, n_live_tup: rows_of(&relation), n_dead_tup: dead_rows(&relation),
        n_mod_since_analyze: 0_i64, n_ins_since_vacuum: 0_i64, vacuum_count: 0_i64, autovacuum_count: 0_i64,
        analyze_count: 0_i64, autoanalyze_count: 0_i64,
    })
}

fn transaction_tables(contents: &Contents, wanted: &Wanted, scope: Scope) -> Rows {
    rows!(in_scope(contents, wanted, scope), |relation| {
        relid: relation.oid, schemaname: relation.schema, relname: relation.name, seq_scan: 0_i64, seq_tup_read: 0_i64,
        idx_scan: 0_i64, idx_tup_fetch: 0_i64, n_tup_ins: 0_i64, n_tup_upd: 0_i64, n_tup_del: 0_i64,
        n_tup_hot_upd: 0_i64,
    })
}

fn table_blocks(contents: &Contents, wanted: &Wanted, scope: Scope) -> Rows {
    rows!(in_scope(contents, wanted, scope), |relation| {
        relid: relation.oid, schemaname: relation.schema, relname: relation.name, heap_blks_read: 0_i64,
        heap_blks_hit: 0_i64, idx_blks_read: 0_i64, idx_blks_hit: 0_i64,
    })
}

fn key_indexes(contents: &Contents) -> impl Iterator<Item = (Relation, u32, String)> + Send + use<> {
    in_scope(contents, &Wanted::default(), Scope::User).filter_map(|relation| {
        let table = relation.user_table()?;
        let (index, name) = (oid::of(table.id, Part::KeyIndex)?, key_name(table));
        Some((relation, index, name))
    })
}

fn indexes(contents: &Contents) -> Rows {
    rows!(key_indexes(contents), |(relation, index, name)| {
        relid: relation.oid, indexrelid: index, schemaname: relation.schema, relname: relation.name,
        indexrelname: name, idx_scan: 0_i64, idx_tup_read: 0_i64, idx_tup_fetch: 0_i64,
    })
}

fn index_blocks(contents: &Contents) -> Rows {
    rows!(key_indexes(contents), |(relation, index, name)| {
        relid: relation.oid, indexrelid: index, schemaname: relation.schema, relname: relation.name,
        indexrelname: name, idx_blks_read: 0_i64, idx_blks_hit: 0_i64,
    })
}

fn databases(contents: &Contents) -> Rows {
    let sessions = contents.session.activity();
    let connected = move |name: &str| sessions.iter().filter(|session| session.database == name).count();
    rows!(contents.session.databases(), |name| {
        datid: oid::of_database(&name), numbackends: i32::try_from(connected(&name)).ok()?, datname: name,
        xact_commit: 0_i64, xact_rollback: 0_i64, blks_read: 0_i64, blks_hit: 0_i64, tup_returned: 0_i64,
        tup_fetched: 0_i64, tup_inserted: 0_i64, tup_updated: 0_i64, tup_deleted: 0_i64, conflicts: 0_i64,
        temp_files: 0_i64, temp_bytes: 0_i64, deadlocks: 0_i64, blk_read_time: 0.0, blk_write_time: 0.0,
        session_time: 0.0, active_time: 0.0, idle_in_transaction_time: 0.0, sessions: 0_i64, sessions_abandoned: 0_i64,
        sessions_fatal: 0_i64, sessions_killed: 0_i64,
    })
}

fn conflicts(contents: &Contents) -> Rows {
    rows!(contents.session.databases(), |name| {
        datid: oid::of_database(&name), datname: name, confl_tablespace: 0_i64, confl_lock: 0_i64,
        confl_snapshot: 0_i64, confl_bufferpin: 0_i64, confl_deadlock: 0_i64,
    })
}
