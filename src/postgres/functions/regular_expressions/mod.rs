//! PostgreSQL's regular expressions.
//!
//! A pattern in PostgreSQL's syntax ([`parser`], its options in [`options`]) becomes a tree, and
//! the tree the automata of the crate `regex` ([`search`]), which find the match that begins first
//! and the end that the pattern prefers: the longest, whatever the order of its alternatives. What
//! groups capture is found by dividing that match into its parts ([`plan`], [`division`]), with an
//! automaton of which every part is one by itself ([`automaton`]). It also searches where a pattern
//! asks for the bounds of words. Compiled patterns are kept ([`cache`]).

mod automaton;
mod bracket;
mod cache;
mod characters;
mod division;
mod functions;
mod operators;
mod options;
mod parser;
mod pattern;
mod plan;
mod preference;
mod reader;
mod refusal;
mod replace;
mod search;
mod similar_to;
mod tree;

#[cfg(test)]
mod tests;

pub(super) use cache::{PatternCache, RowPatterns};
pub(super) use functions::{FUNCTIONS, first_part};
pub(super) use operators::{FUNCTIONS as OPERATORS, matched, of_operator, simplified};
pub(super) use replace::FUNCTIONS as REPLACING;
pub(super) use similar_to::{FUNCTIONS as SIMILAR_TO, regular_expression};
