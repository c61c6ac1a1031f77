//! Databases, schemas, tablespaces and roles.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::column_types::namespace_of;
use super::super::contents::{Contents, schemas};
use super::super::oid;

/// UTF-8 among the encodings.
const UTF8: i32 = 6;
const BOOTSTRAP_TRANSACTION: u32 = 1;
/// By code points; letters and their cases are Unicode's.
const LOCALE: &str = "C.UTF-8";
/// What stands in the place of a password.
const PASSWORD: &str = "********";

pub(super) fn pg_namespace() -> Rows {
    rows!(schemas(), |name| { oid: namespace_of(name)?, nspname: name, nspowner: oid::ROLE })
}

pub(super) fn pg_database(contents: &Arc<Contents>) -> Rows {
    rows!(contents.session.databases(), |name| {
        oid: oid::of_database(&name), datname: name, datdba: oid::ROLE, encoding: UTF8, datlocprovider: 'c',
        datistemplate: false, datallowconn: true, datconnlimit: -1, datfrozenxid: BOOTSTRAP_TRANSACTION,
        datminmxid: BOOTSTRAP_TRANSACTION, dattablespace: oid::TABLESPACE, datcollate: LOCALE, datctype: LOCALE,
    })
}

pub(super) fn pg_tablespace() -> Rows {
    let spaces = [(oid::TABLESPACE, "pg_default"), (oid::TABLESPACE_SHARED, "pg_global")];
    rows!(spaces, |(oid, name)| { oid: oid, spcname: name, spcowner: oid::ROLE })
}

pub(super) fn pg_authid(contents: &Arc<Contents>) -> Rows {
    rows!([contents.user()], |user| {
        oid: oid::ROLE, rolname: user, rolsuper: true, rolinherit: true, rolcreaterole: true, rolcreatedb: true,
        rolcanlogin: true, rolreplication: false, rolbypassrls: true, rolconnlimit: -1,
    })
}

pub(super) fn pg_roles(contents: &Arc<Contents>) -> Rows {
    rows!([contents.user()], |user| {
        oid: oid::ROLE, rolname: user, rolsuper: true, rolinherit: true, rolcreaterole: true, rolcreatedb: true,
        rolcanlogin: true, rolreplication: false, rolbypassrls: true, rolconnlimit: -1, rolpassword: PASSWORD,
    })
}

/// `pg_user`, and `pg_shadow`, which does not hide the password; there is none in the catalog.
pub(super) fn pg_user(contents: &Arc<Contents>, hidden: bool) -> Rows {
    rows!([contents.user()], |user| {
        usename: user, usesysid: oid::ROLE, usecreatedb: true, usesuper: true, userepl: false, usebypassrls: true,
        passwd: hidden.then_some(PASSWORD),
    })
}
