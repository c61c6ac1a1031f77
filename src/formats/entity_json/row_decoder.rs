//! Decoding the text of one entity into a row.

use std::sync::Arc;

use super::error::EntityJsonError;
use super::keys::{KeyCache, KeyKind};
use super::rules::Rules;
use super::system::{System, key_text, skip_null_key};
use super::values::{Declared, Values, validate_text};
use crate::convert;
use crate::json::Parser;
use crate::property_types::NumberedTypes;
use rowkey_model::rows::{PropertyId, PropertyNames, Rows};

/// Decodes entities, on one thread.
#[derive(Debug)]
pub(crate) struct RowDecoder {
    rules: Rules,
    keys: KeyCache,
    values: Values,
    /// True once annotations came behind their properties; then they are looked for right behind
    /// each, and where they are elsewhere, all of an entity are read before its properties.
    annotations_follow: bool,
    /// True once a type or another annotation of the service was met.
    is_typed: bool,
    scratch: String,
}

/// What the text of an object was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// An entity, which was appended.
    Entity,
    /// An object with neither PartitionKey nor RowKey; nothing was appended.
    NoKeys,
}

/// Where a pass over an entity takes the annotations from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Annotations {
    /// They stand before their properties.
    Before,
    /// Each stands right behind its property.
    RightBehind,
    /// All were read before.
    Known,
}

/// How far one pass over an entity came.
enum Pass {
    Done(Decoded),
    /// Annotations stand elsewhere than where they were looked for.
    AnnotationsLeft,
}

impl RowDecoder {
    /// One for exports: `types` overrule what an entity says, and messages offer the import's
    /// options.
    pub(crate) fn for_exports(names: &Arc<PropertyNames>, types: NumberedTypes) -> Self {
        Self::with_values(names, Rules::Answer, Values::new(Rules::Answer, types, convert::validate_untyped_text))
    }

    /// One by these rules.
    pub(super) fn new(names: &Arc<PropertyNames>, rules: Rules) -> Self {
        Self::with_values(names, rules, Values::new(rules, NumberedTypes::default(), validate_text))
    }

    fn with_values(names: &Arc<PropertyNames>, rules: Rules, values: Values) -> Self {
        let keys = KeyCache::new(names, rules);
        Self { rules, keys, values, annotations_follow: false, is_typed: false, scratch: String::new() }
    }

    /// Takes a Guid as base64 of its text as well, which is how Azurite stores it.
    pub(crate) fn with_guids_in_base64(mut self) -> Self {
        self.values.guids_in_base64 = true;
        self
    }

    /// True once a type or another annotation of the service was met: it names all types that JSON
    /// does not tell.
    pub(crate) fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Appends the entity of `text` to `rows`; on an error nothing is appended.
    pub(crate) fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<Decoded, EntityJsonError> {
        self.decode_within(&System::default(), text, rows)
    }

    /// The same where system properties stand outside of `text`; they go before those in it.
    pub(crate) fn decode_within(
        &mut self,
        outside: &System<'_>,
        text: &str,
        rows: &mut Rows,
    ) -> Result<Decoded, EntityJsonError> {
        if !self.annotations_follow {
            self.values.declared.clear();
            match self.pass(outside, text, rows, Annotations::Before) {
                Ok(Pass::Done(decoded)) => return Ok(decoded),
                Ok(Pass::AnnotationsLeft) => self.annotations_follow = true,
                Err(error) if error.is_foreign() => return Err(error),
                // A value can break a rule only because its type was not known yet.
                Err(_) => {}
            }
        }
        if self.annotations_follow {
            match self.pass(outside, text, rows, Annotations::RightBehind) {
                Ok(Pass::Done(decoded)) => return Ok(decoded),
                Err(error) if error.is_foreign() => return Err(error),
                // Here as well: the type of a value may stand further on.
                Ok(Pass::AnnotationsLeft) | Err(_) => {}
            }
        }
        self.read_annotations(text)?;
        match self.pass(outside, text, rows, Annotations::Known)? {
            Pass::Done(decoded) => Ok(decoded),
            Pass::AnnotationsLeft => {
                Err(EntityJsonError::Refused("an annotation stands where it cannot be read".to_owned()))
            }
        }
    }

