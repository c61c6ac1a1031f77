//! What COMMENT says about relations, columns, schemas and the database.

use std::sync::Arc;

use super::super::cell::{Rows, rows};
use super::super::column_types::namespace_of;
use super::super::contents::{Contents, Relation};
use super::super::oid::{self, Part};
use rowkey_storage::CommentObject;

/// A comment and what it is on.
struct Comment {
    object: u32,
    class: u32,
    /// The number of a column, else 0.
    part: i32,
    text: String,
}

/// Comments, without those on columns that are gone.
fn comments(contents: &Contents) -> Vec<Comment> {
    let of_account = contents.snapshot.catalog.comments(&contents.account);
    // Comments on the columns of a relation stand side by side.
    let mut current: Option<(u64, Option<Relation>)> = None;
    let comment = |(object, text): (&CommentObject, &str)| {
        let text = text.to_owned();
        let (object, class, part) = match object {
            CommentObject::Table(id) | CommentObject::View(id) => (oid::of(*id, Part::Relation)?, oid::PG_CLASS, 0),
            CommentObject::Column(id, name) => {
                let object = oid::of(*id, Part::Relation)?;
                if current.as_ref().is_none_or(|(known, _)| known != id) {
                    current = Some((*id, contents.relation(object)));
                }
                let columns = current.as_ref()?.1.as_ref()?.columns();
                let column = columns.into_iter().find(|column| *column.name == **name)?;
                (object, oid::PG_CLASS, i32::from(column.number))
            }
            CommentObject::Schema(name) => (namespace_of(name)?, oid::PG_NAMESPACE, 0),
            CommentObject::Database => (oid::of_database(contents.session.database()), oid::PG_DATABASE, 0),
        };
        Some(Comment { object, class, part, text })
    };
    of_account.filter_map(comment).collect()
}

pub(super) fn pg_description(contents: &Arc<Contents>) -> Rows {
    let own = comments(contents).into_iter().filter(|comment| comment.class != oid::PG_DATABASE);
    rows!(own, |comment| {
        objoid: comment.object, classoid: comment.class, objsubid: comment.part, description: comment.text,
    })
}

pub(super) fn pg_shdescription(contents: &Arc<Contents>) -> Rows {
    let shared = comments(contents).into_iter().filter(|comment| comment.class == oid::PG_DATABASE);
    rows!(shared, |comment| { objoid: comment.object, classoid: comment.class, description: comment.text })
}

/// The comment on an object, or on a column of one.
pub(crate) fn comment(contents: &Contents, object: u32, class: u32, part: i32) -> Option<String> {
    let is_it = |comment: &Comment| (comment.object, comment.class, comment.part) == (object, class, part);
    comments(contents).into_iter().find(is_it).map(|comment| comment.text)
}
