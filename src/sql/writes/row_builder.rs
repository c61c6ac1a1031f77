//! A row of the target table while a statement builds it.

use std::sync::Arc;

use super::target::{Takes, Target, TargetColumn, violated};
use rowkey_base::{Error, Result, SqlState, Violated};
use rowkey_model::{EdmType, Entity, Key, Value};
use rowkey_storage::Properties;

/// Builds the key and the properties of an entity from the values that are assigned to columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct TargetRowBuilder {
    partition: Option<String>,
    row: Option<String>,
    pub properties: Properties,
    /// Properties that the statement has assigned a value to.
    assigned: Vec<Arc<str>>,
}

impl TargetRowBuilder {
    /// Begins with what an entity has.
    pub(crate) fn of(entity: &Entity) -> Self {
        Self {
            partition: Some(entity.key.partition.clone()),
            row: Some(entity.key.row.clone()),
            properties: entity.parts().to_vec(),
            assigned: Vec::new(),
        }
    }

    /// Begins with nothing, with room for so many columns.
    pub(crate) fn with_capacity(columns: usize) -> Self {
        Self { properties: Vec::with_capacity(columns), assigned: Vec::with_capacity(columns), ..Self::default() }
    }

    /// Assigns a value to a column. NULL removes the property; in a column of one type, only a
    /// value of that type. Fails where two columns of one property are assigned values.
    pub(crate) fn assign(&mut self, column: &TargetColumn, value: Option<Value>) -> Result<()> {
        let property = match (&column.takes, value) {
            (Takes::PartitionKey, value) => {
                self.partition = text(value);
                return Ok(());
            }
            (Takes::RowKey, value) => {
                self.row = text(value);
                return Ok(());
            }
            (Takes::Timestamp | Takes::Etag | Takes::Ticks { .. } | Takes::Other, None) => return Ok(()),
            (Takes::Timestamp | Takes::Etag | Takes::Ticks { .. } | Takes::Other, Some(_)) => {
                return column.check_written(false);
            }
            (Takes::Typed { property, edm, beside }, None) => {
                let is_assigned = self.assigned.contains(property);
                let is_shown = |own: EdmType| if *beside { own == *edm } else { own.widens_to(*edm) };
                self.properties.retain(|(name, value)| is_assigned || name != property || !is_shown(value.edm_type()));
                return Ok(());
            }
            (Takes::Widened { property }, None) => {
                let is_assigned = self.assigned.contains(property);
                self.properties.retain(|(name, _)| is_assigned || name != property);
                return Ok(());
            }
            (Takes::Typed { property, .. } | Takes::Widened { property }, Some(value)) => (property, value),
        };
        let (property, value) = property;
        if self.assigned.contains(property) {
            let message = format!("property \"{property}\" is given several values: it has one, of one type");
            return Err(Error::new(SqlState::INVALID_STATEMENT, message).with_hint(format!(
                "set one of the columns of property \"{property}\" and leave the others, or set them to NULL"
            )));
        }
        self.assigned.push(Arc::clone(property));
        match self.properties.iter_mut().find(|(name, _)| name == property) {
            Some((_, stored)) => *stored = value,
            None => self.properties.push((Arc::clone(property), value)),
        }
        Ok(())
    }

    /// The key; fails with `NOT_NULL_VIOLATION` where a part was not assigned.
    pub(crate) fn key(&self, target: &Target) -> Result<Key> {
        let missing = match (&self.partition, &self.row) {
            (Some(partition), Some(row)) => return Ok(Key::new(partition.as_str(), row.as_str())),
            (None, _) => "PartitionKey",
            (_, None) => "RowKey",
        };
        let message = format!(
            "null value in column \"{missing}\" of relation \"{}\" violates not-null constraint",
            target.name()
        );
        let shown = |part: &Option<String>| part.clone().unwrap_or_else(|| "null".to_owned());
        let detail = format!("Failing row contains ({}, {}, ...).", shown(&self.partition), shown(&self.row));
        let column = Some(missing.to_owned());
        let violated = Violated { column, ..violated(target.name()) };
        Err(Error::new(SqlState::NOT_NULL_VIOLATION, message).with_detail(detail).violating(violated))
    }

    /// The same, taken out: of the row, the properties alone are left.
    pub(crate) fn take_key(&mut self, target: &Target) -> Result<Key> {
        match (self.partition.take(), self.row.take()) {
            (Some(partition), Some(row)) => Ok(Key::new(partition, row)),
            (partition, row) => {
                (self.partition, self.row) = (partition, row);
                self.key(target)
            }
        }
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        properties_bytes(&self.properties) + 160
    }
}

/// About how much memory properties take, in bytes.
pub(crate) fn properties_bytes(properties: &[(Arc<str>, Value)]) -> u64 {
    properties.iter().map(|(_, value)| value_bytes(value) + 48).sum()
}

/// What a value takes beside its place, in bytes.
pub(crate) fn value_bytes(value: &Value) -> u64 {
    match value {
        Value::Binary(bytes) => bytes.len() as u64,
        Value::String(text) => text.len() as u64,
        _ => 0,
    }
}

fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
        None => None,
    }
}
