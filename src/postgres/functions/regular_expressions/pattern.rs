//! A compiled pattern: whether, where and how it matches.

use std::sync::OnceLock;

use datafusion::common::Result;

use super::division::{Division, Span};
use super::options::Options;
use super::parser::parse;
use super::plan;
use super::search::Search;
use super::tree::{Expression, Length};
use crate::carried::Stop;

#[derive(Debug)]
pub(crate) struct Pattern {
    expression: Expression,
    /// `None`: the division searches, too.
    search: Option<Search>,
    /// Made where it is needed.
    division: OnceLock<Division>,
}

impl Pattern {
    /// # Errors
    /// See [`parse`].
    pub(super) fn compile(pattern: &str, options: Options) -> Result<Self> {
        let expression = parse(pattern, options)?;
        let shortest = plan::alternatives(&expression.alternatives)?.nature.prefers_shortest();
        let prefers = if shortest { Length::Shortest } else { Length::Longest };
        let search = if expression.of_words { None } else { Some(Search::of(&expression, prefers)?) };
        Ok(Self { expression, search, division: OnceLock::new() })
    }

    /// How many groups it captures.
    pub(crate) fn group_count(&self) -> usize {
        self.expression.groups
    }

    pub(crate) fn is_match(&self, text: &str, stop: &Stop) -> Result<bool> {
        match &self.search {
            Some(search) => Ok(search.is_match(text)),
            None => Ok(self.division()?.find(text, 0, stop)?.is_some()),
        }
    }

    /// The first match at or behind a byte.
    pub(crate) fn find(&self, text: &str, from: usize, stop: &Stop) -> Result<Option<Span>> {
        match &self.search {
            Some(search) => Ok(search.find(text, from)),
            None => self.division()?.find(text, from, stop),
        }
    }

    /// What the groups capture of a match that [`Self::find`] found.
    pub(crate) fn groups(&self, text: &str, found: Span, stop: &Stop) -> Result<Vec<Option<Span>>> {
        if self.group_count() == 0 {
            return Ok(Vec::new());
        }
        self.division()?.groups(text, found, stop)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let division = self.division.get().map_or(0, Division::memory_bytes);
        self.search.as_ref().map_or(0, Search::memory_bytes) + division
    }

    fn division(&self) -> Result<&Division> {
        if let Some(division) = self.division.get() {
            return Ok(division);
        }
        let division = Division::of(&self.expression)?;
        Ok(self.division.get_or_init(|| division))
    }
}

/// The matches of a pattern one behind the other, as PostgreSQL looks for them: an empty one may
/// follow the one before it.
#[derive(Debug)]
pub(crate) struct Matches<'a> {
    pattern: &'a Pattern,
    text: &'a str,
    /// `None`: there are no more.
    from: Option<usize>,
    stop: &'a Stop,
}

impl<'a> Matches<'a> {
    /// Those at or behind a byte.
    pub(crate) fn of(pattern: &'a Pattern, text: &'a str, from: usize, stop: &'a Stop) -> Self {
        Self { pattern, text, from: Some(from), stop }
    }

    pub(crate) fn next(&mut self) -> Result<Option<Span>> {
        let Some(from) = self.from else { return Ok(None) };
        self.stop.check()?;
        let found = self.pattern.find(self.text, from, self.stop)?;
        self.from = found.and_then(|(start, end)| match self.text[end..].chars().next() {
            _ if start < end => Some(end),
            Some(character) => Some(end + character.len_utf8()),
            None => None,
        });
        Ok(found)
    }
}
