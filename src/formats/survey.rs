//! Which properties there are among some entities, for formats whose columns come first.

mod cells;

use std::sync::Arc;

pub(super) use self::cells::Cells;
use rowkey_model::rows::{PropertyId, PropertyNames, Rows};
use rowkey_model::{DateTime, EdmType, ValueRef};

/// The properties of some entities with their types: at least all that they have.
#[derive(Debug, Clone)]
pub struct Survey {
    names: Arc<PropertyNames>,
    /// By number of the property.
    found: Vec<Found>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Found {
    types: [bool; EdmType::ALL.len()],
    /// Some DateTime is no whole number of microseconds.
    ticks: bool,
}

/// One property of a [`Survey`].
#[derive(Debug, Clone)]
pub struct SurveyedProperty {
    /// Its number among the names of the survey.
    pub id: PropertyId,
    pub name: Arc<str>,
    /// In the order of their names.
    pub types: Vec<EdmType>,
    /// Some DateTime is no whole number of microseconds.
    pub ticks: bool,
}

impl Survey {
    /// A survey that has found nothing yet; properties are numbered by `names`.
    pub fn new(names: &Arc<PropertyNames>) -> Self {
        Self { names: Arc::clone(names), found: Vec::new() }
    }

    /// Takes note of a property in a type; `ticks` says whether it may have DateTimes between
    /// microseconds.
    pub fn note(&mut self, property: PropertyId, edm: EdmType, ticks: bool) {
        if self.found.len() <= property.index() {
            self.found.resize(property.index() + 1, Found::default());
        }
        let found = &mut self.found[property.index()];
        found.types[edm as usize] = true;
        found.ticks |= ticks;
    }

    /// Takes note of the properties of these entities, which are numbered by the same names.
    pub fn observe(&mut self, rows: &Rows) {
        for row in rows.iter() {
            for (id, value) in row.properties() {
                let ticks = matches!(value, ValueRef::DateTime(at) if DateTime::tick(at) != 0);
                self.note(id, value.edm_type(), ticks);
            }
        }
    }

    /// How the properties are numbered.
    pub fn names(&self) -> &Arc<PropertyNames> {
        &self.names
    }

    /// In the order of their names.
    pub fn properties(&self) -> Vec<SurveyedProperty> {
        let names = self.names.all();
        let numbered = (0..).map(PropertyId).zip(&names).zip(&self.found);
        let mut properties: Vec<SurveyedProperty> = numbered
            .filter(|(_, found)| found.types.contains(&true))
            .map(|((id, name), found)| SurveyedProperty {
                id,
                name: Arc::clone(name),
                types: EdmType::ALL.into_iter().filter(|edm| found.types[*edm as usize]).collect(),
                ticks: found.ticks,
            })
            .collect();
        properties.sort_by(|a, b| a.name.cmp(&b.name));
        properties
    }

    /// Properties found with more than one type.
    pub fn mixed(&self) -> Vec<Arc<str>> {
        self.properties()
            .into_iter()
            .filter(|property| property.types.len() > 1)
            .map(|property| property.name)
            .collect()
    }
}
