//! Reading the values of properties and their annotations.

use super::error::{EntityJsonError, twice};
use super::keys::KeyCache;
use super::rules::Rules;
use crate::convert;
use crate::json::{Number, Parser};
use crate::property_types::NumberedTypes;
use rowkey_model::rows::{PropertyId, RowBuilder};
use rowkey_model::{BINARY_BYTES_MAX, DateTime, EdmType, Rejected, STRING_UTF16_UNITS_MAX, Value, ValueRef};

/// The annotation of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Declared {
    Type(EdmType),
    /// No type of the data model; an error only if there is a value.
    Unknown(String),
}

/// Refuses a text of a property, by its name, that has no annotation and is longer than a String.
pub(super) type CheckText = fn(&str, &str) -> Result<(), Rejected>;

/// Reads property values and their annotations.
#[derive(Debug)]
pub(super) struct Values {
    rules: Rules,
    /// Types that overrule annotations and forms.
    types: NumberedTypes,
    check_text: CheckText,
    pub(super) guids_in_base64: bool,
    /// Annotations not yet used.
    pub(super) declared: Vec<(PropertyId, Declared)>,
    /// Properties of a request that are null: absent, but named.
    pub(super) nulls: Vec<PropertyId>,
    scratch: String,
}

impl Values {
    pub(super) fn new(rules: Rules, types: NumberedTypes, check_text: CheckText) -> Self {
        let (declared, nulls) = (Vec::new(), Vec::new());
        Self { rules, types, check_text, guids_in_base64: false, declared, nulls, scratch: String::new() }
    }

    /// Refuses a request that names a property as null and once more.
    pub(super) fn refuse_twice(&mut self, builder: &RowBuilder<'_>, keys: &KeyCache) -> Result<(), EntityJsonError> {
        if self.nulls.is_empty() {
            return Ok(());
        }
        self.nulls.sort_unstable();
        let again = self.nulls.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let again = again.or_else(|| builder.properties_set().find(|id| self.nulls.binary_search(id).is_ok()));
        again.map_or(Ok(()), |id| Err(twice(&format!("property {}", keys.name(id)))))
    }

    fn set_null(&mut self, id: PropertyId) {
        if self.rules == Rules::Request {
            self.nulls.push(id);
        }
    }

    /// Reads an annotation.
    pub(super) fn declare(
        &mut self,
        id: PropertyId,
        parser: &mut Parser<'_>,
        keys: &KeyCache,
    ) -> Result<(), EntityJsonError> {
        if parser.peek() != Some(b'"') {
            return Err(EntityJsonError::Refused(format!("the type of property {} is not a string", keys.name(id))));
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
    pub(super) fn declared_type(&mut self, id: PropertyId, keep: bool) -> Option<Declared> {
        let at = self.declared.iter().rposition(|(other, _)| *other == id)?;
        if keep { Some(self.declared[at].1.clone()) } else { Some(self.declared.swap_remove(at).1) }
    }

    /// Reads the value of a property and sets it.
    #[inline]
    pub(super) fn set(
        &mut self,
        builder: &mut RowBuilder<'_>,
        parser: &mut Parser<'_>,
        id: PropertyId,
        declared: Option<Declared>,
        keys: &KeyCache,
    ) -> Result<(), EntityJsonError> {
        if let Some(wanted) = self.types.get(id) {
            return self.set_as(wanted, builder, parser, id, keys);
        }
        let edm_type = match declared {
            None => None,
            Some(Declared::Type(edm_type)) => Some(edm_type),
            Some(Declared::Unknown(name)) => {
                if parser.peek() == Some(b'n') {
                    self.set_null(id);
                    return Ok(parser.skip_value(&mut self.scratch)?);
                }
                let shown: String = name.chars().take(40).collect();
                let reason = format!("property {} has the type \"{}\"", keys.name(id), shown.escape_debug());
                return Err(EntityJsonError::Refused(format!("{reason}, which is none of the service's")));
            }
        };
        let named = |rejected: Rejected| EntityJsonError::from(rejected.named(format!("property {}", keys.name(id))));
        match parser.peek() {
            Some(b'"') => {
                let text = parser.string(&mut self.scratch)?;
                match edm_type {
                    None | Some(EdmType::String) => {
                        if text.len() > STRING_UTF16_UNITS_MAX {
                            let check_text = if edm_type.is_none() { self.check_text } else { validate_text };
                            check_text(&keys.name(id), text)?;
                        }
                        builder.set(id, ValueRef::String(text));
                    }
                    Some(edm_type) => {
                        let in_base64 = edm_type == EdmType::Guid && self.guids_in_base64;
                        let value = match in_base64.then(|| guid_in_base64(text)).flatten() {
                            Some(guid) => guid,
                            // As clients write it, who may leave out what is zero.
                            None if edm_type == EdmType::DateTime => {
                                Value::DateTime(DateTime::parse_odata(text).map_err(named)?)
                            }
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
                    None => number_value(number, self.rules).map_err(named)?,
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
                let Some(value) = parser.literal()? else {
                    self.set_null(id);
                    return Ok(());
                };
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
    ) -> Result<(), EntityJsonError> {
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
                    _ => number_value(number, self.rules)
                        .and_then(|value| convert::convert(ValueRef::from(&value), wanted)),
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

/// Int32 if it is an integer in range, else Double (section 1.5 of the Table service's
/// specification; of integers beyond Int32 it is unconfirmed); by [`Rules::Answer`] Int64 before
/// that.
fn number_value(number: Number<'_>, rules: Rules) -> Result<Value, Rejected> {
    if number.is_integer
        && let Ok(value) = number.text.parse::<i64>()
    {
        match i32::try_from(value) {
            Ok(value) => return Ok(Value::Int32(value)),
            Err(_) if rules == Rules::Answer => return Ok(Value::Int64(value)),
            Err(_) => {}
        }
    }
    Value::from_text(EdmType::Double, number.text)
}

/// A number of an answer without an annotation, from its text.
pub(crate) fn unannotated_number(text: &str) -> Result<Value, Rejected> {
    number_value(Number { text, is_integer: !text.contains(['.', 'e', 'E']) }, Rules::Answer)
}

/// Refuses a text that is longer than a String.
pub(super) fn validate_text(property: &str, text: &str) -> Result<(), Rejected> {
    Value::String(text.to_owned()).validate(property)
}

fn wrong_form(property: &str, edm_type: EdmType, form: &str) -> EntityJsonError {
    EntityJsonError::Refused(format!("property {property} is annotated as Edm.{edm_type} and has {form}"))
}

fn nested(property: &str, what: &str) -> EntityJsonError {
    EntityJsonError::Nested(format!("property {property} has {what}; values of entities are not nested"))
}
