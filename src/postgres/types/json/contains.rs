//! `@>`: whether all parts of one value are in another.

use std::collections::HashSet;

use super::order::write_part;
use super::tree::Tree;
use super::{Result, too_large};

/// So many values are compared at most.
const STEPS_MAX: usize = 200_000_000;

/// Whether `tree` contains `sought`. An array contains its elements as scalars, too.
///
/// # Errors
/// Too many arrays and objects in arrays would be compared with each other.
pub fn contains(tree: &Tree, sought: &Tree) -> Result<bool> {
    let mut steps = STEPS_MAX;
    match (tree, sought) {
        (Tree::Array(elements), scalar) if scalar.is_scalar() => Ok(elements.iter().any(|one| is_equal(one, scalar))),
        (tree, sought) if tree.is_scalar() => Ok(is_equal(tree, sought)),
        (tree, sought) => deep(tree, sought, &mut steps),
    }
}

/// Two scalars; false for others.
fn is_equal(left: &Tree, right: &Tree) -> bool {
    match (left, right) {
        (Tree::Null, Tree::Null) => true,
        (Tree::Boolean(left), Tree::Boolean(right)) => left == right,
        (Tree::String(left), Tree::String(right)) => left == right,
        (Tree::Number(left), Tree::Number(right)) => super::number::canonical(left) == super::number::canonical(right),
        _ => false,
    }
}

fn deep(tree: &Tree, sought: &Tree, steps: &mut usize) -> Result<bool> {
    *steps = steps.checked_sub(1).ok_or_else(|| too_large("values of JSON have too many parts to be compared"))?;
    match (tree, sought) {
        (Tree::Object(members), Tree::Object(wanted)) => {
            for (key, wanted) in wanted {
                let order = |name: &str| (name.len(), name.as_bytes()).cmp(&(key.len(), key.as_bytes()));
                let Ok(at) = members.binary_search_by(|(name, _)| order(name)) else { return Ok(false) };
                let value = &members[at].1;
                let contained = if wanted.is_scalar() { is_equal(value, wanted) } else { deep(value, wanted, steps)? };
                if !contained {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Tree::Array(elements), Tree::Array(wanted)) => {
            let part = |element: &Tree| {
                let mut key = String::new();
                write_part(element, &mut key);
                key
            };
            let scalars: HashSet<String> = match wanted.iter().any(Tree::is_scalar) {
                true => elements.iter().filter(|element| element.is_scalar()).map(part).collect(),
                false => HashSet::new(),
            };
            let others: Vec<&Tree> = elements.iter().filter(|element| !element.is_scalar()).collect();
            for wanted in wanted {
                let mut contained = wanted.is_scalar() && scalars.contains(&part(wanted));
                if !wanted.is_scalar() {
                    for other in &others {
                        contained = deep(other, wanted, steps)?;
                        if contained {
                            break;
                        }
                    }
                }
                if !contained {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_contained() {
        for (tree, sought, expected) in [
            (r#"{"a":1,"b":{"c":[1,2,3]}}"#, r#"{"b":{"c":[3,1]}}"#, true),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, true),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
            ("[1,2,[3]]", "[[3]]", true),
            ("[1,2,[3]]", "[3]", false),
            ("[1,2]", "1", true),
            ("1", "[1]", false),
            ("1", "1", true),
            ("[[1]]", "1", false),
            ("[]", "[]", true),
            ("{}", "[]", false),
            (r#"[{"a":1,"b":2},{"a":3}]"#, r#"[{"a":3},{"b":2}]"#, true),
            (r#"{"a":[1]}"#, r#"{"a":1}"#, false),
        ] {
            let (tree, sought) = (Tree::read(tree).expect("JSON"), Tree::read(sought).expect("JSON"));
            assert_eq!(contains(&tree, &sought), Ok(expected), "{tree:?} {sought:?}");
        }
    }
}
