//! Many entities in one text.

use std::ops::Range;
use std::sync::Arc;

use super::error::EntityJsonError;
use super::row_decoder::{Decoded, RowDecoder};
use super::rules::Rules;
use crate::json::{JsonError, Parser};
use rowkey_base::{Error, Result};
use rowkey_model::rows::{PropertyNames, RowRef, Rows};

/// The property of a page that holds its entities.
const PAGE: &str = "value";

/// The entities of a text that is held as a whole, decoded by the rules of
/// [`EntityDecoder::for_answers`](super::EntityDecoder::for_answers).
///
/// ```
/// use rowkey_formats::entity_json::EntityList;
///
/// let text = r#"[{"PartitionKey":"p","RowKey":"1","B":1},{"PartitionKey":"p","RowKey":"2","A":2}]"#;
/// let list = EntityList::decode(text)?;
/// assert_eq!(list.rows().len(), 2);
/// assert_eq!(list.names().iter().map(|name| &**name).collect::<Vec<_>>(), ["B", "A"]);
/// # Ok::<(), rowkey_base::Error>(())
/// ```
#[derive(Debug)]
pub struct EntityList {
    names: Arc<PropertyNames>,
    rows: Rows,
}

impl EntityList {
    /// Decodes an array of entities, an object with such an array as its `value`, or any of these
    /// and single entities one after another, as NDJSON has them.
    ///
    /// # Errors
    /// Those of [`EntityJsonError`]; where there are several entities, the detail says which.
    pub fn decode(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let objects = objects(text).map_err(EntityJsonError::from)?;
        let names = Arc::new(PropertyNames::new());
        let mut decoder = RowDecoder::new(&names, Rules::Answer);
        let mut rows = Rows::new();
        for (number, object) in (1..).zip(&objects) {
            decode_object(&mut decoder, text, object, &mut rows).map_err(|error| {
                let error = Error::from(error);
                match objects.len() {
                    1 => error,
                    _ => error.with_detail(format!("It is entity {number} of the text.")),
                }
            })?;
        }
        Ok(Self { names, rows })
    }

    /// Names of properties by their numbers, in the order in which the text has them first. There
    /// may be some that no entity has: those of nulls.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.names.all()
    }

    /// The entities, in the order of the text.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = RowRef<'_>> {
        self.rows.iter()
    }
}

fn decode_object(
    decoder: &mut RowDecoder,
    text: &str,
    object: &Range<usize>,
    rows: &mut Rows,
) -> Result<(), EntityJsonError> {
    let own = text.get(object.clone()).unwrap_or_default();
    match decoder.decode(own, rows) {
        Ok(Decoded::Entity) => Ok(()),
        Ok(Decoded::NoKeys) if decoder.is_metadata(own)? => Ok(()),
        Ok(Decoded::NoKeys) => Err(EntityJsonError::KeyMissing("PartitionKey")),
        Err(EntityJsonError::Syntax { at, reason }) => Err(EntityJsonError::Syntax { at: object.start + at, reason }),
        Err(error) => Err(error),
    }
}

/// Where the entities lie in a text.
fn objects(text: &str) -> Result<Vec<Range<usize>>, JsonError> {
    let mut parser = Parser::new(text);
    let mut found = Vec::new();
    loop {
        parser.skip_space();
        match parser.peek() {
            None => return Ok(found),
            Some(b'[') => array(&mut parser, &mut found)?,
            // Lines may end in one.
            Some(b',') if !found.is_empty() => {
                parser.eat(b',');
            }
            _ => {
                let mut page = parser.clone();
                let entity = parser.skip_object()?;
                if entities_of_page(&mut page, &mut found)? {
                    parser = page;
                } else {
                    found.push(entity);
                }
            }
        }
    }
}

/// Reads an array of objects.
fn array(parser: &mut Parser<'_>, found: &mut Vec<Range<usize>>) -> Result<(), JsonError> {
    parser.expect(b'[')?;
    parser.skip_space();
    if parser.eat(b']') {
        return Ok(());
    }
    loop {
        parser.skip_space();
        found.push(parser.skip_object()?);
        parser.skip_space();
        if !parser.eat(b',') {
            return parser.expect(b']');
        }
    }
}

