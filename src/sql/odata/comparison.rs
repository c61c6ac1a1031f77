//! One comparison of a property with a literal.

use std::cmp::Ordering;

use rowkey_model::{EdmType, Value, ValueRef};

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    pub(super) const ALL: [(&'static str, Self); 6] = [
        ("eq", Self::Equal),
        ("ne", Self::NotEqual),
        ("lt", Self::Less),
        ("le", Self::LessOrEqual),
        ("gt", Self::Greater),
        ("ge", Self::GreaterOrEqual),
    ];

    /// Reads a word; operators are written in lower case.
    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(name, _)| *name == word).map(|(_, operator)| operator)
    }

    /// The name in the service's messages; none of those that `null` is refused for otherwise.
    pub(super) fn name_of_order(self) -> Option<&'static str> {
        match self {
            Self::Equal | Self::NotEqual => None,
            Self::Less => Some("LessThan"),
            Self::LessOrEqual => Some("LessThanOrEqual"),
            Self::Greater => Some("GreaterThan"),
            Self::GreaterOrEqual => Some("GreaterThanOrEqual"),
        }
    }

    /// The operator with its sides exchanged.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// The operator that holds where this one does not.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// The operator in SQL.
    pub(super) fn to_sql(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether it holds where the left side is so; none is a NaN, which nothing but `ne` holds for.
    pub(super) fn holds(self, ordering: Option<Ordering>) -> bool {
        match self {
            Self::Equal => ordering == Some(Ordering::Equal),
            Self::NotEqual => ordering != Some(Ordering::Equal),
            Self::Less => ordering == Some(Ordering::Less),
            Self::LessOrEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => ordering == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// How a property's value stands to a literal (section 2.9, rules 2 to 4). An integer literal is
/// widened to the type of a wider number; any other pair of types compares as less.
///
/// Where the specification leaves it open: Guid and Binary compare by bytes, Int64 with Double as
/// numbers, without rounding either.
pub(super) fn compare(value: ValueRef<'_>, literal: &Value) -> Option<Ordering> {
    match (value, literal) {
        (ValueRef::Binary(value), Value::Binary(literal)) => Some(value.cmp(literal)),
        (ValueRef::Boolean(value), Value::Boolean(literal)) => Some(value.cmp(literal)),
        (ValueRef::DateTime(value), Value::DateTime(literal)) => Some(value.cmp(literal)),
        (ValueRef::Double(value), Value::Double(literal)) => value.partial_cmp(literal),
        (ValueRef::Double(value), Value::Int32(literal)) => value.partial_cmp(&f64::from(*literal)),
        (ValueRef::Double(value), Value::Int64(literal)) => compare_double(value, *literal),
        (ValueRef::Guid(value), Value::Guid(literal)) => Some(value.as_bytes().cmp(literal.as_bytes())),
        (ValueRef::Int32(value), Value::Int32(literal)) => Some(value.cmp(literal)),
        (ValueRef::Int64(value), Value::Int32(literal)) => Some(value.cmp(&i64::from(*literal))),
        (ValueRef::Int64(value), Value::Int64(literal)) => Some(value.cmp(literal)),
        (ValueRef::String(value), Value::String(literal)) => Some(value.cmp(literal.as_str())),
        _ => Some(Ordering::Less),
    }
}

/// Whether values of a type compare with a literal by what they are, and not as less (section 2.9,
/// rule 3).
pub(super) fn is_comparable(edm: EdmType, literal: &Value) -> bool {
    match literal {
        Value::Int32(_) => edm.is_numeric(),
        Value::Int64(_) => matches!(edm, EdmType::Int64 | EdmType::Double),
        literal => edm == literal.edm_type(),
    }
}

/// Compares as numbers: beyond 2^53 not every integer is a double.
fn compare_double(value: f64, literal: i64) -> Option<Ordering> {
    if value.is_nan() {
        return None;
    }
    // Both bounds are doubles; the upper one is the first that is no Int64.
    if value >= i64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    if value < i64::MIN as f64 {
        return Some(Ordering::Less);
    }
    let whole = value.trunc();
    Some((whole as i64).cmp(&literal).then(value.total_cmp(&whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_widenings() {
        // By row: what `3`, `3L`, `3.0` and `'3'` are to a property, from the specification.
        let literals = [Value::Int32(3), Value::Int64(3), Value::Double(3.0), Value::String("3".to_owned())];
        let row = |value| literals.each_ref().map(|literal| compare(value, literal) == Some(Ordering::Equal));
        assert_eq!(row(ValueRef::Int32(3)), [true, false, false, false]);
        assert_eq!(row(ValueRef::Int64(3)), [true, true, false, false]);
        assert_eq!(row(ValueRef::Double(3.0)), [true, true, true, false]);
        assert_eq!(row(ValueRef::String("3")), [false, false, false, true]);
        for value in [ValueRef::Boolean(true), ValueRef::Binary(b"3"), ValueRef::Guid(uuid::Uuid::nil())] {
            assert!(literals.iter().all(|literal| compare(value, literal) == Some(Ordering::Less)), "{value:?}");
        }
        assert_eq!(compare(ValueRef::Int32(9), &Value::Int64(3)), Some(Ordering::Less));
    }

    #[test]
    fn doubles_and_integers_compare_as_numbers() {
        let compared = |value: f64, literal: i64| compare(ValueRef::Double(value), &Value::Int64(literal));
        assert_eq!(compared(9_007_199_254_740_992.0, 9_007_199_254_740_993), Some(Ordering::Less));
        assert_eq!(compared(i64::MAX as f64, i64::MAX), Some(Ordering::Greater));
        assert_eq!(compared(i64::MIN as f64, i64::MIN), Some(Ordering::Equal));
        assert_eq!(compared(f64::NEG_INFINITY, i64::MIN), Some(Ordering::Less));
        assert_eq!((compared(-1.5, -1), compared(1.5, 1)), (Some(Ordering::Less), Some(Ordering::Greater)));
        assert_eq!((compared(-0.0, 0), compared(f64::NAN, 0)), (Some(Ordering::Equal), None));
        assert!(Operator::NotEqual.holds(None) && !Operator::LessOrEqual.holds(None));
    }
}
