//! Least and greatest of values of one type.

use std::cmp::Ordering;

use rowkey_model::{EdmType, Value};

/// Longest text of a bound, in bytes, as in the manifest.
const BOUND_BYTES_MAX: usize = 64;
/// A text cut at [`BOUND_BYTES_MAX`], at the beginning of a character, is longer than this.
const WHOLE_BYTES_MAX: usize = BOUND_BYTES_MAX - 4;

/// Bounds of values of one type. Texts are cut, and the cut of the least is the least of the cuts.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    min: Option<Value>,
    max: Option<Value>,
}

impl Bounds {
    pub(super) fn add(&mut self, value: Value) {
        let value = match value {
            Value::String(mut text) => {
                text.truncate(text.floor_char_boundary(BOUND_BYTES_MAX));
                Value::String(text)
            }
            // As in the manifest: bytes have no bounds, and no number is less or greater than NaN.
            Value::Binary(_) => return,
            Value::Double(number) if number.is_nan() => return,
            value => value,
        };
        if self.min.as_ref().is_none_or(|min| order(&value, min).is_lt()) {
            self.min = Some(value.clone());
        }
        if self.max.as_ref().is_none_or(|max| order(&value, max).is_gt()) {
            self.max = Some(value);
        }
    }

    /// Whether no text was cut.
    pub(super) fn are_whole(&self) -> bool {
        let whole = |bound: &Option<Value>| match bound {
            Some(Value::String(text)) => text.len() <= WHOLE_BYTES_MAX,
            _ => true,
        };
        whole(&self.min) && whole(&self.max)
    }

    /// In canonical text.
    pub(super) fn min(&self) -> Option<String> {
        self.min.as_ref().map(Value::to_string)
    }

    pub(super) fn max(&self) -> Option<String> {
        self.max.as_ref().map(Value::to_string)
    }
}

/// The manifest keeps the bounds of both integer types in the wider one.
pub(super) fn bound_type(edm: EdmType) -> EdmType {
    if edm == EdmType::Int32 { EdmType::Int64 } else { edm }
}

/// The order of values of one type; values of different types are not compared here.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::Guid(a), Value::Guid(b)) => a.cmp(b),
        (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
        (Value::Int64(a), Value::Int64(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(values: impl IntoIterator<Item = Value>) -> (Option<String>, Option<String>, bool) {
        let mut bounds = Bounds::default();
        values.into_iter().for_each(|value| bounds.add(value));
        (bounds.min(), bounds.max(), bounds.are_whole())
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let found = bounds([9, 10, -3].map(Value::Int64));
        assert_eq!(found, (Some("-3".to_owned()), Some("10".to_owned()), true));
        let found = bounds([2.5, f64::NAN, -0.5].map(Value::Double));
        assert_eq!(found, (Some("-0.5".to_owned()), Some("2.5".to_owned()), true));
        assert_eq!(bounds([Value::Binary(vec![1])]), (None, None, true));
        assert_eq!(bounds([]), (None, None, true));
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let text = |c: char, count: usize| Value::String(c.to_string().repeat(count));
        let (min, max, whole) = bounds([text('b', 100), text('a', 60)]);
        assert_eq!((min.map(|text| text.len()), max.map(|text| text.len()), whole), (Some(60), Some(64), false));
        assert!(bounds([text('a', 60)]).2);
        assert!(!bounds([text('語', 30)]).2, "cut at 63 bytes, before a character");
    }
}
