//! Columns of a scope and of a query's output, and how a name picks one of them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use datafusion::sql::sqlparser::ast::{Expr, Ident};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::{Origin, OutputColumn};

/// A column that expressions may name.
#[derive(Debug)]
pub(super) struct Column {
    pub name: Rc<str>,
    pub place: Place,
    pub origin: Option<Base>,
    /// `*` leaves it out.
    pub system: bool,
}

/// The column of a base relation behind one. Wide relations are common: nothing is copied for each
/// of their columns.
#[derive(Debug, Clone)]
pub(super) struct Base {
    /// Schema and name.
    pub relation: Rc<(String, String)>,
    pub column: Rc<str>,
}

impl From<Base> for Origin {
    fn from(base: Base) -> Self {
        let (schema, relation) = (*base.relation).clone();
        Self { schema, relation, column: base.column.as_ref().to_owned() }
    }
}

/// Where a column comes from.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// A column of a source, by the source's alias and the column's name in the plan.
    Source { alias: Rc<str>, name: Rc<str> },
    /// The one column that USING makes of two.
    Computed(Box<Expr>),
}

impl Column {
    /// The expression that stands for this column, at the place where it was named.
    pub(super) fn expr(&self, span: Span) -> Expr {
        match &self.place {
            Place::Source { alias, name } => Expr::CompoundIdentifier(vec![quoted(alias, span), quoted(name, span)]),
            Place::Computed(expr) => (**expr).clone(),
        }
    }
}

/// An output column of a query: the label that others see and the name in the plan, which is
/// unique.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub label: Rc<str>,
    pub name: Rc<str>,
    pub origin: Option<Base>,
}

impl Output {
    /// Outputs with these labels and no origin.
    pub(super) fn plain(labels: Vec<Rc<str>>) -> Vec<Self> {
        let names = unique(&labels);
        labels.into_iter().zip(names).map(|(label, name)| Self { label, name, origin: None }).collect()
    }
}

impl From<Output> for OutputColumn {
    fn from(output: Output) -> Self {
        Self { label: output.label.as_ref().to_owned(), origin: output.origin.map(Origin::from) }
    }
}

/// Names for the plan: the first column of a label keeps it, others get a number that no label has.
/// What has a point in it could be the name of another with its relation's, and gets one as well.
pub(super) fn unique(labels: &[Rc<str>]) -> Vec<Rc<str>> {
    let mut taken: HashSet<Rc<str>> = labels.iter().cloned().collect();
    // Those below are taken for sure.
    let mut next: HashMap<&str, usize> = HashMap::with_capacity(labels.len());
    labels
        .iter()
        .map(|label| match next.entry(label) {
            Entry::Vacant(entry) => {
                entry.insert(NUMBER_FIRST);
                if !label.contains('.') {
                    return Rc::clone(label);
                }
                let name: Rc<str> = numbered(&label.replace('.', "_"), |name| !taken.contains(name)).into();
                taken.insert(Rc::clone(&name));
                name
            }
            Entry::Occupied(mut entry) => {
                let (name, number) = numbered_from(*entry.get(), label, |name| !taken.contains(name));
                entry.insert(number + 1);
                let name: Rc<str> = name.into();
                taken.insert(Rc::clone(&name));
                name
            }
        })
        .collect()
}

const NUMBER_FIRST: usize = 2;

/// The first of `name_2`, `name_3`, ... that is free.
pub(super) fn numbered(name: &str, free: impl Fn(&str) -> bool) -> String {
    numbered_from(NUMBER_FIRST, name, free).0
}

/// The same from a number on, with its own.
fn numbered_from(mut number: usize, name: &str, free: impl Fn(&str) -> bool) -> (String, usize) {
    loop {
        let candidate = format!("{name}_{number}");
        if free(&candidate) {
            return (candidate, number);
        }
        number += 1;
    }
}

/// What a name picks among candidates.
#[derive(Debug)]
pub(super) enum Pick<T> {
    One(T),
    /// Several of them, with their exact names.
    Several(Vec<String>),
    None,
}

/// The candidate of exactly this name; for an unquoted one without, the only one that differs in
/// case alone.
pub(super) fn pick<T>(ident: &Ident, candidates: impl Iterator<Item = T>, name: impl Fn(&T) -> &str) -> Pick<T> {
    let (mut exact, mut similar) = (Vec::new(), Vec::new());
    for candidate in candidates {
        if *name(&candidate) == *ident.value {
            exact.push(candidate);
        } else if ident.quote_style.is_none() && name(&candidate).eq_ignore_ascii_case(&ident.value) {
            similar.push(candidate);
        }
    }
    let mut found = if exact.is_empty() { similar } else { exact };
    match found.len() {
        0 | 1 => found.pop().map_or(Pick::None, Pick::One),
        _ => Pick::Several(found.iter().map(|candidate| name(candidate).to_owned()).collect()),
    }
}

/// Whether a name is written as the column's is, or is it once it is folded as PostgreSQL folds it.
pub(super) fn is_exact(ident: &Ident, name: &str) -> bool {
    *name == *ident.value || *name == *fold(ident)
}

pub(super) fn quoted(name: &str, span: Span) -> Ident {
    Ident { value: name.to_owned(), quote_style: Some('"'), span }
}

/// Makes an identifier exact.
pub(super) fn rename(ident: &mut Ident, name: &str) {
    name.clone_into(&mut ident.value);
    ident.quote_style = Some('"');
}

/// An alias as PostgreSQL reads it: in lower case unless quoted.
pub(super) fn fold(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_ascii_lowercase() }
}
