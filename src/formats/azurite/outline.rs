//! Finding the tables of a database.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use super::json_stream::JsonStream;
use crate::error::Error;

/// The collection that lists all tables.
const TABLES: &str = "$TABLES_COLLECTION$";
/// Most tables of a database; bounds the memory.
const TABLES_MAX: usize = 1 << 16;
/// Longest name of a collection: an account, `$` and a table have far fewer bytes.
const NAME_BYTES_MAX: usize = 1024;

/// A table's documents in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Collection {
    pub(super) account: String,
    pub(super) table: String,
    /// The array of documents, brackets included.
    pub(super) bytes: Range<u64>,
}

/// Reads a whole database and finds where its tables are.
pub(super) fn outline<R: Read>(input: Arc<str>, reader: R) -> Result<Vec<Collection>, Error> {
    let mut json = JsonStream::new(input, reader);
    let mut outline = Outline::default();
    let mut has_collections = false;
    json.object(|json, key| {
        if key != "collections" {
            return json.skip_value();
        }
        has_collections = true;
        json.array(|json| outline.read_collection(json))
    })?;
    if json.peek_token()?.is_some() {
        return Err(json.unexpected("the end of the database")?);
    }
    if !has_collections {
        return Err(json.error("the object has no \"collections\"; it is no database of Azurite".to_owned()));
    }
    Ok(outline.finish())
}

#[derive(Default)]
struct Outline {
    collections: Vec<Collection>,
    /// Names of tables as they were created, by account and name in lower case.
    created: HashMap<(String, String), String>,
}

impl Outline {
    fn read_collection<R: Read>(&mut self, json: &mut JsonStream<R>) -> Result<(), Error> {
        let mut name: Option<String> = None;
        let mut has_data = false;
        json.object(|json, key| match (key, name.as_deref()) {
            ("name", None) => {
                name = Some(json.string(NAME_BYTES_MAX)?);
                Ok(())
            }
            ("name", Some(_)) => Err(json.error("a collection has two names".to_owned())),
            ("data", None) => Err(json.error("the data of a collection come before its name".to_owned())),
            ("data", Some(_)) if has_data => Err(json.error("a collection has its data twice".to_owned())),
            ("data", Some(TABLES)) => {
                has_data = true;
                json.array(|json| self.read_created(json))
            }
            ("data", Some(name)) => {
                has_data = true;
                self.read_data(name, json)
            }
            _ => json.skip_value(),
        })
    }

    /// Reads a document that lists a table.
    fn read_created<R: Read>(&mut self, json: &mut JsonStream<R>) -> Result<(), Error> {
        let (mut account, mut table) = (None, None);
        json.object(|json, key| {
            match key {
                "account" => account = Some(json.string(NAME_BYTES_MAX)?),
                "table" => table = Some(json.string(NAME_BYTES_MAX)?),
                _ => json.skip_value()?,
            }
            Ok(())
        })?;
        if let (Some(account), Some(table)) = (account, table) {
            self.check_room(json, self.created.len())?;
            self.created.insert((account, table.to_lowercase()), table);
        }
        Ok(())
    }

    fn read_data<R: Read>(&mut self, name: &str, json: &mut JsonStream<R>) -> Result<(), Error> {
        if json.peek_token()? != Some(b'[') {
            return Err(json.unexpected("the array of a collection's documents")?);
        }
        let from = json.offset();
        json.skip_value()?;
        let bytes = from..json.offset();
        // Names that begin with "$" are the emulator's own.
        if let Some((account, table)) = name.split_once('$').filter(|(account, _)| !account.is_empty()) {
            self.check_room(json, self.collections.len())?;
            self.collections.push(Collection { account: account.to_owned(), table: table.to_owned(), bytes });
        }
        Ok(())
    }

    fn check_room<R: Read>(&self, json: &JsonStream<R>, tables: usize) -> Result<(), Error> {
        if tables < TABLES_MAX {
            return Ok(());
        }
        Err(json.error(format!("a database has at most {TABLES_MAX} tables, this has more")))
    }

    /// Some releases name collections in lower case: the list of tables has the names as created.
    fn finish(mut self) -> Vec<Collection> {
        for collection in &mut self.collections {
            let key = (collection.account.clone(), collection.table.to_lowercase());
            if let Some(created) = self.created.remove(&key) {
                collection.table = created;
            }
        }
        self.collections
    }
}
