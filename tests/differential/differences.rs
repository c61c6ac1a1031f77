//! Where answers are known to differ from PostgreSQL's. README says the same in words.

/// A construct that is answered otherwise.
#[derive(Debug)]
pub struct Difference {
    /// A question that shows it. When both answer alike, the entry is to go.
    pub example: &'static str,
    /// Questions that hold all of these pieces are not compared.
    pub pieces: &'static [&'static str],
    pub reason: &'static str,
}

pub const DIFFERENCES: &[Difference] = &[];
