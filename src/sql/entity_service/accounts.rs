//! The accounts of a data folder.

use std::collections::BTreeSet;

use rowkey_model::AccountName;
use rowkey_storage::Catalog;

/// The names of all accounts, in their order: the default one, and those that have tables or views.
pub(crate) fn account_names(catalog: &Catalog, default: &AccountName) -> Vec<String> {
    let tables = catalog.tables().map(|table| table.account.as_str());
    let views = catalog.views().map(|view| view.account.as_str());
    let names: BTreeSet<&str> = std::iter::once(default.as_str()).chain(tables).chain(views).collect();
    names.into_iter().map(str::to_owned).collect()
}
