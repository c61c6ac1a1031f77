//! How a match of a regular expression divides into its parts.
//!
//! The parts are PostgreSQL's: it tells apart only what captures or differs in preference from what
//! stands before it, and where a match may divide in several ways its parts decide which is taken.

use datafusion::common::Result;

use super::preference::Nature;
use super::refusal::{TOO_COMPLEX, invalid};
use super::tree::{Alternatives, Atom, Item, Quantifier};

/// How many parts of a sequence are told apart.
const PARTS_MAX: usize = 300;

/// A part of an expression.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub nature: Nature,
    /// The group that captures all of it.
    pub group: Option<usize>,
    pub shape: Shape<'a>,
}

#[derive(Debug)]
pub(super) enum Shape<'a> {
    /// Items that are not told apart.
    Items(&'a [Item]),
    Alternatives(&'a Alternatives),
    /// An atom so many times.
    Repeated {
        atom: &'a Atom,
        least: u32,
        most: Option<u32>,
    },
    Sequence(Box<Plan<'a>>, Box<Plan<'a>>),
    Choice(Vec<Plan<'a>>),
    /// An atom that captures, from no time to so many times.
    Repetition {
        inner: Box<Plan<'a>>,
        atom: &'a Atom,
        most: Option<u32>,
    },
    /// A group in a group.
    Capture(Box<Plan<'a>>),
}

impl<'a> Plan<'a> {
    fn new(nature: Nature, shape: Shape<'a>) -> Self {
        Self { nature, group: None, shape }
    }

    /// Whether it is one part, and none that captures.
    fn is_whole(&self) -> bool {
        self.group.is_none() && matches!(self.shape, Shape::Items(_) | Shape::Alternatives(_) | Shape::Repeated { .. })
    }
}

pub(super) fn alternatives(alternatives: &Alternatives) -> Result<Plan<'_>> {
    if let [items] = alternatives.0.as_slice() {
        return branch(items, 0);
    }
    let branches = alternatives.0.iter().map(|items| branch(items, 0)).collect::<Result<Vec<_>>>()?;
    let nature = branches.iter().fold(Nature::LONGEST, |all, branch| all.with(all.with(branch.nature).inherited()));
    let shape = if nature.is_divided() { Shape::Choice(branches) } else { Shape::Alternatives(alternatives) };
    Ok(Plan::new(nature, shape))
}

/// A sequence, behind so many parts that are told apart from it.
fn branch(items: &[Item], parts: usize) -> Result<Plan<'_>> {
    if parts > PARTS_MAX {
        return invalid(TOO_COMPLEX);
    }
    let mut nature = Nature::default();
    for (place, item) in items.iter().enumerate() {
        let Item::Quantified { atom, quantifier } = item else { continue };
        if quantifier.is_never() {
            continue;
        }
        let inner = self::atom(atom, &items[place..=place])?;
        let joined = nature.with(Nature::of(quantifier.prefers)).with(inner.nature);
        if !matches!(atom, Atom::Group { number: Some(_), .. }) && !joined.is_divided() {
            nature = joined;
            continue;
        }
        let of_both = Nature::of(quantifier.prefers).combined(inner.nature);
        let own = quantified(inner, atom, &items[place..=place], *quantifier);
        let before = Plan::new(nature, Shape::Items(&items[..place]));
        let rest = &items[place + 1..];
        if rest.is_empty() {
            let whole = nature.with(nature.combined(own.nature));
            return Ok(if place == 0 { own } else { sequence(whole, before, own) });
        }
        let behind = branch(rest, parts + 1)?;
        let second = of_both.with(of_both.combined(behind.nature));
        let whole = nature.with(nature.combined(second));
        if place == 0 {
            return Ok(sequence(whole, own, behind));
        }
        let second = if own.is_whole() && behind.is_whole() && !own.nature.with(behind.nature).is_divided() {
            Plan::new(own.nature.combined(behind.nature), Shape::Items(&items[place..]))
        } else {
            sequence(second, own, behind)
        };
        return Ok(sequence(whole, before, second));
    }
    Ok(Plan::new(nature, Shape::Items(items)))
}

fn sequence<'a>(nature: Nature, first: Plan<'a>, second: Plan<'a>) -> Plan<'a> {
    Plan::new(nature, Shape::Sequence(Box::new(first), Box::new(second)))
}

/// An atom without its quantifier; `item` is it with that.
fn atom<'a>(atom: &'a Atom, item: &'a [Item]) -> Result<Plan<'a>> {
    match atom {
        // Where it is not divided it is told from others with its quantifier.
        Atom::Characters(_) => Ok(Plan::new(Nature::default(), Shape::Items(item))),
        Atom::Group { number: None, inner } => alternatives(inner),
        Atom::Group { number, inner } => {
            let inner = alternatives(inner)?;
            let nature = inner.nature.capturing();
            Ok(match inner.group {
                None => Plan { nature, group: *number, shape: inner.shape },
                Some(_) => Plan { nature, group: *number, shape: Shape::Capture(Box::new(inner)) },
            })
        }
    }
}

fn quantified<'a>(inner: Plan<'a>, atom: &'a Atom, item: &'a [Item], quantifier: Quantifier) -> Plan<'a> {
    let Quantifier { least, most, prefers } = quantifier;
    let nature = Nature::of(prefers).combined(inner.nature);
    if quantifier.is_once() && inner.nature.agrees_with(prefers) {
        inner
    } else if !inner.nature.captures {
        Plan::new(nature, Shape::Items(item))
    } else if let Some(fewer) = least.checked_sub(1) {
        // Only the last time counts for what is captured.
        let shape = Shape::Repeated { atom, least: fewer, most: most.map(|most| most - 1) };
        sequence(nature, Plan::new(nature.preference(), shape), inner)
    } else {
        Plan::new(nature, Shape::Repetition { inner: Box::new(inner), atom, most })
    }
}
