//! Decoding the text of one entity into rows.

use std::borrow::Cow;
use std::sync::Arc;

use super::keys::{KeyCache, KeyKind};
use super::parser::{Number, Parser};
use crate::convert;
use crate::key_columns::key_option_of_its_own;
use crate::property_types::NumberedTypes;
use crate::reject_line::{RECORD, refused_record};
use rowkey_model::rows::{PropertyId, PropertyNames, RowBuilder, Rows, ValueRef};
use rowkey_model::{BINARY_BYTES_MAX, DateTime, EdmType, Rejected, STRING_UTF16_UNITS_MAX, Value};

/// Why an entity was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is JSON, and breaks a rule.
    Refused(String),
    /// A value is an array or an object, which the service's own never are.
    Nested(String),
    /// It is no JSON, from byte `at` of its text on.
    Syntax { at: usize, reason: String },
}

impl Fault {
    pub(super) fn into_reason(self) -> String {
        match self {
            Fault::Refused(reason) | Fault::Nested(reason) | Fault::Syntax { reason, .. } => reason,
        }
    }
}

impl From<Rejected> for Fault {
    fn from(rejected: Rejected) -> Self {
        Fault::Refused(rejected.to_string())
    }
}

/// Decodes entities, on one thread.
#[derive(Debug)]
pub(crate) struct EntityDecoder {
    keys: KeyCache,
    values: Values,
    /// True once annotations came behind their properties; then they are looked for right behind
    /// each, and where they are elsewhere, all of an entity are read before its properties.
    annotations_follow: bool,
    /// True once a type or another annotation of the service was met.
    is_typed: bool,
    scratch: String,
}

/// The annotation of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Declared {
    Type(EdmType),
    /// No type of the data model; an error only if there is a value.
    Unknown(String),
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
    Done,
    /// Annotations stand elsewhere than where they were looked for.
    AnnotationsLeft,
}

impl EntityDecoder {
    /// `types` overrule what an entity says.
    pub(super) fn new(names: &Arc<PropertyNames>, types: NumberedTypes) -> Self {
        Self {
            keys: KeyCache::new(names),
            values: Values { types, ..Values::default() },
            annotations_follow: false,
            is_typed: false,
            scratch: String::new(),
        }
    }

    /// One that also takes a Guid as base64 of its text, which is how Azurite stores it.
    pub(super) fn with_guids_in_base64(names: &Arc<PropertyNames>, types: NumberedTypes) -> Self {
        let mut decoder = Self::new(names, types);
        decoder.values.guids_in_base64 = true;
        decoder
    }

    /// True once a type or another annotation of the service was met: it names all types that JSON
    /// does not tell.
    pub(super) fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Appends the entity of `text` to `rows`; on a fault nothing is appended.
    pub(super) fn decode(&mut self, text: &str, rows: &mut Rows) -> Result<(), Fault> {
        self.decode_within(&System::default(), text, rows)
    }

