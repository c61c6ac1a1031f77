//! How far the COPY of a session is, for `pg_stat_progress_copy`.

use datafusion::sql::sqlparser::ast::{CopySource, ObjectNamePart, Statement};

use super::Session;
use crate::registry::CopyActivity;
use rowkey_postgres::syntax::CopyStatement;

impl Session {
    /// A COPY begins to take data from its client, or to send it.
    pub(super) fn begin_copy(&self, copy: &CopyStatement) {
        let Statement::Copy { source, to, .. } = &copy.statement else { return };
        let table = match source {
            CopySource::Table { table_name, .. } => {
                let last = table_name.0.last().and_then(ObjectNamePart::as_ident);
                last.map_or_else(String::new, |name| name.value.clone())
            }
            CopySource::Query(_) => String::new(),
        };
        let copy = CopyActivity { is_from: !to, table, ..CopyActivity::default() };
        self.registration.update(|activity| activity.copy = Some(copy));
    }

    /// The COPY has sent or taken so many more bytes, and rows up to now.
    pub fn copied(&self, bytes: usize, rows: u64) {
        self.registration.update(|activity| {
            if let Some(copy) = &mut activity.copy {
                copy.bytes += bytes as u64;
                copy.rows = rows;
            }
        });
    }
}
