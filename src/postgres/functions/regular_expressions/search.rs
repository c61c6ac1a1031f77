//! Where a regular expression matches first, by the automata of the crate `regex`.

use datafusion::common::Result;
use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Class, Hir, Look, Repetition};

use super::refusal::{TOO_COMPLEX, invalid};
use super::tree::{Alternatives, Atom, Constraint, Expression, Item, Length};
use crate::functions::error::{SqlState, fail};

const AUTOMATON_BYTES_MAX: usize = 10 << 20;
/// What a thread keeps of the states that it has come to.
const STATES_BYTES_MAX: usize = 1 << 20;

/// The automata of an expression without constraints that ask for words: which characters these
/// have is PostgreSQL's own matter.
#[derive(Debug)]
pub(super) struct Search {
    /// Finds the match that begins first.
    first: Regex,
    /// Finds where matches from one place end. `None`: all matches have the same length.
    ends: Option<Regex>,
    prefers: Length,
}

impl Search {
    pub(super) fn of(expression: &Expression, prefers: Length) -> Result<Self> {
        let hir = alternatives(&expression.alternatives);
        let properties = hir.properties();
        let one_length = properties.minimum_len().is_some() && properties.minimum_len() == properties.maximum_len();
        let config =
            || Regex::config().nfa_size_limit(Some(AUTOMATON_BYTES_MAX)).hybrid_cache_capacity(STATES_BYTES_MAX);
        let first = build(config(), &hir)?;
        // Only what goes from character to character knows the shortest match.
        let ends = config().match_kind(MatchKind::All).onepass(false).backtrack(false);
        let ends = if one_length { None } else { Some(build(ends, &hir)?) };
        Ok(Self { first, ends, prefers })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.first.is_match(text)
    }

    /// The match at or behind a byte.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let found = self.first.search(&Input::new(text).range(from..))?;
        let Some(ends) = &self.ends else { return Some((found.start(), found.end())) };
        let input = Input::new(text).range(found.start()..).anchored(Anchored::Yes);
        let end = ends.search_half(&input.earliest(self.prefers == Length::Shortest))?;
        Some((found.start(), end.offset()))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.first.memory_usage() + self.ends.as_ref().map_or(0, Regex::memory_usage)
    }
}

fn build(config: Config, hir: &Hir) -> Result<Regex> {
    let too_large = |error: &BuildError| error.size_limit().is_some();
    match Regex::builder().configure(config).build_from_hir(hir) {
        Ok(regex) => Ok(regex),
        Err(error) if too_large(&error) => invalid(TOO_COMPLEX),
        Err(error) => fail(SqlState::INTERNAL_ERROR, format!("no automaton: {error}")),
    }
}

fn alternatives(alternatives: &Alternatives) -> Hir {
    Hir::alternation(alternatives.0.iter().map(|branch| Hir::concat(branch.iter().map(item).collect())).collect())
}

fn item(item: &Item) -> Hir {
    let (atom, quantifier) = match item {
        Item::Constraint(constraint) => return Hir::look(look(*constraint)),
        Item::Quantified { atom, quantifier } => (atom, quantifier),
    };
    let sub = match atom {
        Atom::Characters(class) => Hir::class(Class::Unicode(class.as_ref().clone())),
        Atom::Group { inner, .. } => alternatives(inner),
    };
    if quantifier.is_once() {
        return sub;
    }
    let greedy = quantifier.prefers != Some(Length::Shortest);
    Hir::repetition(Repetition { min: quantifier.least, max: quantifier.most, greedy, sub: Box::new(sub) })
}

fn look(constraint: Constraint) -> Look {
    match constraint {
        Constraint::TextStart => Look::Start,
        Constraint::TextEnd => Look::End,
        Constraint::LineStart => Look::StartLF,
        Constraint::LineEnd => Look::EndLF,
        Constraint::WordStart => Look::WordStartUnicode,
        Constraint::WordEnd => Look::WordEndUnicode,
        Constraint::WordBoundary => Look::WordUnicode,
        Constraint::NoWordBoundary => Look::WordUnicodeNegate,
    }
}
