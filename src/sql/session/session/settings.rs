//! Settings that statements change, and what a session has to say beside its answers.

use super::Session;
use crate::session::transaction::TransactionStatus;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::settings::{Definition, LeastMessage, definition, is_transaction_mode};

impl Session {
    pub(super) fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        if (name, value) == ("transaction_isolation", None) && self.transaction.status() == TransactionStatus::Idle {
            let message = "RESET TRANSACTION can only be used in transaction blocks";
            self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
        }
        match (name, value) {
            ("session_authorization", Some(user)) if user == self.user => Ok(()),
            ("session_authorization", None) => Ok(()),
            ("session_authorization" | "role", Some(user)) if user != self.user => {
                Err(Error::new(SqlState::UNDEFINED_OBJECT, format!("role \"{user}\" does not exist")))
            }
            ("role", _) => Ok(()),
            _ if is_transaction_mode(name) => self.transaction.set_mode(name, value, false, &mut self.settings),
            _ => {
                self.settings.set(name, value, local)?;
                let ignored = definition(name).filter(|definition| !definition.acts);
                let differs = |definition: &&Definition| self.settings.get(definition.name) != Some(definition.default);
                if let Some(definition) = ignored.filter(differs) {
                    self.tell_without_effect(definition);
                }
                Ok(())
            }
        }
    }

    /// Tells once that a setting changes nothing.
    pub(super) fn tell_without_effect(&mut self, definition: &'static Definition) {
        if self.told_without_effect.insert(definition.name) {
            let message = format!("parameter \"{}\" is accepted without effect", definition.name);
            self.notices.push(Error::new(SqlState::SUCCESSFUL_COMPLETION, message));
        }
    }

    pub(in crate::session) fn tell(&mut self, notices: Vec<Error>) {
        self.notices.extend(notices);
    }

    /// Notices and warnings since they were taken last, without those that the client does not
    /// want.
    pub fn take_notices(&mut self) -> Vec<Error> {
        let mut notices = std::mem::take(&mut self.notices);
        if !notices.is_empty() {
            let wanted = self.settings.least_message();
            notices.retain(|notice| match notice.sqlstate() {
                SqlState::SUCCESSFUL_COMPLETION => wanted <= LeastMessage::Notice,
                _ => wanted <= LeastMessage::Warning,
            });
        }
        notices
    }

    pub(super) fn warn(&mut self, kind: SqlState, message: &str) {
        self.notices.push(Error::new(kind, message));
    }
}
