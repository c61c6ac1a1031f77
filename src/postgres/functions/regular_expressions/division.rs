//! What the groups of a regular expression capture: a match of the whole is divided into its parts.

use datafusion::common::Result;

use super::automaton::{Automaton, Part};
use super::characters::class;
use super::plan::{self, Plan, Shape};
use super::tree::Expression;
use crate::carried::Stop;
use crate::functions::error::{SqlState, fail};

/// What a group captures, from a byte to another.
pub(crate) type Span = (usize, usize);

/// The parts of an expression, and the automaton that they are parts of.
#[derive(Debug)]
pub(super) struct Division {
    automaton: Automaton,
    whole: Divided,
    groups: usize,
}

/// A part that may be divided further.
#[derive(Debug)]
struct Divided {
    part: Part,
    prefers_shortest: bool,
    group: Option<usize>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Whole,
    Sequence(Box<Divided>, Box<Divided>),
    Choice(Vec<Divided>),
    Repetition { inner: Box<Divided>, rests: Rests },
    Capture(Box<Divided>),
}

/// What may follow one of several repetitions.
#[derive(Debug)]
enum Rests {
    Any(Part),
    /// By how many may follow.
    UpTo(Vec<Part>),
}

impl Division {
    pub(super) fn of(expression: &Expression) -> Result<Self> {
        let mut automaton = Automaton::new(class("word", false)?);
        let plan = plan::alternatives(&expression.alternatives)?;
        let whole = divided(&mut automaton, &plan)?;
        Ok(Self { automaton, whole, groups: expression.groups })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.automaton.memory_bytes()
    }

    /// The first match at or behind a byte.
    pub(super) fn find(&self, text: &str, from: usize, stop: &Stop) -> Result<Option<Span>> {
        let part = self.whole.part;
        let Some(last) = self.automaton.first_end(part, text, from, stop)? else { return Ok(None) };
        // A match that begins before it may end behind it.
        let starts = text[from..last].char_indices().map(|(place, _)| from + place).chain([last]);
        for start in starts {
            if let Some(end) = self.automaton.end(part, text, start, self.whole.prefers_shortest, stop)? {
                return Ok(Some((start, end)));
            }
        }
        Ok(None)
    }

    /// What each group captures of a match.
    pub(super) fn groups(&self, text: &str, (from, to): Span, stop: &Stop) -> Result<Vec<Option<Span>>> {
        let mut groups = vec![None; self.groups];
        self.divide(&self.whole, text, (from, to), &mut groups, stop)?;
        Ok(groups)
    }

    fn divide(
        &self,
        mut whole: &Divided,
        text: &str,
        (mut from, to): Span,
        groups: &mut [Option<Span>],
        stop: &Stop,
    ) -> Result<()> {
        loop {
            stop.check()?;
            if let Some(group) = whole.group.and_then(|number| groups.get_mut(number - 1)) {
                *group = Some((from, to));
            }
            match &whole.kind {
                Kind::Whole => return Ok(()),
                Kind::Capture(inner) => whole = inner,
                Kind::Sequence(first, second) => {
                    let ends = self.automaton.ends(first.part, text, from, to, stop)?;
                    let beginnings = self.automaton.beginnings(second.part, text, from, to, stop)?;
                    let Some(between) = ends.shared(&beginnings, first.prefers_shortest, None) else {
                        return undivided();
                    };
                    self.divide(first, text, (from, between), groups, stop)?;
                    (whole, from) = (second, between);
                }
                Kind::Choice(branches) => {
                    let mut taken = None;
                    for branch in branches {
                        if self.automaton.ends(branch.part, text, from, to, stop)?.has(to) {
                            taken = Some(branch);
                            break;
                        }
                    }
                    match taken {
                        Some(branch) => whole = branch,
                        None => return undivided(),
                    }
                }
                Kind::Repetition { inner, .. } if from == to => {
                    // Of nothing there is one repetition, if the atom may be nothing and prefers
                    // more.
                    if inner.prefers_shortest || !self.automaton.ends(inner.part, text, from, to, stop)?.has(to) {
                        return Ok(());
                    }
                    whole = inner;
                }
                Kind::Repetition { inner, rests } => {
                    from = self.last_repetition(inner, rests, text, (from, to), stop)?;
                    whole = inner;
                }
            }
        }
    }

