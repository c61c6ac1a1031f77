//! Which types were assumed where an input names none, and which ones its values look like.

use std::collections::HashMap;
use std::sync::Arc;

use super::convert;
use crate::model::EdmType;
use crate::rows::{PropertyId, PropertyNames, Rows, ValueRef};

/// Rows of a chunk that are looked at.
const SAMPLED_ROWS: usize = 64;
/// Longest text that is looked at.
const SAMPLED_BYTES: usize = 1 << 10;

/// A property whose type the input does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssumedType {
    pub property: Arc<str>,
    /// The types that its values were given, in the order of their names.
    pub assumed: Vec<EdmType>,
    /// A type that all values looked at could be as well, and that is more likely than the one assumed.
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

/// What values look like, by property.
#[derive(Debug, Clone, Default)]
pub(super) struct TypeSamples {
    by_property: HashMap<PropertyId, Sample>,
    /// True once a type was named: those that are not are Strings, Int32s, Doubles and Booleans indeed.
    typed: bool,
}

#[derive(Debug, Clone, Default)]
struct Sample {
    /// Bit n: values of the n-th type were seen.
    assumed: u8,
    /// Bit n: every text so far could be the n-th type. All bits at the beginning.
    not_like: u8,
    texts: u64,
    /// A text that only Binary would be written as.
    surely_binary: bool,
}

impl TypeSamples {
    /// Types are named after all.
    pub(super) fn set_typed(&mut self) {
        self.typed = true;
    }

    /// Looks at the first rows of a chunk, whose properties for which `known` is true have been given types by the user.
    pub(super) fn look_at(&mut self, rows: &Rows, typing: Typing, known: impl Fn(PropertyId) -> bool) {
        for row in rows.iter().take(SAMPLED_ROWS) {
            for (id, value) in row.properties().filter(|(id, _)| !known(*id)) {
                let sample = self.by_property.entry(id).or_default();
                sample.assumed |= 1 << value.edm_type() as u8;
                match value {
                    ValueRef::String(text) if !text.is_empty() => sample.look_at(text, typing),
                    _ => {}
                }
            }
        }
    }

    pub(super) fn add(&mut self, other: &TypeSamples) {
        self.typed |= other.typed;
        for (id, sample) in &other.by_property {
            let own = self.by_property.entry(*id).or_default();
            own.assumed |= sample.assumed;
            own.not_like |= sample.not_like;
            own.texts += sample.texts;
            own.surely_binary |= sample.surely_binary;
        }
    }

    pub(super) fn clear(&mut self) {
        self.by_property.clear();
    }

    /// What was assumed, in the order of the properties' names.
    pub(super) fn assumed(&self, names: &PropertyNames) -> Vec<AssumedType> {
        if self.typed {
            return Vec::new();
        }
        let assumed = |(id, sample): (&PropertyId, &Sample)| AssumedType {
            property: names.name(*id),
            assumed: EdmType::ALL.into_iter().filter(|edm_type| sample.assumed & 1 << *edm_type as u8 != 0).collect(),
            looks_like: sample.looks_like(),
        };
        let mut properties: Vec<AssumedType> = self.by_property.iter().map(assumed).collect();
        properties.sort_by(|a, b| a.property.cmp(&b.property));
        properties
    }
}

impl Sample {
    fn look_at(&mut self, text: &str, typing: Typing) {
        self.texts += 1;
        let candidates: &[EdmType] = match typing {
            Typing::TextOnly => &CANDIDATES,
            // Whoever writes JSON has numbers for numbers, except for Int64.
            Typing::ByForm | Typing::Exact => &[EdmType::Int64, EdmType::Guid, EdmType::DateTime, EdmType::Binary],
        };
        for &edm_type in &CANDIDATES {
            let like = text.len() <= SAMPLED_BYTES && candidates.contains(&edm_type) && is_like(text, edm_type);
            if !like {
                self.not_like |= 1 << edm_type as u8;
            }
        }
        self.surely_binary |= text.contains(['=', '/', '+']) || text.starts_with("b'") || text.starts_with("b\"");
    }

    fn looks_like(&self) -> Option<EdmType> {
        let seen = |edm_type: EdmType| self.assumed & 1 << edm_type as u8 != 0;
        if self.texts > 0 && self.assumed == 1 << EdmType::String as u8 {
            let like = |edm_type: &EdmType| {
                self.not_like & 1 << *edm_type as u8 == 0 && (*edm_type != EdmType::Binary || self.surely_binary)
            };
            return CANDIDATES.into_iter().find(like);
        }
        // Numbers of several types are one type that was written without what tells it.
        let numbers = [EdmType::Double, EdmType::Int64, EdmType::Int32];
        let others = numbers.iter().fold(self.assumed, |others, edm_type| others & !(1 << *edm_type as u8));
        if others != 0 || self.assumed.count_ones() < 2 {
            return None;
        }
        numbers.into_iter().find(|edm_type| seen(*edm_type))
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
            edm_type == EdmType::Double && digits.starts_with("0.") && convert::from_text(edm_type, text).is_ok()
        }
        EdmType::Int32 | EdmType::Int64 => {
            digits.bytes().all(|byte| byte.is_ascii_digit()) && convert::from_text(edm_type, text).is_ok()
        }
        EdmType::Boolean => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"),
        // "2024" alone is no date, and Binary of fewer than four bytes is any word.
        EdmType::Binary => text.len() >= 4 && convert::from_text(edm_type, text).is_ok(),
        _ => convert::from_text(edm_type, text).is_ok(),
    }
}

#[cfg(test)]
mod tests;
