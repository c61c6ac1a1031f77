//! Relations, their columns, keys and defaults.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::contents::{Body, Contents, KEY_COLUMNS, Relation, TIMESTAMP_DEFAULT, TIMESTAMP_NUMBER, key_name};
use super::super::oid::{self, Part};
use super::super::recorded::Definition;
use super::super::wanted::Wanted;
use rowkey_storage::Table;

/// Relations that all databases of a server share.
const SHARED: [&str; 11] = [
    "pg_authid",
    "pg_subscription",
    "pg_database",
    "pg_db_role_setting",
    "pg_tablespace",
    "pg_auth_members",
    "pg_shdepend",
    "pg_shdescription",
    "pg_replication_origin",
    "pg_shseclabel",
    "pg_parameter_acl",
];

/// Columns of a key.
const KEYS: usize = KEY_COLUMNS.len();

/// Transactions of what was there from the beginning.
const BOOTSTRAP_TRANSACTION: u32 = 1;

pub(super) fn pg_class(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let transaction = contents.transaction();
    let relations = contents.relations(wanted).map(|relation| {
        let own = relation.user_table().is_some();
        (relation, own)
    });
    rows!(relations, |(relation, own)| {
        oid: relation.oid, relname: Arc::clone(&relation.name), relnamespace: relation.namespace(),
        reltype: relation.types().0, reloftype: 0_u32, relowner: oid::ROLE, relam: access_method(&relation),
        relfilenode: if relation.kind == 'v' { 0 } else { relation.oid },
        reltablespace: if is_shared(&relation) { oid::TABLESPACE_SHARED } else { 0 },
        relpages: relation.pages(), reltuples: relation.live_rows() as f32,
        relallvisible: if own { relation.pages() } else { 0 },
        reltoastrelid: 0_u32, relhasindex: own, relisshared: is_shared(&relation), relpersistence: 'p',
        relkind: relation.kind, relnatts: i16::try_from(relation.column_count()).unwrap_or(i16::MAX), relchecks: 0_i16,
        relhasrules: relation.kind == 'v',
        relhastriggers: false, relhassubclass: false, relrowsecurity: false, relforcerowsecurity: false,
        relispopulated: true, relreplident: if own { 'd' } else { 'n' }, relispartition: false, relrewrite: 0_u32,
        relfrozenxid: frozen(&relation), relminmxid: frozen(&relation),
        xmin: if relation.is_own() { transaction } else { BOOTSTRAP_TRANSACTION },
    })
}

fn access_method(relation: &Relation) -> u32 {
    match relation.kind {
        'r' => oid::HEAP,
        'i' => oid::BTREE,
        _ => 0,
    }
}

fn is_shared(relation: &Relation) -> bool {
    matches!(relation.body, Body::System(Definition { name, .. }) if SHARED.contains(name))
}

fn frozen(relation: &Relation) -> u32 {
    if relation.kind == 'r' { BOOTSTRAP_TRANSACTION } else { 0 }
}

pub(super) fn pg_attribute(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    let columns = contents.relations(wanted).flat_map(|relation| {
        let oid = relation.oid;
        relation.columns().into_iter().map(move |column| (oid, column))
    });
    rows!(columns, |(relation, column)| {
        attrelid: relation, attname: column.name, atttypid: column.ty.oid, attstattarget: -1,
        attlen: column.ty.base.len, attnum: column.number, attndims: i32::from(column.ty.is_array()),
        attcacheoff: -1, atttypmod: column.ty.modifier, attbyval: column.ty.base.by_value,
        attalign: column.ty.base.alignment, attstorage: column.ty.base.storage, attcompression: "",
        attnotnull: column.not_null, atthasdef: column.default.is_some(), atthasmissing: false, attidentity: "",
        attgenerated: "", attisdropped: false, attislocal: true, attinhcount: 0, attcollation: column.ty.collation,
    })
}

pub(super) fn pg_attrdef(contents: &Arc<Contents>) -> Rows {
    let tables: Vec<Arc<Table>> = contents.tables().cloned().collect();
    rows!(tables, |table| {
        oid: oid::of(table.id, Part::TimestampDefault)?, adrelid: oid::of(table.id, Part::Relation)?,
        adnum: TIMESTAMP_NUMBER, adbin: TIMESTAMP_DEFAULT,
    })
}

/// The numbers of the key's columns.
fn key_numbers() -> Vec<i16> {
    (1..).take(KEYS).collect()
}

pub(super) fn pg_index(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    rows!(contents.tables_and_views(wanted), |relation| {
        indexrelid: oid::of(relation.user_table()?.id, Part::KeyIndex)?, indrelid: relation.oid,
        indnatts: KEYS as i16, indnkeyatts: KEYS as i16, indisunique: true, indnullsnotdistinct: false,
        indisprimary: true, indisexclusion: false, indimmediate: true, indisclustered: false, indisvalid: true,
        indcheckxmin: false, indisready: true, indislive: true, indisreplident: false, indkey: key_numbers(),
        indcollation: vec![oid::COLLATION; KEYS], indclass: vec![oid::TEXT_OPS; KEYS], indoption: vec![0_i16; KEYS],
    })
}

pub(super) fn pg_constraint(contents: &Arc<Contents>, wanted: &Wanted) -> Rows {
    rows!(contents.tables_and_views(wanted), |relation| {
        oid: oid::of(relation.user_table()?.id, Part::KeyConstraint)?, conname: key_name(relation.user_table()?),
        connamespace: oid::PUBLIC, contype: 'p', condeferrable: false, condeferred: false, convalidated: true,
        conrelid: relation.oid, contypid: 0_u32, conindid: oid::of(relation.user_table()?.id, Part::KeyIndex)?,
        conparentid: 0_u32, confrelid: 0_u32, confupdtype: " ", confdeltype: " ", confmatchtype: " ", conislocal: true,
        coninhcount: 0, connoinherit: true, conkey: key_numbers(),
    })
}

/// Views are rules that put their query in their place.
pub(super) fn pg_rewrite(contents: &Arc<Contents>) -> Rows {
    let views: Vec<_> = contents.views().cloned().collect();
    rows!(views, |view| {
        oid: oid::of(view.id, Part::ViewRule)?, rulename: "_RETURN", ev_class: oid::of(view.id, Part::Relation)?,
        ev_type: '1', ev_enabled: 'O', is_instead: true, ev_qual: "<>", ev_action: view.sql.clone(),
    })
}

/// The statement that would make the index of a table's key.
pub(crate) fn index_definition(table: &Table) -> String {
    let keys = KEY_COLUMNS.map(quoted).join(", ");
    format!("CREATE UNIQUE INDEX {} ON public.{} USING btree ({keys})", quoted(&key_name(table)), quoted(&table.name))
}

/// What declares the key in CREATE TABLE.
pub(crate) fn key_constraint_definition() -> String {
    format!("PRIMARY KEY ({})", KEY_COLUMNS.map(quoted).join(", "))
}

/// A name as SQL needs it: in quotes unless it is in lower case throughout.
pub(crate) fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
