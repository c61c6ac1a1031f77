//! The accounts of a data folder.

use std::sync::{Arc, Mutex, PoisonError};

use super::open::Engine;
use crate::entity_service::account_names;
use crate::session::Compiler;
use rowkey_model::AccountName;

/// Accounts beside the default one whose compilers, with their plans, are kept when no session uses
/// them.
const KEPT_MAX: usize = 16;

/// A compiler for each account: names mean other tables in each.
#[derive(Debug)]
pub(super) struct Compilers {
    default: Arc<Compiler>,
    /// Of other accounts, those used last behind.
    others: Mutex<Vec<Arc<Compiler>>>,
}

impl Compilers {
    /// With that of the default account.
    pub(super) fn new(default: Compiler) -> Self {
        Self { default: Arc::new(default), others: Mutex::default() }
    }

    pub(super) fn of(&self, account: &AccountName) -> Arc<Compiler> {
        if self.default.account() == account {
            return Arc::clone(&self.default);
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let found = others.iter().position(|compiler| compiler.account() == account);
        let compiler = match found {
            Some(at) => others.remove(at),
            None => Arc::new(self.default.in_account(account.clone())),
        };
        if others.len() == KEPT_MAX {
            others.remove(0);
        }
        others.push(Arc::clone(&compiler));
        compiler
    }
}

impl Engine {
    /// The names of all accounts: the default one, and those that have tables or views.
    pub fn account_names(&self) -> Vec<String> {
        account_names(&self.store.snapshot().catalog, self.account())
    }

    /// The account of this name, if there is one.
    pub fn find_account(&self, name: &str) -> Option<AccountName> {
        let account = AccountName::parse(name).ok()?;
        self.account_names().iter().any(|known| known == name).then_some(account)
    }
}
