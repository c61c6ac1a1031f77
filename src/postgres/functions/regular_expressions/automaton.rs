//! An automaton over characters of which each part is one by itself: it tells where a part of a
//! pattern may end, or begin, within a match of the whole.

use std::sync::Arc;

use datafusion::common::Result;
use regex_syntax::hir::ClassUnicode;

use super::characters::contains;
use super::refusal::{TOO_COMPLEX, invalid};
use super::tree::{Alternatives, Atom, Constraint, Item};
use crate::carried::Stop;

const STATES_MAX: usize = 50_000;
/// Characters between two questions whether the statement is to stop.
const CHARACTERS_BETWEEN_CHECKS: usize = 1 << 12;

pub(super) type State = usize;

/// What takes from a state to another.
#[derive(Debug, Clone)]
enum Step {
    /// Nothing.
    Free,
    Character(Arc<ClassUnicode>),
    Constraint(Constraint),
}

/// Steps of a state, by their number, to the other end.
type Edges = Vec<(usize, State)>;

#[derive(Debug)]
pub(super) struct Automaton {
    steps: Vec<Step>,
    forward: Vec<Edges>,
    backward: Vec<Edges>,
    /// The characters of words.
    words: ClassUnicode,
}

/// A part: the states where it begins and ends. None of its steps leads to the first or from the
/// last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub first: State,
    pub last: State,
}

/// The number of the step that takes nothing.
const FREE: usize = 0;

impl Automaton {
    pub(super) fn new(words: ClassUnicode) -> Self {
        Self { steps: vec![Step::Free], forward: Vec::new(), backward: Vec::new(), words }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let classes = self.steps.iter().map(|step| match step {
            Step::Character(class) => class.ranges().len() * size_of::<(char, char)>(),
            Step::Free | Step::Constraint(_) => 0,
        });
        self.forward.len() * 6 * size_of::<(usize, State)>() + classes.sum::<usize>()
    }

    pub(super) fn state(&mut self) -> Result<State> {
        if self.forward.len() >= STATES_MAX {
            return invalid(TOO_COMPLEX);
        }
        self.forward.push(Edges::new());
        self.backward.push(Edges::new());
        Ok(self.forward.len() - 1)
    }

    fn edge(&mut self, from: State, step: usize, to: State) {
        self.forward[from].push((step, to));
        self.backward[to].push((step, from));
    }

    /// Leads from one state to another without a character.
    pub(super) fn join(&mut self, from: State, to: State) {
        self.edge(from, FREE, to);
    }

    pub(super) fn empty(&mut self) -> Result<Part> {
        let part = Part { first: self.state()?, last: self.state()? };
        self.join(part.first, part.last);
        Ok(part)
    }

    fn step(&mut self, step: Step) -> Result<Part> {
        let part = Part { first: self.state()?, last: self.state()? };
        self.steps.push(step);
        self.edge(part.first, self.steps.len() - 1, part.last);
        Ok(part)
    }

    /// Parts one behind the other, which may be one part then.
    pub(super) fn sequence(&mut self, parts: &[Part]) -> Result<Part> {
        for pair in parts.windows(2) {
            self.join(pair[0].last, pair[1].first);
        }
        match (parts.first(), parts.last()) {
            (Some(first), Some(last)) => Ok(Part { first: first.first, last: last.last }),
            _ => self.empty(),
        }
    }

    /// One of several parts.
    pub(super) fn choice(&mut self, parts: &[Part]) -> Result<Part> {
        let whole = Part { first: self.state()?, last: self.state()? };
        for part in parts {
            self.join(whole.first, part.first);
            self.join(part.last, whole.last);
        }
        Ok(whole)
    }

    /// A part any number of times.
    pub(super) fn any_number(&mut self, part: Part) -> Result<Part> {
        let (whole, middle) = (Part { first: self.state()?, last: self.state()? }, self.state()?);
        self.join(whole.first, middle);
        self.join(middle, part.first);
        self.join(part.last, middle);
        self.join(middle, whole.last);
        Ok(whole)
    }

