//! The name that was meant.

/// The candidate most like `name`, if any is like it at all: the same letters in another case, or a
/// few typing errors away.
pub fn suggestion<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let folded = name.to_lowercase();
    let distance = |candidate: &&&str| strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
    let nearest = candidates.iter().min_by_key(distance)?;
    (distance(&nearest) * 3 <= folded.chars().count().max(3)).then_some(*nearest)
}