    /// Reads the whole entity.
    fn pass(
        &mut self,
        outside: &System<'_>,
        text: &str,
        rows: &mut Rows,
        annotations: Annotations,
    ) -> Result<Pass, EntityJsonError> {
        let names = Arc::clone(self.keys.names());
        let mut builder = rows.builder(&names);
        builder.begin();
        self.values.nulls.clear();
        let mut parser = Parser::new(text);
        let mut system = System::default();
        let mut more = parser.begin_object()?;
        while more {
            match begin_member(&mut self.keys, &mut parser)? {
                KeyKind::Property(id) if annotations == Annotations::RightBehind => {
                    let mut value = parser.clone();
                    let declared = self.read_annotation_behind(&mut parser, id)?;
                    self.values.set(&mut builder, &mut value, id, declared, &self.keys)?;
                }
                KeyKind::Property(id) => {
                    let declared = self.values.declared_type(id, annotations == Annotations::Known);
                    self.values.set(&mut builder, &mut parser, id, declared, &self.keys)?;
                }
                KeyKind::TypeOf(id) if annotations == Annotations::Before => {
                    self.is_typed = true;
                    self.values.declare(id, &mut parser, &self.keys)?;
                }
                KeyKind::TypeOf(_) if annotations == Annotations::RightBehind => return Ok(Pass::AnnotationsLeft),
                KeyKind::TypeOf(_) | KeyKind::Skipped => {
                    self.is_typed = true;
                    parser.skip_value(&mut self.scratch)?;
                }
                KeyKind::PartitionKey if outside.partition.is_some() && parser.peek() == Some(b'n') => {
                    skip_null_key(&mut system.partition, "PartitionKey", &mut parser, &mut self.scratch)?;
                }
                KeyKind::RowKey if outside.row.is_some() && parser.peek() == Some(b'n') => {
                    skip_null_key(&mut system.row, "RowKey", &mut parser, &mut self.scratch)?;
                }
                KeyKind::PartitionKey => {
                    key_text(&mut system.partition, "PartitionKey", &mut parser, &mut self.scratch)?;
                }
                KeyKind::RowKey => key_text(&mut system.row, "RowKey", &mut parser, &mut self.scratch)?,
                KeyKind::Timestamp if self.rules == Rules::Request => {
                    system.skip_timestamp(&mut parser, &mut self.scratch)?;
                }
                KeyKind::Timestamp => system.read_timestamp(&mut parser, &mut self.scratch)?,
            }
            more = parser.end_member()?;
        }
        parser.expect_end()?;
        if annotations == Annotations::Before && !self.values.declared.is_empty() {
            return Ok(Pass::AnnotationsLeft);
        }
        let partition = outside.partition.as_ref().or(system.partition.as_ref());
        let row = outside.row.as_ref().or(system.row.as_ref());
        let (partition, row) = match (partition, row) {
            (Some(partition), Some(row)) => (partition, row),
            (None, Some(_)) => return Err(EntityJsonError::KeyMissing("PartitionKey")),
            (Some(_), None) => return Err(EntityJsonError::KeyMissing("RowKey")),
            (None, None) => return Ok(Pass::Done(Decoded::NoKeys)),
        };
        self.values.refuse_twice(&builder, &self.keys)?;
        builder.finish(partition, row, outside.timestamp.or(system.timestamp))?;
        Ok(Pass::Done(Decoded::Entity))
    }

    /// True if an object has members, and none that belongs to an entity.
    pub(crate) fn is_metadata(&mut self, text: &str) -> Result<bool, EntityJsonError> {
        let mut parser = Parser::new(text);
        let mut more = parser.begin_object()?;
        let mut metadata = more;
        while more {
            metadata &= begin_member(&mut self.keys, &mut parser)? == KeyKind::Skipped;
            parser.skip_value(&mut self.scratch)?;
            more = parser.end_member()?;
        }
        Ok(metadata)
    }

    /// Skips the value of a property and reads the annotation that comes right behind it, if one
    /// does.
    fn read_annotation_behind(
        &mut self,
        parser: &mut Parser<'_>,
        id: PropertyId,
    ) -> Result<Option<Declared>, EntityJsonError> {
        parser.skip_value(&mut self.scratch)?;
        let mut behind = parser.clone();
        behind.skip_space();
        if !behind.eat(b',') {
            return Ok(None);
        }
        behind.skip_space();
        let met = self.keys.met();
        if begin_member(&mut self.keys, &mut behind)? != KeyKind::TypeOf(id) {
            self.keys.go_back(met);
            return Ok(None);
        }
        self.values.declared.clear();
        self.values.declare(id, &mut behind, &self.keys)?;
        *parser = behind;
        Ok(self.values.declared_type(id, false))
    }

    /// Reads only the annotations.
    fn read_annotations(&mut self, text: &str) -> Result<(), EntityJsonError> {
        self.values.declared.clear();
        let mut parser = Parser::new(text);
        let mut more = parser.begin_object()?;
        while more {
            match begin_member(&mut self.keys, &mut parser)? {
                KeyKind::TypeOf(id) => self.values.declare(id, &mut parser, &self.keys)?,
                _ => parser.skip_value(&mut self.scratch)?,
            }
            more = parser.end_member()?;
        }
        Ok(parser.expect_end()?)
    }
}

/// Reads a key and its colon, up to the value.
#[inline]
fn begin_member(keys: &mut KeyCache, parser: &mut Parser<'_>) -> Result<KeyKind, EntityJsonError> {
    let kind = keys.read(parser)?;
    parser.skip_space();
    parser.expect(b':')?;
    parser.skip_space();
    Ok(kind)
}
