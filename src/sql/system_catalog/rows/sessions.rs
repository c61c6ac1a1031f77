//! Sessions and what belongs to them: settings, prepared statements, cursors.

use std::sync::Arc;

use super::super::cell::{Cell, Rows, rows};
use super::super::contents::Contents;
use super::super::oid;

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