    /// A part, or nothing.
    pub(super) fn optional(&mut self, part: Part) -> Result<Part> {
        let nothing = self.empty()?;
        self.choice(&[part, nothing])
    }

    pub(super) fn alternatives(&mut self, alternatives: &Alternatives) -> Result<Part> {
        let branches = alternatives.0.iter().map(|branch| self.branch(branch)).collect::<Result<Vec<_>>>()?;
        self.choice(&branches)
    }

    pub(super) fn branch(&mut self, items: &[Item]) -> Result<Part> {
        let parts = items.iter().map(|item| self.item(item)).collect::<Result<Vec<_>>>()?;
        self.sequence(&parts)
    }

    /// An item with its quantifier.
    pub(super) fn item(&mut self, item: &Item) -> Result<Part> {
        match item {
            Item::Constraint(constraint) => self.step(Step::Constraint(*constraint)),
            Item::Quantified { atom, quantifier } => self.repeated(atom, quantifier.least, quantifier.most),
        }
    }

    pub(super) fn atom(&mut self, atom: &Atom) -> Result<Part> {
        match atom {
            Atom::Characters(class) => self.step(Step::Character(Arc::clone(class))),
            Atom::Group { inner, .. } => self.alternatives(inner),
        }
    }

    /// An atom from so many to so many times.
    pub(super) fn repeated(&mut self, atom: &Atom, least: u32, most: Option<u32>) -> Result<Part> {
        let mut parts = (0..least).map(|_| self.atom(atom)).collect::<Result<Vec<_>>>()?;
        match most {
            None => {
                let more = self.atom(atom)?;
                parts.push(self.any_number(more)?);
            }
            Some(most) => {
                let mut rest: Option<Part> = None;
                for _ in least..most {
                    let one = self.atom(atom)?;
                    let some: Vec<Part> = [one].into_iter().chain(rest).collect();
                    let some = self.sequence(&some)?;
                    rest = Some(self.optional(some)?);
                }
                parts.extend(rest);
            }
        }
        self.sequence(&parts)
    }

    /// The bytes of `from..=to` at which a part that begins at `from` may end.
    pub(super) fn ends(&self, part: Part, text: &str, from: usize, to: usize, stop: &Stop) -> Result<Places> {
        let mut places = Places::within(from, to);
        let mut run = Run::new(self, &self.forward, part.first, part.last, text);
        let mut at = from;
        if run.settle(at) {
            places.add(at);
        }
        for (count, character) in text[from..to].chars().enumerate() {
            if count % CHARACTERS_BETWEEN_CHECKS == 0 {
                stop.check()?;
            }
            at += character.len_utf8();
            if !run.advance(character) {
                break;
            }
            if run.settle(at) {
                places.add(at);
            }
        }
        Ok(places)
    }

    /// The bytes of `from..=to` at which a part that ends at `to` may begin.
    pub(super) fn beginnings(&self, part: Part, text: &str, from: usize, to: usize, stop: &Stop) -> Result<Places> {
        let mut places = Places::within(from, to);
        let mut run = Run::new(self, &self.backward, part.last, part.first, text);
        let mut at = to;
        if run.settle(at) {
            places.add(at);
        }
        for (count, character) in text[from..to].chars().rev().enumerate() {
            if count % CHARACTERS_BETWEEN_CHECKS == 0 {
                stop.check()?;
            }
            at -= character.len_utf8();
            if !run.advance(character) {
                break;
            }
            if run.settle(at) {
                places.add(at);
            }
        }
        Ok(places)
    }

    /// The byte where a part that begins at `from` may end: the last or the first such.
    pub(super) fn end(
        &self,
        part: Part,
        text: &str,
        from: usize,
        shortest: bool,
        stop: &Stop,
    ) -> Result<Option<usize>> {
        let mut run = Run::new(self, &self.forward, part.first, part.last, text);
        let mut at = from;
        let mut end = run.settle(at).then_some(at);
        for (count, character) in text[from..].chars().enumerate() {
            if shortest && end.is_some() {
                break;
            }
            if count % CHARACTERS_BETWEEN_CHECKS == 0 {
                stop.check()?;
            }
            at += character.len_utf8();
            if !run.advance(character) {
                break;
            }
            if run.settle(at) {
                end = Some(at);
            }
        }
        Ok(end)
    }

