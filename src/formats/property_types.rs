//! Types that the user names for properties, which overrule what an input says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::convert;
use rowkey_model::rows::{PropertyId, PropertyNames};
use rowkey_model::{EdmType, validate_property_name};

/// Types of properties by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PropertyTypes {
    types: BTreeMap<Arc<str>, EdmType>,
}

impl PropertyTypes {
    /// Reads `At=Edm.DateTime,Count=Int64`, also on several lines; blank lines and those that begin
    /// with `#` say nothing. The error is the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut types = Self::default();
        types.extend(text)?;
        Ok(types)
    }

    /// Reads more of them; what was said before is overruled.
    pub fn extend(&mut self, text: &str) -> Result<(), String> {
        let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.starts_with('#'));
        for entry in lines.flat_map(|line| line.split(',')).map(str::trim).filter(|entry| !entry.is_empty()) {
            let shown = entry.escape_debug();
            let Some((property, name)) = entry.rsplit_once('=') else {
                return Err(format!("\"{shown}\" is no type of a property; one is written as Name=Edm.Int64"));
            };
            let (property, name) = (property.trim(), name.trim());
            if matches!(property, "PartitionKey" | "RowKey" | "Timestamp") {
                return Err(format!("\"{shown}\": the type of {property} is fixed"));
            }
            validate_property_name(property).map_err(|rejected| rejected.to_string())?;
            let Some(edm_type) = convert::type_named(name) else {
                let names = EdmType::ALL.map(EdmType::name).join(", ");
                return Err(format!(
                    "\"{shown}\": there is no type \"{}\"; the types are {names}",
                    name.escape_debug()
                ));
            };
            self.types.insert(property.into(), edm_type);
        }
        Ok(())
    }

    /// Sets the type of a property.
    pub fn insert(&mut self, property: &str, edm_type: EdmType) {
        self.types.insert(property.into(), edm_type);
    }

    /// The type of a property, if one was set.
    pub fn get(&self, property: &str) -> Option<EdmType> {
        self.types.get(property).copied()
    }

    /// Whether no type was set.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// The same by the properties' numbers.
    pub(super) fn numbered(&self, names: &PropertyNames) -> NumberedTypes {
        let mut types = Vec::new();
        for (property, edm_type) in &self.types {
            let at = names.intern(property).index();
            if types.len() <= at {
                types.resize(at + 1, None);
            }
            types[at] = Some(*edm_type);
        }
        NumberedTypes(types.into_iter().map(|edm_type| Numbered { edm_type, met: AtomicBool::new(false) }).collect())
    }

    /// The properties with a type.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.types.keys()
    }
}

/// Types of properties by number; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct NumberedTypes(Arc<[Numbered]>);

#[derive(Debug)]
struct Numbered {
    edm_type: Option<EdmType>,
    /// True once it was asked for: the property occurs.
    met: AtomicBool,
}

impl NumberedTypes {
    /// The type of a property that occurs.
    #[inline]
    pub(super) fn get(&self, property: PropertyId) -> Option<EdmType> {
        let numbered = self.0.get(property.index())?;
        // Written once, so that threads do not take the line from each other.
        if numbered.edm_type.is_some() && !numbered.met.load(Ordering::Relaxed) {
            numbered.met.store(true, Ordering::Relaxed);
        }
        numbered.edm_type
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of those that were asked for.
    pub(super) fn met(&self, names: &PropertyNames) -> Vec<Arc<str>> {
        let met = (0..).map(PropertyId).zip(&*self.0).filter(|(_, numbered)| numbered.met.load(Ordering::Relaxed));
        met.map(|(id, _)| names.name(id)).collect()
    }
}

#[cfg(test)]
mod tests;
