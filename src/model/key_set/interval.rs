//! Sets of strings in byte order: one key column.

use std::cmp::Ordering;
use std::fmt;

use super::spans::{self, Span};

/// A place between strings in byte order.
///
/// `Before("")` is the same place as `Start`, and `Before("s\0")` the same as `After("s")`: an
/// [`Interval`] holds the second form of each, so that places are equal exactly when they compare
/// equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cut {
    Start,
    Before(String),
    After(String),
    End,
}

impl Cut {
    /// Whether `text` lies on the upper side of this cut.
    pub fn is_below(&self, text: &str) -> bool {
        match self {
            Cut::Start => true,
            Cut::Before(bound) => bound.as_str() <= text,
            Cut::After(bound) => bound.as_str() < text,
            Cut::End => false,
        }
    }

    fn normal(self) -> Self {
        match self {
            Cut::Before(bound) if bound.is_empty() => Cut::Start,
            // Nothing lies between a string and itself followed by the smallest character.
            Cut::Before(mut bound) if bound.ends_with('\0') => {
                bound.pop();
                Cut::After(bound)
            }
            cut => cut,
        }
    }

    fn place(&self) -> (u8, &str, u8) {
        match self {
            Cut::Start => (0, "", 0),
            Cut::Before(bound) => (1, bound, 0),
            Cut::After(bound) => (1, bound, 1),
            Cut::End => (2, "", 0),
        }
    }
}

impl Ord for Cut {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Cut {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The strings between two cuts; never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Interval {
    lower: Cut,
    upper: Cut,
}

impl Span for Interval {
    type Cut = Cut;

    const START: Cut = Cut::Start;
    const END: Cut = Cut::End;

    fn between(lower: Cut, upper: Cut) -> Option<Self> {
        let (lower, upper) = (lower.normal(), upper.normal());
        (lower < upper).then_some(Self { lower, upper })
    }

    fn lower(&self) -> &Cut {
        &self.lower
    }

    fn upper(&self) -> &Cut {
        &self.upper
    }
}

impl Interval {
    /// The strings between two cuts, `None` when there are none.
    pub fn new(lower: Cut, upper: Cut) -> Option<Self> {
        Self::between(lower, upper)
    }

    /// Every string.
    pub fn all() -> Self {
        Self { lower: Cut::Start, upper: Cut::End }
    }

    /// One string.
    pub fn point(text: &str) -> Self {
        Self { lower: Cut::Before(text.to_owned()).normal(), upper: Cut::After(text.to_owned()) }
    }

    /// Every string that begins with `prefix`.
    pub fn prefix(prefix: &str) -> Self {
        let upper = after_prefix(prefix).map_or(Cut::End, |bound| Cut::Before(bound).normal());
        Self { lower: Cut::Before(prefix.to_owned()).normal(), upper }
    }

    /// The lower end.
    pub fn lower(&self) -> &Cut {
        &self.lower
    }

    /// The upper end.
    pub fn upper(&self) -> &Cut {
        &self.upper
    }

    /// Whether the interval holds a string.
    pub fn contains(&self, text: &str) -> bool {
        self.lower.is_below(text) && !self.upper.is_below(text)
    }

    /// The string, if this interval holds exactly one.
    pub fn as_point(&self) -> Option<&str> {
        match (&self.lower, &self.upper) {
            (Cut::Start, Cut::After(text)) if text.is_empty() => Some(text),
            (Cut::Before(first), Cut::After(text)) if first == text => Some(text),
            // The lower cut of a point that ends in \0 is held as the cut after the rest of it.
            (Cut::After(rest), Cut::After(text)) if text.strip_suffix('\0') == Some(rest) => Some(text),
            _ => None,
        }
    }

    /// The condition that a column is in this interval, as one would write it in SQL; empty when it
    /// always is.
    pub fn condition(&self, column: &str) -> String {
        if let Some(text) = self.as_point() {
            return format!("{column} = {}", Quoted(text));
        }
        let lower = match &self.lower {
            Cut::Start | Cut::End => None,
            Cut::Before(text) => Some(format!("{column} >= {}", Quoted(text))),
            Cut::After(text) => Some(format!("{column} > {}", Quoted(text))),
        };
        let upper = match &self.upper {
            Cut::Start | Cut::End => None,
            Cut::Before(text) => Some(format!("{column} < {}", Quoted(text))),
            Cut::After(text) => Some(format!("{column} <= {}", Quoted(text))),
        };
        lower.into_iter().chain(upper).collect::<Vec<_>>().join(" AND ")
    }
}

/// The smallest string above every string that begins with `prefix`, if there is one.
///
/// UTF-8 keeps code point order, so the last character is replaced by its successor (surrogates are
/// no characters), after characters without a successor are dropped.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut rest = prefix.to_owned();
    while let Some(last) = rest.pop() {
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            _ => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            rest.push(next);
            return Some(rest);
        }
    }
    None
}

/// A set of strings: sorted, disjoint, non-adjacent intervals.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct IntervalSet {
    intervals: Vec<Interval>,
}

impl IntervalSet {
    /// Every string.
    pub fn all() -> Self {
        Interval::all().into()
    }

    /// No string.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The union of `intervals`, in any order, overlapping or not.
    pub fn from_intervals(intervals: impl IntoIterator<Item = Interval>) -> Self {
        Self { intervals: spans::normalise(intervals.into_iter().collect()) }
    }

    /// The intervals in ascending order: disjoint, and none adjacent to the next.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Whether it holds no string.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Whether it holds every string.
    pub fn is_all(&self) -> bool {
        matches!(self.intervals.as_slice(), [Interval { lower: Cut::Start, upper: Cut::End }])
    }

    /// Whether the set holds a string.
    pub fn contains(&self, text: &str) -> bool {
        let at = self.intervals.partition_point(|interval| interval.upper.is_below(text));
        self.intervals.get(at).is_some_and(|interval| interval.lower.is_below(text))
    }

    /// The strings in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self { intervals: spans::union(&self.intervals, &other.intervals) }
    }

    /// The strings in both sets.
    pub fn intersect(&self, other: &Self) -> Self {
        Self { intervals: spans::intersect(&self.intervals, &other.intervals) }
    }

    /// The strings that are not in the set.
    pub fn complement(&self) -> Self {
        Self { intervals: spans::complement(&self.intervals) }
    }

    /// A superset in at most `intervals_max` intervals (at least one).
    pub fn coarsened(&self, intervals_max: usize) -> Self {
        Self { intervals: spans::coarsen(&self.intervals, intervals_max) }
    }
}

impl From<Interval> for IntervalSet {
    fn from(interval: Interval) -> Self {
        Self { intervals: vec![interval] }
    }
}

/// `'it''s'`: text as an SQL literal.
pub(super) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.replace('\'', "''"))
    }
}
