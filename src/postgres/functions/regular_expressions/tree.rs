//! A regular expression that was read.

use std::sync::Arc;

use regex_syntax::hir::ClassUnicode;

use super::characters::contains;

/// Alternatives, each a sequence of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alternatives(pub Vec<Vec<Item>>);

/// What stands in a sequence: an atom and how often, or a constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Constraint(Constraint),
    Quantified { atom: Atom, quantifier: Quantifier },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Atom {
    /// Shared: a quantifier repeats it, and a class may have hundreds of ranges.
    Characters(Arc<ClassUnicode>),
    Group {
        /// Its number, if what it matches is captured.
        number: Option<usize>,
        inner: Alternatives,
    },
}

/// How often an atom stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantifier {
    pub least: u32,
    /// `None`: any number of times.
    pub most: Option<u32>,
    /// `None`: what the atom prefers.
    pub prefers: Option<Length>,
}

impl Quantifier {
    pub(super) const ONCE: Self = Self { least: 1, most: Some(1), prefers: None };

    pub(super) fn is_once(self) -> bool {
        self.least == 1 && self.most == Some(1)
    }

    /// `{0}`: the atom does not count.
    pub(super) fn is_never(self) -> bool {
        self.most == Some(0)
    }
}

/// Of several matches from one place, which is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Longest,
    Shortest,
}

/// What holds between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constraint {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordBoundary,
    NoWordBoundary,
}

impl Constraint {
    /// Whether it asks which characters are part of words.
    pub(super) fn is_of_words(self) -> bool {
        matches!(self, Self::WordStart | Self::WordEnd | Self::WordBoundary | Self::NoWordBoundary)
    }

    /// Whether it holds at a byte of a text, at which a character begins, or at its end; `words`
    /// are the characters of words.
    pub(super) fn holds(self, text: &str, at: usize, words: &ClassUnicode) -> bool {
        let before = || text[..at].chars().next_back();
        let behind = || text[at..].chars().next();
        let word = |character: Option<char>| character.is_some_and(|character| contains(words, character));
        match self {
            Self::TextStart => at == 0,
            Self::TextEnd => at == text.len(),
            Self::LineStart => at == 0 || before() == Some('\n'),
            Self::LineEnd => at == text.len() || behind() == Some('\n'),
            Self::WordStart => !word(before()) && word(behind()),
            Self::WordEnd => word(before()) && !word(behind()),
            Self::WordBoundary => word(before()) != word(behind()),
            Self::NoWordBoundary => word(before()) == word(behind()),
        }
    }
}

/// A whole pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expression {
    pub alternatives: Alternatives,
    /// How many groups are captured.
    pub groups: usize,
    /// Whether a constraint asks for words.
    pub of_words: bool,
}
