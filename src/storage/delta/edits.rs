//! What catalog edits do to the deltas.

use std::sync::Arc;

use super::table_delta::Deltas;
use crate::catalog::Edit;

/// Every table has a delta, be it empty: the numbers of its properties live as long as it does.
pub(crate) fn follow_edits(deltas: &mut Deltas, edits: &[Edit]) {
    for edit in edits {
        match edit {
            Edit::CreateTable { id, .. } => {
                deltas.insert(*id, Arc::default());
            }
            Edit::DropTable { id } => {
                deltas.remove(id);
            }
            Edit::TruncateTable { table, .. } => {
                deltas.insert(*table, Arc::default());
            }
            Edit::SetColumns { .. }
            | Edit::DropColumn { .. }
            | Edit::RenameColumn { .. }
            | Edit::RenameTable { .. }
            | Edit::ReplaceRanges { .. }
            | Edit::MaskRows { .. }
            | Edit::SetFolded { .. }
            | Edit::CreateView { .. }
            | Edit::DropView { .. }
            | Edit::SetComment { .. }
            | Edit::SetAccessPolicies { .. }
            | Edit::SetServiceProperties { .. }
            | Edit::SetAccountKeys { .. } => {}
        }
    }
}