/// Reads an object, up to its end; false if it is no page.
fn entities_of_page(parser: &mut Parser<'_>, found: &mut Vec<Range<usize>>) -> Result<bool, JsonError> {
    let mut scratch = String::new();
    let mut is_page = false;
    let mut more = parser.begin_object()?;
    while more {
        let is_value = parser.string(&mut scratch)? == PAGE;
        parser.skip_space();
        parser.expect(b':')?;
        parser.skip_space();
        if is_value && parser.peek() == Some(b'[') {
            array(parser, found)?;
            is_page = true;
        } else {
            parser.skip_value(&mut scratch)?;
        }
        more = parser.end_member()?;
    }
    Ok(is_page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        let list = EntityList::decode(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        list.rows().map(|row| format!("{}/{}", row.key().partition, row.key().row)).collect()
    }

    #[test]
    fn entities_stand_in_arrays_pages_and_lines() {
        let (one, two) = (r#"{"PartitionKey":"p","RowKey":"1","value":"[x]"}"#, r#"{"RowKey":"2","PartitionKey":"p"}"#);
        for text in [
            format!("[{one},{two}]"),
            format!(" [ {one} , {two} ] "),
            format!("\u{feff}{{\"odata.metadata\":\"m\",\"value\":[{one},{two}],\"odata.nextLink\":\"n\"}}"),
            format!("{one}\n{two}\n"),
            format!("{one},\r\n{two}"),
            format!("{{\"value\":[{one}]}}\n{{\"value\":[{two}]}}"),
        ] {
            assert_eq!(keys(&text), ["p/1", "p/2"], "{text}");
        }
        assert_eq!(keys(one), ["p/1"]);
        for nothing in ["", "[]", r#"{"value":[]}"#, r#"{"odata.metadata":"m"}"#] {
            assert_eq!(keys(nothing), [""; 0], "{nothing}");
        }
    }

    #[test]
    fn properties_are_in_the_order_of_the_text_and_annotations_may_follow() {
        let text = r#"[{"PartitionKey":"p","RowKey":"1","Z":"5","Z@odata.type":"Edm.Int64","N":null},
            {"PartitionKey":"p","RowKey":"2","A":1.5,"Z@odata.type":"Edm.Int64","Z":"6"}]"#;
        let list = EntityList::decode(text).expect("entities");
        assert_eq!(list.names().iter().map(|name| &**name).collect::<Vec<_>>(), ["Z", "N", "A"]);
        let types = |at: usize| {
            let row = list.rows().nth(at).expect("a row");
            row.properties().map(|(id, value)| (id.index(), value.edm_type().name())).collect::<Vec<_>>()
        };
        assert_eq!(types(0), [(0, "Int64")]);
        assert_eq!(types(1), [(0, "Int64"), (2, "Double")]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let wrong = |text: &str| {
            let error = EntityList::decode(text).expect_err(text);
            (error.to_string(), error.detail().unwrap_or_default().to_owned())
        };
        let good = r#"{"PartitionKey":"p","RowKey":"1"}"#;
        let (message, detail) = wrong(&format!("[{good},{{\"PartitionKey\":\"p\"}}]"));
        assert_eq!((message.as_str(), detail.as_str()), ("the entity has no RowKey", "It is entity 2 of the text."));
        assert_eq!(wrong("{}").0, "the entity has no PartitionKey");
        assert!(wrong(&format!("[{good}")).0.contains("at byte 34"), "{}", wrong(&format!("[{good}")).0);
        assert!(wrong(&format!("[{good},1]")).0.contains("an object was expected"));
        assert!(wrong("x").0.contains("an object was expected"));
        assert!(wrong(r#"{"odata.error":{"code":"ResourceNotFound"}}"#).0.contains("error that the service"));
    }
}