    /// A byte at or behind `from` at which the first of all matches has ended; `None`: there is
    /// none.
    pub(super) fn first_end(&self, part: Part, text: &str, from: usize, stop: &Stop) -> Result<Option<usize>> {
        let mut run = Run::new(self, &self.forward, part.first, part.last, text);
        let mut at = from;
        for (count, character) in text[from..].chars().map(Some).chain([None]).enumerate() {
            if count % CHARACTERS_BETWEEN_CHECKS == 0 {
                stop.check()?;
            }
            run.reach(part.first);
            if run.settle(at) {
                return Ok(Some(at));
            }
            if let Some(character) = character {
                at += character.len_utf8();
                run.advance(character);
            }
        }
        Ok(None)
    }
}

/// The states that a text has led to so far.
struct Run<'a> {
    automaton: &'a Automaton,
    edges: &'a [Edges],
    goal: State,
    text: &'a str,
    reached: Vec<State>,
    next: Vec<State>,
    is_reached: Vec<bool>,
}

impl<'a> Run<'a> {
    fn new(automaton: &'a Automaton, edges: &'a [Edges], start: State, goal: State, text: &'a str) -> Self {
        let is_reached = vec![false; edges.len()];
        let mut run = Self { automaton, edges, goal, text, reached: Vec::new(), next: Vec::new(), is_reached };
        run.reach(start);
        run
    }

    fn reach(&mut self, state: State) {
        if !std::mem::replace(&mut self.is_reached[state], true) {
            self.reached.push(state);
        }
    }

    /// Takes all steps that need no character, at a byte of the text. Whether the goal is reached.
    fn settle(&mut self, at: usize) -> bool {
        let (automaton, edges) = (self.automaton, self.edges);
        let mut place = 0;
        while let Some(&state) = self.reached.get(place) {
            place += 1;
            if state == self.goal {
                continue;
            }
            for &(step, to) in &edges[state] {
                let free = match &automaton.steps[step] {
                    Step::Free => true,
                    Step::Constraint(constraint) => constraint.holds(self.text, at, &automaton.words),
                    Step::Character(_) => false,
                };
                if free {
                    self.reach(to);
                }
            }
        }
        self.is_reached[self.goal]
    }

    /// Takes the steps of a character. Whether any was left.
    fn advance(&mut self, character: char) -> bool {
        let (automaton, edges) = (self.automaton, self.edges);
        for &state in &self.reached {
            self.is_reached[state] = false;
        }
        let reached = std::mem::take(&mut self.reached);
        self.reached = std::mem::take(&mut self.next);
        let goal = self.goal;
        for &state in reached.iter().filter(|state| **state != goal) {
            for &(step, to) in &edges[state] {
                if let Step::Character(class) = &automaton.steps[step]
                    && contains(class, character)
                {
                    self.reach(to);
                }
            }
        }
        self.next = reached;
        self.next.clear();
        !self.reached.is_empty()
    }
}

/// Bytes of a text, one bit each.
#[derive(Debug)]
pub(super) struct Places {
    from: usize,
    to: usize,
    bits: Vec<u64>,
}

impl Places {
    fn within(from: usize, to: usize) -> Self {
        Self { from, to, bits: vec![0; (to - from) / 64 + 1] }
    }

    fn add(&mut self, place: usize) {
        let place = place - self.from;
        self.bits[place / 64] |= 1 << (place % 64);
    }

    pub(super) fn has(&self, place: usize) -> bool {
        (self.from..=self.to).contains(&place) && {
            let place = place - self.from;
            self.bits[place / 64] & 1 << (place % 64) != 0
        }
    }

    /// The first or the last place that others have as well and that is none of `but`.
    pub(super) fn shared(&self, other: &Self, shortest: bool, but: Option<usize>) -> Option<usize> {
        let is_shared = |place: &usize| self.has(*place) && other.has(*place) && Some(*place) != but;
        if shortest { (self.from..=self.to).find(is_shared) } else { (self.from..=self.to).rev().find(is_shared) }
    }
}
