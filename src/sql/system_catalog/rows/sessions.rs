//! Sessions and what belongs to them: settings, prepared statements, cursors.

use std::sync::Arc;

use super::super::cell::{Cell, Rows, rows};
use super::super::contents::{Contents, Relation};
use super::super::oid;
use super::super::wanted::Wanted;

/// Of a block, in which PostgreSQL counts what is read.
const BLOCK_BYTES: u64 = 8192;

pub(super) fn pg_settings(contents: &Arc<Contents>) -> Rows {
    rows!(contents.session.settings(), |setting| {
        name: setting.name, setting: setting.setting, unit: setting.unit, category: setting.category,
        short_desc: setting.short_desc, extra_desc: setting.extra_desc, context: setting.context, vartype: setting.vartype, source: setting.source,
        min_val: setting.min_val, max_val: setting.max_val, enumvals: setting.enumvals, boot_val: setting.boot_val,
        reset_val: setting.reset_val, pending_restart: false,
    })
}

pub(super) fn pg_stat_activity(contents: &Arc<Contents>) -> Rows {
    rows!(contents.session.activity(), |session| {
        datid: oid::of_database(&session.database), datname: session.database, pid: session.pid, usesysid: oid::ROLE,
        usename: session.user, application_name: session.application_name, client_addr: session.client_addr,
        client_port: session.client_port, backend_start: Cell::Time(session.backend_start_micros),
        xact_start: Cell::time(session.xact_start_micros), query_start: Cell::time(session.query_start_micros),
        state_change: Cell::time(session.state_change_micros), state: session.state, query: session.query,
        backend_type: "client backend",
    })
}

/// Those over connections: a COPY to a file of the server is not among them.
pub(super) fn pg_stat_progress_copy(contents: &Arc<Contents>) -> Rows {
    let tables = Arc::clone(contents);
    let copying = contents
        .session
        .activity()
        .into_iter()
        .filter_map(|session| Some((session.pid, session.database, session.copy?)));
    rows!(copying.collect::<Vec<_>>(), |(pid, database, copy)| {
        pid: pid, datid: oid::of_database(&database), datname: database, relid: relation_oid(&tables, &copy.table),
        command: copy.command, type: "PIPE", bytes_processed: count(copy.bytes), bytes_total: 0_i64,
        tuples_processed: count(copy.rows), tuples_excluded: 0_i64,
    })
}

/// 0 for none.
fn relation_oid(contents: &Contents, table: &str) -> u32 {
    let named = |relation: &Relation| relation.kind != 'i' && relation.name.eq_ignore_ascii_case(table);
    contents.relations(&Wanted::default()).find(named).map_or(0, |relation| relation.oid)
}

/// Statements are planned apart from their runs, which alone are counted; blocks are those of files
/// that were read.
pub(super) fn pg_stat_statements(contents: &Arc<Contents>) -> Rows {
    let database = oid::of_database(contents.session.database());
    rows!(contents.session.statements(), |statement| {
        userid: oid::ROLE, dbid: database, toplevel: true, queryid: statement.id, query: statement.text, plans: 0_i64,
        total_plan_time: 0.0, min_plan_time: 0.0, max_plan_time: 0.0, mean_plan_time: 0.0, stddev_plan_time: 0.0,
        calls: count(statement.calls), total_exec_time: statement.total_ms, min_exec_time: statement.least_ms,
        max_exec_time: statement.most_ms, mean_exec_time: statement.mean_ms,
        stddev_exec_time: statement.standard_deviation_ms, rows: count(statement.rows), shared_blks_hit: 0_i64,
        shared_blks_read: count(statement.bytes_read.div_ceil(BLOCK_BYTES)), shared_blks_dirtied: 0_i64,
        shared_blks_written: 0_i64, local_blks_hit: 0_i64, local_blks_read: 0_i64, local_blks_dirtied: 0_i64,
        local_blks_written: 0_i64, temp_blks_read: 0_i64, temp_blks_written: 0_i64, blk_read_time: 0.0,
        blk_write_time: 0.0, temp_blk_read_time: 0.0, temp_blk_write_time: 0.0, wal_records: 0_i64, wal_fpi: 0_i64,
        jit_functions: 0_i64, jit_generation_time: 0.0, jit_inlining_count: 0_i64, jit_inlining_time: 0.0,
        jit_optimization_count: 0_i64, jit_optimization_time: 0.0, jit_emission_count: 0_i64, jit_emission_time: 0.0,
    })
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn pg_prepared_statements(contents: &Arc<Contents>) -> Rows {
    rows!(contents.session.prepared_statements(), |prepared| {
        name: prepared.name, statement: prepared.statement, prepare_time: Cell::Time(prepared.prepared_micros),
        parameter_types: prepared.parameter_type_oids, from_sql: prepared.from_sql, generic_plans: 0_i64,
        custom_plans: 0_i64,
    })
}

pub(super) fn pg_cursors(contents: &Arc<Contents>) -> Rows {
    rows!(contents.session.cursors(), |cursor| {
        name: cursor.name, statement: cursor.statement, is_holdable: cursor.holdable, is_binary: cursor.binary,
        is_scrollable: cursor.scrollable, creation_time: Cell::Time(cursor.created_micros),
    })
}
