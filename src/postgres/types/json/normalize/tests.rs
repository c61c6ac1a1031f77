use rowkey_base::testing::Dice;

use super::normalized;
use crate::types::json::Tree;

/// A document whose objects have few keys, so that some come twice.
fn document(dice: &mut Dice, depth: usize) -> String {
    let blank = |dice: &mut Dice| dice.pick(&["", "", " ", "\n\t"]);
    if depth == 0 || dice.chance(4) {
        return dice.pick(&["1", "-0", "1.50", "2e3", "null", "true", r#""a""#, r#""\u00e9\/, {\"""#]).to_owned();
    }
    let mut text = String::new();
    let is_object = !dice.chance(3);
    text.push(if is_object { '{' } else { '[' });
    for place in 0..dice.below(5) {
        if place > 0 {
            text.push(',');
        }
        text.push_str(blank(dice));
        if is_object {
            let key = dice.pick(&["a", "b", "bb", "c", "", "\\u0061", "é", "ccc"]);
            text.push_str(&format!("\"{key}\"{}:{}", blank(dice), blank(dice)));
        }
        text.push_str(&document(dice, depth - 1));
        text.push_str(blank(dice));
    }
    text.push(if is_object { '}' } else { ']' });
    text
}

#[test]
fn a_text_is_that_of_the_value_taken_apart() {
    for seed in 0..3000 {
        let text = document(&mut Dice(seed), 6);
        let tree = Tree::read(&text).map(|tree| tree.to_text());
        assert_eq!(normalized(&text), tree, "seed {seed}: {text}");
    }
}

#[test]
fn members_are_moved_once_however_deep_they_lie() {
    let depth = 400;
    let filling = "x".repeat(1 << 20);
    let text = format!("{}\"{filling}\"{}", r#"{"b":1,"a":"#.repeat(depth), "}".repeat(depth));
    let expected = format!("{}\"{filling}\"{}", r#"{"a": "#.repeat(depth), r#", "b": 1}"#.repeat(depth));
    assert_eq!(normalized(&text), Ok(expected));
}
