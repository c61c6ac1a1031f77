//! Which length a regular expression prefers, and which parts of it have to be told apart.
//!
//! As PostgreSQL has it, a quantifier has a preference, a sequence that of its first item with
//! one, alternatives prefer the longest, and a group what is in it. Of the whole pattern the match
//! that begins first is taken, of those the longest or the shortest, as the pattern prefers; then
//! each part from left to right takes what it prefers of what it may take within that match.

use super::tree::Length;

/// What is known of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Nature {
    longest: bool,
    shortest: bool,
    /// Parts of it prefer something else than it does.
    mixed: bool,
    pub captures: bool,
}

impl Nature {
    pub(super) const LONGEST: Self = Self { longest: true, shortest: false, mixed: false, captures: false };

    pub(super) fn of(prefers: Option<Length>) -> Self {
        Self {
            longest: prefers == Some(Length::Longest),
            shortest: prefers == Some(Length::Shortest),
            ..Self::default()
        }
    }

    pub(super) fn capturing(self) -> Self {
        Self { captures: true, ..self }
    }

    pub(super) fn prefers_shortest(self) -> bool {
        self.shortest
    }

    /// All that holds of either.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            longest: self.longest | other.longest,
            shortest: self.shortest | other.shortest,
            mixed: self.mixed | other.mixed,
            captures: self.captures | other.captures,
        }
    }

    /// What a part tells the whole that it is in.
    pub(super) fn inherited(self) -> Self {
        Self {
            longest: false,
            shortest: false,
            mixed: self.mixed | (self.longest & self.shortest),
            captures: self.captures,
        }
    }

    /// Of two in a sequence: the preference of the first that has one.
    pub(super) fn combined(self, second: Self) -> Self {
        let preferring = if self.has_preference() { self } else { second };
        self.with(second).inherited().with(preferring.preference())
    }

    pub(super) fn preference(self) -> Self {
        Self { longest: self.longest, shortest: self.shortest, ..Self::default() }
    }

    fn has_preference(self) -> bool {
        self.longest | self.shortest
    }

    /// Whether it matters how a match divides into its parts.
    pub(super) fn is_divided(self) -> bool {
        let inherited = self.inherited();
        inherited.mixed | inherited.captures
    }

    /// Whether a quantifier `{1,1}` of this preference changes nothing about an atom.
    pub(super) fn agrees_with(self, prefers: Option<Length>) -> bool {
        let own = (self.longest, self.shortest, self.mixed);
        match prefers {
            None => true,
            Some(Length::Longest) => own == (true, false, false) || own == (false, false, false),
            Some(Length::Shortest) => own == (false, true, false) || own == (false, false, false),
        }
    }
}
