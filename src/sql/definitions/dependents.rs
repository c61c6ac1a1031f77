//! Views that are in the way, or go along, when what they read goes.

use std::collections::HashSet;
use std::sync::Arc;

use super::Notice;
use crate::planner::StatementPlanner;
use rowkey_base::{Error, Result, SqlState};
use rowkey_storage::{Catalog, Edit, View};

/// Why views cannot stay, one line for each, as PostgreSQL's DETAIL has them. `lost` tells for ids
/// what they are, `table d` or `column a of table d`; views read those, or views before them.
#[derive(Debug, Default)]
pub(super) struct Dependents {
    pub lines: Vec<String>,
    /// In an order in which they can be dropped.
    pub views: Vec<Arc<View>>,
}

impl Dependents {
    /// Everything that reads the relation of this number, straight or through other views, beside
    /// `dropped`.
    pub(super) fn of(catalog: &Catalog, id: u64, what: &str, dropped: &HashSet<u64>) -> Self {
        let views: Vec<_> = catalog.dependents(id).into_iter().filter(|view| !dropped.contains(&view.id)).collect();
        Self::among(views, |view| view.reads.contains(&id), what)
    }

    /// Of some views those that `reads` says read what is lost, and those that read them.
    pub(super) fn among(views: Vec<Arc<View>>, reads: impl Fn(&View) -> bool, what: &str) -> Self {
        let mut found = Dependents::default();
        let mut lost: Vec<Arc<View>> = Vec::new();
        // Views stand before those they read: from behind, each comes after what it reads.
        for view in views.iter().rev() {
            if reads(view) {
                found.lines.push(format!("view {} depends on {what}", view.name));
            } else if let Some(other) = lost.iter().find(|other| view.reads.contains(&other.id)) {
                found.lines.push(format!("view {} depends on view {}", view.name, other.name));
            } else {
                continue;
            }
            lost.push(Arc::clone(view));
        }
        found.views = lost.into_iter().rev().collect();
        found
    }

    /// PostgreSQL's error if there are any.
    pub(super) fn refuse(lines: &[String], message: String) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .with_detail(lines.join("\n"))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    /// PostgreSQL's notice that views go along.
    pub(super) fn cascade(views: &[Arc<View>]) -> Option<Notice> {
        match views {
            [] => None,
            [view] => Some(Notice::from(format!("drop cascades to view {}", view.name))),
            views => {
                let lines: Vec<String> =
                    views.iter().rev().map(|view| format!("drop cascades to view {}", view.name)).collect();
                let message = format!("drop cascades to {} other objects", views.len());
                Some(Notice { message, detail: Some(lines.join("\n")) })
            }
        }
    }
}

/// The views over a table that can be read now, and could not after some edits.
pub(super) async fn broken_views(planner: &StatementPlanner, table: u64, edits: &[Edit]) -> Result<Vec<Arc<View>>> {
    let views = planner.catalog().dependents(table);
    if views.is_empty() {
        return Ok(views);
    }
    let then = planner.seeing(&planner.snapshot().with_edits(edits)?);
    let mut broken = Vec::new();
    for view in views {
        if planner.has_view(&view).await && !then.has_view(&view).await {
            broken.push(view);
        }
    }
    Ok(broken)
}
