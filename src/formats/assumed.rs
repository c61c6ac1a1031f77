//! Which types were assumed where an input names none, and which ones its values look like.

use std::sync::Arc;

use super::convert;
use rowkey_model::rows::{PropertyId, PropertyNames, Rows};
use rowkey_model::{EdmType, ValueRef};

/// Longest text that is looked at, except for Binary.
const LOOKED_AT_BYTES: usize = 1 << 10;
/// Most properties that are looked at: those that were met first.
const PROPERTIES_MAX: usize = 1 << 14;

/// A property whose type the input does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssumedType {
    pub property: Arc<str>,
    /// The types that its values were given, in the order of their names.
    pub assumed: Vec<EdmType>,
    /// A type that all values looked at could be as well, and that is more likely than the one
    /// assumed.
    pub looks_like: Option<EdmType>,
}

/// Which types an input names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Typing {
    /// Each value's: there is nothing to assume.
    #[default]
    Exact,
    /// Those of numbers and truth values, by their form in JSON.
    ByForm,
    /// None at all.
    TextOnly,
}

/// What all values seen look like, by property.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeSamples {
    /// By the properties' numbers.
    by_property: Vec<Sample>,
    /// True once a type was named: those that are not are Strings, Int32s, Doubles and Booleans
    /// indeed.
    typed: bool,
}

/// Which types the values of a property were given and could have had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sample {
    /// Bit n: values of the n-th type were seen.
    assumed: u8,
    /// Bit n: some value is surely not of the n-th type, as which it could not be read.
    not_like: u8,
    has_text: bool,
    /// A text that only Binary would be written as.
    surely_binary: bool,
}

const _: () = assert!(EdmType::ALL.len() <= u8::BITS as usize, "a byte has a bit for each type");

fn bit(edm_type: EdmType) -> u8 {
    1 << edm_type as u8
}

impl TypeSamples {
    /// Types are named after all.
    pub(super) fn set_typed(&mut self) {
        self.typed = true;
    }

    /// Looks at all values of rows but those of properties for which `known` is true, which have
    /// been given types by the user.
    pub(super) fn look_at(&mut self, rows: &Rows, typing: Typing, known: impl Fn(PropertyId) -> bool) {
        for (id, value) in rows.iter().flat_map(|row| row.properties()) {
            if known(id) || id.index() >= PROPERTIES_MAX {
                continue;
            }
            if self.by_property.len() <= id.index() {
                self.by_property.resize(id.index() + 1, Sample::default());
            }
            let sample = &mut self.by_property[id.index()];
            sample.assumed |= bit(value.edm_type());
            match value {
                ValueRef::String(text) if !text.is_empty() => sample.look_at(text, typing),
                ValueRef::Int64(number) if convert::exact_double(number).is_none() => {
                    sample.not_like |= bit(EdmType::Double);
                }
                _ => {}
            }
        }
    }

    /// Adds what was seen of others, of properties with the same numbers.
    pub fn add(&mut self, other: &TypeSamples) {
        self.typed |= other.typed;
        if self.by_property.len() < other.by_property.len() {
            self.by_property.resize(other.by_property.len(), Sample::default());
        }
        for (own, sample) in self.by_property.iter_mut().zip(&other.by_property) {
            own.assumed |= sample.assumed;
            own.not_like |= sample.not_like;
            own.has_text |= sample.has_text;
            own.surely_binary |= sample.surely_binary;
        }
    }

    /// Nothing if types were named, else all.
    pub(super) fn untyped(self) -> Self {
        if self.typed { Self::default() } else { self }
    }

    /// What was assumed, in the order of the properties' names.
    pub fn assumed(&self, names: &PropertyNames) -> Vec<AssumedType> {
        let names = names.all();
        let seen = names.iter().zip(&self.by_property).filter(|(_, sample)| sample.assumed != 0);
        let assumed = |(name, sample): (&Arc<str>, &Sample)| AssumedType {
            property: Arc::clone(name),
            assumed: EdmType::ALL.into_iter().filter(|edm_type| sample.assumed & bit(*edm_type) != 0).collect(),
            looks_like: sample.looks_like(),
        };
        let mut properties: Vec<AssumedType> = seen.map(assumed).collect();
        properties.sort_by(|a, b| a.property.cmp(&b.property));
        properties
    }
}

impl Sample {
    fn look_at(&mut self, text: &str, typing: Typing) {
        self.has_text = true;
        self.not_like |= match typing {
            Typing::TextOnly => 0,
            // JSON has literals for these; of numbers only an Int64 is written as text.
            Typing::ByForm | Typing::Exact => bit(EdmType::Boolean) | bit(EdmType::Int32) | bit(EdmType::Double),
        };
        // Types once contradicted stay so, and every Int32 is an Int64 and a Double.
        let mut surely_like = 0;
        for edm_type in CANDIDATES {
            if (self.not_like | surely_like) & bit(edm_type) != 0 {
                continue;
            }
            let is_short = text.len() <= LOOKED_AT_BYTES || edm_type == EdmType::Binary;
            if !is_short || !is_like(text, edm_type) {
                self.not_like |= bit(edm_type);
            } else if edm_type == EdmType::Int32 {
                surely_like = bit(EdmType::Int64) | bit(EdmType::Double);
            }
        }
        if !self.surely_binary && self.not_like & bit(EdmType::Binary) == 0 {
            self.surely_binary = text.contains(['=', '/', '+']) || text.starts_with("b'") || text.starts_with("b\"");
        }
    }

    fn looks_like(&self) -> Option<EdmType> {
        let could_be = |edm_type: &EdmType| self.not_like & bit(*edm_type) == 0;
        if self.has_text && self.assumed == bit(EdmType::String) {
            let like = |edm_type: &EdmType| could_be(edm_type) && (*edm_type != EdmType::Binary || self.surely_binary);
            return CANDIDATES.into_iter().find(like);
        }
        // Numbers of several types are one type that was written without what tells it: the widest,
        // if it holds them all.
        let numbers = [EdmType::Double, EdmType::Int64, EdmType::Int32];
        let others = numbers.iter().fold(self.assumed, |others, edm_type| others & !bit(*edm_type));
        if others != 0 || self.assumed.count_ones() < 2 {
            return None;
        }
        numbers.into_iter().find(|edm_type| self.assumed & bit(*edm_type) != 0).filter(could_be)
    }
}

/// The more special type comes first.
const CANDIDATES: [EdmType; 7] = [
    EdmType::Boolean,
    EdmType::Int32,
    EdmType::Int64,
    EdmType::Double,
    EdmType::Guid,
    EdmType::DateTime,
    EdmType::Binary,
];

fn is_like(text: &str, edm_type: EdmType) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match edm_type {
        // Leading zeros are part of a code or a number of a telephone.
        EdmType::Int32 | EdmType::Int64 | EdmType::Double if digits.len() > 1 && digits.starts_with('0') => {
            edm_type == EdmType::Double && digits.starts_with("0.") && convert::wanted(edm_type, text).is_ok()
        }
        EdmType::Int32 | EdmType::Int64 => {
            digits.bytes().all(|byte| byte.is_ascii_digit()) && convert::from_text(edm_type, text).is_ok()
        }
        EdmType::Boolean => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"),
        // "2024" alone is no date, and Binary of fewer than four bytes is any word.
        EdmType::Binary => text.len() >= 4 && convert::from_text(edm_type, text).is_ok(),
        _ => convert::wanted(edm_type, text).is_ok(),
    }
}

#[cfg(test)]
mod tests;