    /// Where the last of several repetitions begins.
    fn last_repetition(
        &self,
        inner: &Divided,
        rests: &Rests,
        text: &str,
        (from, to): Span,
        stop: &Stop,
    ) -> Result<usize> {
        let any = match rests {
            Rests::Any(rest) => Some(self.automaton.beginnings(*rest, text, from, to, stop)?),
            Rests::UpTo(_) => None,
        };
        let (mut start, mut count) = (from, 0);
        loop {
            count += 1;
            let ends = self.automaton.ends(inner.part, text, start, to, stop)?;
            let end = match (&any, rests) {
                (Some(beginnings), _) => ends.shared(beginnings, inner.prefers_shortest, Some(start)),
                (None, Rests::UpTo(rests)) => match rests.len().checked_sub(count).and_then(|more| rests.get(more)) {
                    Some(rest) => {
                        let beginnings = self.automaton.beginnings(*rest, text, start, to, stop)?;
                        ends.shared(&beginnings, inner.prefers_shortest, Some(start))
                    }
                    None => None,
                },
                (None, Rests::Any(_)) => None,
            };
            match end {
                Some(end) if end == to => return Ok(start),
                Some(end) => start = end,
                None => return undivided(),
            }
        }
    }
}

fn undivided<T>() -> Result<T> {
    fail(SqlState::INTERNAL_ERROR, "a match of a regular expression does not divide into its parts")
}

fn divided(automaton: &mut Automaton, plan: &Plan) -> Result<Divided> {
    let (part, kind) = match &plan.shape {
        Shape::Items(items) => (automaton.branch(items)?, Kind::Whole),
        Shape::Alternatives(alternatives) => (automaton.alternatives(alternatives)?, Kind::Whole),
        Shape::Repeated { atom, least, most } => (automaton.repeated(atom, *least, *most)?, Kind::Whole),
        Shape::Sequence(first, second) => {
            let (first, second) = (divided(automaton, first)?, divided(automaton, second)?);
            let part = automaton.sequence(&[first.part, second.part])?;
            (part, Kind::Sequence(Box::new(first), Box::new(second)))
        }
        Shape::Choice(branches) => {
            let branches = branches.iter().map(|branch| divided(automaton, branch)).collect::<Result<Vec<_>>>()?;
            let parts: Vec<Part> = branches.iter().map(|branch| branch.part).collect();
            (automaton.choice(&parts)?, Kind::Choice(branches))
        }
        Shape::Repetition { inner, atom, most } => {
            let inner = divided(automaton, inner)?;
            let (part, rests) = match most {
                None => {
                    let part = automaton.any_number(inner.part)?;
                    (part, Rests::Any(part))
                }
                Some(most) => {
                    let mut rests = vec![automaton.empty()?];
                    let mut part = automaton.optional(inner.part)?;
                    for _ in 1..*most {
                        rests.push(part);
                        let one = automaton.atom(atom)?;
                        let more = automaton.sequence(&[one, part])?;
                        part = automaton.optional(more)?;
                    }
                    (part, Rests::UpTo(rests))
                }
            };
            (part, Kind::Repetition { inner: Box::new(inner), rests })
        }
        Shape::Capture(inner) => {
            let inner = divided(automaton, inner)?;
            (inner.part, Kind::Capture(Box::new(inner)))
        }
    };
    Ok(Divided { part, prefers_shortest: plan.nature.prefers_shortest(), group: plan.group, kind })
}