    /// The same where system properties stand outside of `text`; they go before those in it.
    pub(super) fn decode_within(&mut self, outside: &System<'_>, text: &str, rows: &mut Rows) -> Result<(), Fault> {
        if !self.annotations_follow {
            self.values.declared.clear();
            match self.pass(outside, text, rows, Annotations::Before) {
                Ok(Pass::Done) => return Ok(()),
                Ok(Pass::AnnotationsLeft) => self.annotations_follow = true,
                // A value can break a rule only because its type was not known yet.
                Err(Fault::Refused(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        if self.annotations_follow {
            match self.pass(outside, text, rows, Annotations::RightBehind) {
                Ok(Pass::Done) => return Ok(()),
                // Here as well: the type of a value may stand further on.
                Ok(Pass::AnnotationsLeft) | Err(Fault::Refused(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        self.read_annotations(text)?;
        self.pass(outside, text, rows, Annotations::Known).map(|_| ())
    }

    /// Reads the whole entity.
    fn pass(
        &mut self,
        outside: &System<'_>,
        text: &str,
        rows: &mut Rows,
        annotations: Annotations,
    ) -> Result<Pass, Fault> {
        let names = Arc::clone(self.keys.names());
        let mut builder = rows.builder(&names);
        builder.begin();
        let mut parser = Parser::new(text);
        let mut system = System::default();
        let mut more = begin_object(&mut parser)?;
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
                KeyKind::PartitionKey => {
                    key_text(&mut system.partition, "PartitionKey", &mut parser, &mut self.scratch)?;
                }
                KeyKind::RowKey => key_text(&mut system.row, "RowKey", &mut parser, &mut self.scratch)?,
                KeyKind::Timestamp => system.read_timestamp(&mut parser, &mut self.scratch)?,
            }
            more = end_member(&mut parser)?;
        }
        parser.expect_end()?;
        if annotations == Annotations::Before && !self.values.declared.is_empty() {
            return Ok(Pass::AnnotationsLeft);
        }
        let partition = outside.partition.as_ref().or(system.partition.as_ref());
        let row = outside.row.as_ref().or(system.row.as_ref());
        if partition.is_none() && row.is_none() && self.is_metadata(text)? {
            return Ok(Pass::Done);
        }
        let Some(partition) = partition else { return Err(missing("PartitionKey")) };
        let Some(row) = row else { return Err(missing("RowKey")) };
        builder.finish(partition, row, outside.timestamp.or(system.timestamp))?;
        Ok(Pass::Done)
    }

    /// True if an object has members, and none that belongs to an entity.
    fn is_metadata(&mut self, text: &str) -> Result<bool, Fault> {
        let mut parser = Parser::new(text);
        let mut more = begin_object(&mut parser)?;
        let mut metadata = more;
        while more {
            let start = parser.clone();
            let kind = begin_member(&mut self.keys, &mut parser)?;
            metadata &= kind == KeyKind::Skipped;
            if kind == KeyKind::Skipped
                && let Some(record) = record_of_reject(start, &mut self.scratch)?
            {
                return Err(Fault::Refused(refused_record(&record)));
            }
            parser.skip_value(&mut self.scratch)?;
            more = end_member(&mut parser)?;
        }
        Ok(metadata)
    }

    /// Skips the value of a property and reads the annotation that comes right behind it, if one
    /// does.
    fn read_annotation_behind(&mut self, parser: &mut Parser<'_>, id: PropertyId) -> Result<Option<Declared>, Fault> {
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
    fn read_annotations(&mut self, text: &str) -> Result<(), Fault> {
        self.values.declared.clear();
        let mut parser = Parser::new(text);
        let mut more = begin_object(&mut parser)?;
        while more {
            match begin_member(&mut self.keys, &mut parser)? {
                KeyKind::TypeOf(id) => self.values.declare(id, &mut parser, &self.keys)?,
                _ => parser.skip_value(&mut self.scratch)?,
            }
            more = end_member(&mut parser)?;
        }
        parser.expect_end()
    }
}

/// The text of a member that stands in for an entity which was rejected, if this is one.
fn record_of_reject(mut parser: Parser<'_>, scratch: &mut String) -> Result<Option<String>, Fault> {
    if parser.string(scratch)? != RECORD {
        return Ok(None);
    }
    parser.skip_space();
    parser.expect(b':')?;
    parser.skip_space();
    match parser.peek() {
        Some(b'"') => Ok(Some(parser.string(scratch)?.to_owned())),
        _ => Ok(None),
    }
}

/// Reads an opening brace; true if a member follows.
pub(super) fn begin_object(parser: &mut Parser<'_>) -> Result<bool, Fault> {
    parser.skip_space();
    parser.expect(b'{')?;
    parser.skip_space();
    Ok(!parser.eat(b'}'))
}

/// Reads a key and its colon, up to the value.
#[inline]
fn begin_member(keys: &mut KeyCache, parser: &mut Parser<'_>) -> Result<KeyKind, Fault> {
    let kind = keys.read(parser)?;
    parser.skip_space();
    parser.expect(b':')?;
    parser.skip_space();
    Ok(kind)
}

/// Reads what is behind a value; true if another member follows.
#[inline]
pub(super) fn end_member(parser: &mut Parser<'_>) -> Result<bool, Fault> {
    parser.skip_space();
    if parser.eat(b',') {
        parser.skip_space();
        return Ok(true);
    }
    if parser.eat(b'}') { Ok(false) } else { Err(parser.unexpected("\",\" or \"}\"")) }
}

fn missing(key: &str) -> Fault {
    Fault::Refused(format!("the entity has no {key}"))
}

/// The system properties of an entity.
#[derive(Default)]
pub(super) struct System<'a> {
    pub(super) partition: Option<Cow<'a, str>>,
    pub(super) row: Option<Cow<'a, str>>,
    has_timestamp: bool,
    pub(super) timestamp: Option<DateTime>,
}

impl System<'_> {
    fn read_timestamp(&mut self, parser: &mut Parser<'_>, scratch: &mut String) -> Result<(), Fault> {
        if std::mem::replace(&mut self.has_timestamp, true) {
            return Err(twice("Timestamp"));
        }
        match parser.peek() {
            Some(b'"') => {
                let text = parser.string(scratch)?;
                self.timestamp = Some(DateTime::parse(text).map_err(|rejected| rejected.named("Timestamp"))?);
                Ok(())
            }
            Some(b'n') => parser.skip_value(scratch),
            _ => Err(Fault::Refused("Timestamp is written as a string".to_owned())),
        }
    }
}

/// Reads PartitionKey or RowKey.
pub(super) fn key_text<'a>(
    to: &mut Option<Cow<'a, str>>,
    what: &str,
    parser: &mut Parser<'a>,
    scratch: &mut String,
) -> Result<(), Fault> {
    if to.is_some() {
        return Err(twice(what));
    }
    if parser.peek() != Some(b'"') {
        let is_number = matches!(parser.peek(), Some(b'-' | b'0'..=b'9'));
        return Err(no_key_text(what, is_number));
    }
    *to = Some(match parser.plain_string() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(parser.string(scratch)?.to_owned()),
    });
    Ok(())
}

/// The fault of a key that is no text.
pub(crate) fn no_key_text(key: &str, is_number: bool) -> Fault {
    Fault::Refused(match is_number {
        true => format!("{key} is a string, and this is a number; {}", key_option_of_its_own(key)),
        false => format!("{key} is a string and never null"),
    })
}

pub(crate) fn twice(what: &str) -> Fault {
    Fault::Refused(format!("{what} occurs twice"))
}

/// Reads property values and their annotations.
#[derive(Debug, Default)]
struct Values {
    /// Annotations not yet used.
    declared: Vec<(PropertyId, Declared)>,
    guids_in_base64: bool,
    /// Types that overrule annotations and forms.
    types: NumberedTypes,
    scratch: String,
}

impl Values {
    /// Reads an annotation.
    fn declare(&mut self, id: PropertyId, parser: &mut Parser<'_>, keys: &KeyCache) -> Result<(), Fault> {
        if parser.peek() != Some(b'"') {
            return Err(Fault::Refused(format!("the type of property {} is not a string", keys.name(id))));
        }
        let name = parser.string(&mut self.scratch)?;
        let declared = match EdmType::parse(name) {
            Some(edm_type) => Declared::Type(edm_type),
            None => Declared::Unknown(name.to_owned()),
        };
        if self.declared.iter().any(|(other, _)| *other == id) {
            return Err(twice(&format!("the type of property {}", keys.name(id))));
        }
        self.declared.push((id, declared));
        Ok(())
    }

    /// The annotation of a property; unless `keep`, it is used up.
    fn declared_type(&mut self, id: PropertyId, keep: bool) -> Option<Declared> {
        let at = self.declared.iter().rposition(|(other, _)| *other == id)?;
        if keep { Some(self.declared[at].1.clone()) } else { Some(self.declared.swap_remove(at).1) }
    }

    /// Reads the value of a property and sets it.
    #[inline]
    fn set(
        &mut self,
        builder: &mut RowBuilder<'_>,
        parser: &mut Parser<'_>,
        id: PropertyId,
        declared: Option<Declared>,
        keys: &KeyCache,
    ) -> Result<(), Fault> {
        if let Some(wanted) = self.types.get(id) {
            return self.set_as(wanted, builder, parser, id, keys);
        }
        let edm_type = match declared {
            None => None,
            Some(Declared::Type(edm_type)) => Some(edm_type),
            Some(Declared::Unknown(name)) => {
                if parser.peek() == Some(b'n') {
                    return parser.skip_value(&mut self.scratch);
                }
                let shown: String = name.chars().take(40).collect();
                let reason = format!("property {} has the type \"{}\"", keys.name(id), shown.escape_debug());
                return Err(Fault::Refused(format!("{reason}, which is none of the service's")));
            }
        };
        let named = |rejected: Rejected| Fault::from(rejected.named(format!("property {}", keys.name(id))));
        match parser.peek() {
            Some(b'"') => {
                let text = parser.string(&mut self.scratch)?;
                match edm_type {
                    None | Some(EdmType::String) => {
                        if text.len() > STRING_UTF16_UNITS_MAX {
                            match edm_type {
                                None => convert::validate_untyped_text(&keys.name(id), text)?,
                                Some(_) => Value::String(text.to_owned()).validate(&keys.name(id))?,
                            }
                        }
                        builder.set(id, ValueRef::String(text));
                    }
                    Some(edm_type) => {
                        let in_base64 = edm_type == EdmType::Guid && self.guids_in_base64;
                        let value = match in_base64.then(|| guid_in_base64(text)).flatten() {
                            Some(guid) => guid,
                            None => Value::from_text(edm_type, text).map_err(named)?,
                        };
                        if matches!(&value, Value::Binary(bytes) if bytes.len() > BINARY_BYTES_MAX) {
                            value.validate(&keys.name(id))?;
                        }
                        builder.set(id, ValueRef::from(&value));
                    }
                }
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                let number = parser.number()?;
                let value = match edm_type {
                    None => number_value(number).map_err(named)?,
                    Some(edm_type) if edm_type.is_numeric() => {
                        Value::from_text(edm_type, number.text).map_err(named)?
                    }
                    Some(edm_type) => return Err(wrong_form(&keys.name(id), edm_type, "a number")),
                };
                builder.set(id, ValueRef::from(&value));
                Ok(())
            }
            Some(b'{') => Err(nested(&keys.name(id), "an object")),
            Some(b'[') => Err(nested(&keys.name(id), "an array")),
            _ => {
                let Some(value) = parser.literal()? else { return Ok(()) };
                if let Some(edm_type) = edm_type.filter(|edm_type| *edm_type != EdmType::Boolean) {
                    return Err(wrong_form(&keys.name(id), edm_type, "a boolean"));
                }
                builder.set(id, ValueRef::Boolean(value));
                Ok(())
            }
        }
    }
}

impl Values {
    /// Reads the value of a property and sets it as one of the type that the user wants.
    fn set_as(
        &mut self,
        wanted: EdmType,
        builder: &mut RowBuilder<'_>,
        parser: &mut Parser<'_>,
        id: PropertyId,
        keys: &KeyCache,
    ) -> Result<(), Fault> {
        let value = match parser.peek() {
            Some(b'"') => {
                let text = parser.string(&mut self.scratch)?;
                let in_base64 = wanted == EdmType::Guid && self.guids_in_base64;
                match in_base64.then(|| guid_in_base64(text)).flatten() {
                    Some(guid) => Ok(guid),
                    None => convert::wanted(wanted, text),
                }
            }
            Some(b'-' | b'0'..=b'9') => {
                let number = parser.number()?;
                match wanted {
                    EdmType::String => Ok(Value::String(number.text.to_owned())),
                    _ if wanted.is_numeric() => convert::wanted(wanted, number.text),
                    _ => number_value(number).and_then(|value| convert::convert(ValueRef::from(&value), wanted)),
                }
            }
            Some(b'{') => return Err(nested(&keys.name(id), "an object")),
            Some(b'[') => return Err(nested(&keys.name(id), "an array")),
            _ => match parser.literal()? {
                Some(value) => convert::convert(ValueRef::Boolean(value), wanted),
                None => return Ok(()),
            },
        };
        let value = value.map_err(|rejected| rejected.named(format!("property {}", keys.name(id))))?;
        value.validate(&keys.name(id))?;
        builder.set(id, ValueRef::from(&value));
        Ok(())
    }
}

/// A Guid from base64 of its text.
fn guid_in_base64(text: &str) -> Option<Value> {
    if text.len() != GUID_IN_BASE64_BYTES {
        return None;
    }
    let Ok(Value::Binary(guid)) = Value::from_text(EdmType::Binary, text) else { return None };
    Value::from_text(EdmType::Guid, std::str::from_utf8(&guid).ok()?).ok()
}

/// The 36 characters of a Guid in base64.
const GUID_IN_BASE64_BYTES: usize = 48;

/// Int32 if it is an integer in range, else Int64 if it is one in range, else Double.
fn number_value(number: Number<'_>) -> Result<Value, Rejected> {
    if number.is_integer
        && let Ok(value) = number.text.parse::<i64>()
    {
        return Ok(i32::try_from(value).map_or(Value::Int64(value), Value::Int32));
    }
    Value::from_text(EdmType::Double, number.text)
}

/// The same for a number's text.
pub(crate) fn unannotated_number(text: &str) -> Result<Value, Rejected> {
    number_value(Number { text, is_integer: !text.contains(['.', 'e', 'E']) })
}

fn wrong_form(property: &str, edm_type: EdmType, form: &str) -> Fault {
    Fault::Refused(format!("property {property} is annotated as Edm.{edm_type} and has {form}"))
}

fn nested(property: &str, what: &str) -> Fault {
    Fault::Nested(format!("property {property} has {what}; values of entities are not nested"))
}
