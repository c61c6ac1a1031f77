//! A plan as a tree of nodes in PostgreSQL's words.

use super::table_read::TableRead;

/// One operator, as EXPLAIN shows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// `Node Type` of the JSON form: `Hash Join`.
    pub kind: String,
    /// What the line of text begins with: `Hash Left Join`.
    pub title: String,
    /// `InitPlan 1 (returns $0)`, `CTE name`: the operator computes it beside its inputs.
    pub subplan: Option<String>,
    pub properties: Vec<(&'static str, Property)>,
    /// Of a scan of a table.
    pub read: Option<TableRead>,
    pub estimate: Estimate,
    /// None where the plan was not run, or the operator counts nothing.
    pub actual: Option<Actual>,
    pub children: Vec<Node>,
}

impl Node {
    pub(super) fn new(title: impl Into<String>) -> Self {
        let title = title.into();
        Self { kind: title.clone(), title, ..Self::default() }
    }

    pub(super) fn with(mut self, name: &'static str, property: impl Into<Property>) -> Self {
        let property = property.into();
        // Two conditions of one name are one.
        match (self.properties.iter_mut().find(|(known, _)| *known == name), property) {
            (Some((_, Property::Text(known))), Property::Text(text)) => *known = format!("({known} AND {text})"),
            (_, property) => self.properties.push((name, property)),
        }
        self
    }
}

/// Longest list of a node, in bytes; of what is longer the beginning is shown, and how many more
/// there are.
const LIST_BYTES_MAX: usize = 4000;

/// What a node tells of itself.
#[derive(Debug, Clone)]
pub(super) enum Property {
    Text(String),
    /// Written with commas between them.
    List(Vec<String>),
    Number(u64),
}

impl From<String> for Property {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for Property {
    fn from(list: Vec<String>) -> Self {
        Self::of_list(list.iter().map(String::as_str))
    }
}

impl Property {
    pub(super) fn of_list<'a>(items: impl Iterator<Item = &'a str>) -> Self {
        let (mut shown, mut bytes, mut more) = (Vec::new(), 0, 0);
        for item in items {
            bytes += item.len();
            match bytes > LIST_BYTES_MAX && !shown.is_empty() {
                true => more += 1,
                false => shown.push(item.to_owned()),
            }
        }
        if more > 0 {
            shown.push(format!("... {more} more"));
        }
        Self::List(shown)
    }
}

impl From<u64> for Property {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

/// What a node is expected to cost: pages of 8 kB read from files, and a hundredth for each row
/// that it and the nodes below it take in.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Estimate {
    /// Until its first row.
    pub startup: f64,
    pub total: f64,
    /// At most, as far as bounds are known.
    pub rows: u64,
    /// Bytes of a row.
    pub width: u64,
}

/// What a node counted while it ran.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Actual {
    pub rows: u64,
    /// From the beginning of the plan, in milliseconds, and until the end of the node.
    pub startup_ms: f64,
    pub total_ms: f64,
}
