//! Functions, as `information_schema` describes them.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::column_types::ColumnType;
use super::super::contents::Contents;
use super::columns::{Described, describe};
use super::functions::{Functions, ListedFunction};
use super::information_schema::yes;
use rowkey_postgres::types::type_by_oid;

fn described(oid: u32) -> Option<Described> {
    type_by_oid(oid).map(|ty| describe(&ColumnType::of(ty)))
}

/// A name that no other function has.
fn specific_name(shown: &ListedFunction) -> String {
    format!("{}_{}", shown.name, shown.function.oid)
}

pub(super) fn routines(contents: &Arc<Contents>) -> Rows {
    let database = contents.database();
    rows!(Functions::of(contents).into_all(), |shown| {
        specific_catalog: database.clone(), specific_schema: "pg_catalog", specific_name: specific_name(&shown),
        routine_catalog: database.clone(), routine_schema: "pg_catalog", routine_name: Arc::clone(&shown.name),
        routine_type: (shown.function.kind == 'f').then_some("FUNCTION"),
        data_type: described(shown.function.result)?.data_type, type_udt_catalog: database.clone(),
        type_udt_schema: "pg_catalog", type_udt_name: described(shown.function.result)?.udt_name, dtd_identifier: "0",
        routine_body: "EXTERNAL", routine_definition: Arc::clone(&shown.name), external_language: "INTERNAL",
        parameter_style: "GENERAL", is_deterministic: yes(shown.function.volatility == 'i'), sql_data_access: "MODIFIES",
        is_null_call: (shown.function.kind == 'f').then(|| yes(shown.function.strict)), schema_level_routine: "YES",
        max_dynamic_result_sets: 0, security_type: "INVOKER", as_locator: "NO", is_udt_dependent: "NO",
    })
}

pub(super) fn parameters(contents: &Arc<Contents>) -> Rows {
    let database = contents.database();
    let each = Functions::of(contents).into_all().flat_map(|shown| {
        let name = specific_name(&shown);
        (1_i32..).zip(shown.function.arguments).map(move |(number, ty)| (name.clone(), number, ty))
    });
    rows!(each, |(name, number, ty)| {
        specific_catalog: database.clone(), specific_schema: "pg_catalog", specific_name: name, ordinal_position: number,
        parameter_mode: "IN", is_result: "NO", as_locator: "NO", data_type: described(ty)?.data_type,
        udt_catalog: database.clone(), udt_schema: "pg_catalog", udt_name: described(ty)?.udt_name,
        dtd_identifier: number.to_string(),
    })
}
