//! Comments on tables, views, columns, schemas and databases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Catalog;
use rowkey_model::AccountName;

/// What a comment is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentObject {
    /// The table with this id.
    Table(u64),
    /// The view with this id.
    View(u64),
    /// A column, by its exact name, of the table or view with this id.
    Column(u64, String),
    /// A schema of the account's database.
    Schema(String),
    /// The account's database.
    Database,
}

impl CommentObject {
    /// The table or view that it is, or is a column of.
    pub fn relation(&self) -> Option<u64> {
        match self {
            CommentObject::Table(id) | CommentObject::View(id) | CommentObject::Column(id, _) => Some(*id),
            CommentObject::Schema(_) | CommentObject::Database => None,
        }
    }
}

/// All comments of a data folder, in the order of accounts and objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Comment>", into = "Vec<Comment>")]
pub(super) struct Comments(BTreeMap<(String, CommentObject), String>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Comment {
    account: String,
    object: CommentObject,
    text: String,
}

impl Comments {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn set(&mut self, account: &str, object: &CommentObject, text: Option<&str>) {
        let place = (account.to_owned(), object.clone());
        match text {
            Some(text) => self.0.insert(place, text.to_owned()),
            None => self.0.remove(&place),
        };
    }

    /// Takes out what is said about a table or view and its columns.
    pub(super) fn forget(&mut self, relation: u64) {
        self.0.retain(|(_, object), _| object.relation() != Some(relation));
    }

    /// Takes out what is said about a column.
    pub(super) fn forget_column(&mut self, relation: u64, column: &str) {
        let is_of = |object: &CommentObject| *object == CommentObject::Column(relation, column.to_owned());
        self.0.retain(|(_, object), _| !is_of(object));
    }

    /// What is said about a column stays with it.
    pub(super) fn rename_column(&mut self, relation: u64, from: &str, to: &str) {
        let before = CommentObject::Column(relation, from.to_owned());
        let found = self.0.keys().find(|(_, object)| *object == before).cloned();
        if let Some(place) = found
            && let Some(text) = self.0.remove(&place)
        {
            self.0.insert((place.0, CommentObject::Column(relation, to.to_owned())), text);
        }
    }
}

impl From<Vec<Comment>> for Comments {
    fn from(comments: Vec<Comment>) -> Self {
        Self(comments.into_iter().map(|comment| ((comment.account, comment.object), comment.text)).collect())
    }
}

impl From<Comments> for Vec<Comment> {
    fn from(comments: Comments) -> Self {
        comments.0.into_iter().map(|((account, object), text)| Comment { account, object, text }).collect()
    }
}

impl Catalog {
    /// What is said about an object.
    pub fn comment(&self, account: &AccountName, object: &CommentObject) -> Option<&str> {
        self.comments.0.get(&(account.as_str().to_owned(), object.clone())).map(String::as_str)
    }

    /// All comments of an account.
    #[allow(dead_code, reason = "what pg_description is made of")]
    pub fn comments(&self, account: &AccountName) -> impl Iterator<Item = (&CommentObject, &str)> {
        let of_account = move |(owner, _): &&(String, CommentObject)| *owner == account.as_str();
        self.comments
            .0
            .iter()
            .filter(move |(place, _)| of_account(place))
            .map(|((_, object), text)| (object, text.as_str()))
    }

    pub(super) fn set_comment(
        &mut self,
        account: &str,
        object: &CommentObject,
        text: Option<&str>,
    ) -> Result<(), String> {
        let owner = |id: &u64| {
            let table = self.tables.get(id).map(|table| table.account.as_str());
            table.or_else(|| self.views.get(id).map(|view| view.account.as_str()))
        };
        let exists = match object {
            CommentObject::Table(id) => self.tables.get(id).is_some_and(|table| table.account == account),
            CommentObject::View(id) => self.views.get(id).is_some_and(|view| view.account == account),
            CommentObject::Column(id, _) => owner(id) == Some(account),
            CommentObject::Schema(_) | CommentObject::Database => true,
        };
        if !exists {
            return Err(format!("a comment is made on {object:?}, which does not exist"));
        }
        self.comments.set(account, object, text);
        Ok(())
    }
}
