//! `~`, `~*`, `!~` and `!~*`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, Like, Operator};
use regex_syntax::hir::ClassUnicode;

use super::cache::RowPatterns;
use super::options::Options;
use super::parser::parse;
use super::tree::{Alternatives, Atom, Constraint, Item};
use crate::carried::Stop;
use crate::functions::kind::Kind;
use crate::functions::scalar::{Arguments, Call, Function, immutable_of};

/// By PostgreSQL's names of the functions behind the operators.
pub(in crate::functions) static FUNCTIONS: [Function; 4] = [
    immutable_of("textregexeq", 2, returns, |call| of_call(call, false, false)),
    immutable_of("texticregexeq", 2, returns, |call| of_call(call, true, false)),
    immutable_of("textregexne", 2, returns, |call| of_call(call, false, true)),
    immutable_of("texticregexne", 2, returns, |call| of_call(call, true, true)),
];

/// The function behind an operator.
pub(in crate::functions) fn of_operator(operator: Operator) -> Option<&'static Function> {
    FUNCTIONS.get(match operator {
        Operator::RegexMatch => 0,
        Operator::RegexIMatch => 1,
        Operator::RegexNotMatch => 2,
        Operator::RegexNotIMatch => 3,
        _ => return None,
    })
}

fn returns(arguments: &Arguments) -> Result<DataType> {
    let texts = (0..2).all(|place| matches!(arguments.kind(place), Kind::Text | Kind::Null));
    if texts { Ok(DataType::Boolean) } else { arguments.undefined() }
}

fn of_call(call: &Call, ignore_case: bool, negated: bool) -> Result<ArrayRef> {
    let (texts, patterns): (ArrayRef, ArrayRef) = (Arc::new(call.text(0)?), Arc::new(call.text(1)?));
    Ok(Arc::new(matched(call.options, &texts, &patterns, ignore_case, negated)?))
}

/// Which texts match the patterns beside them, or do not; both are views.
pub(in crate::functions) fn matched(
    config: &ConfigOptions,
    texts: &ArrayRef,
    patterns: &ArrayRef,
    ignore_case: bool,
    negated: bool,
) -> Result<BooleanArray> {
    let (texts, patterns) = (texts.as_string_view(), patterns.as_string_view());
    let options = if ignore_case { Options::IGNORE_CASE } else { Options::default() };
    let stop = Stop::of(config);
    let mut compiled = RowPatterns::of(config);
    let mut values = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        if texts.is_null(row) || patterns.is_null(row) {
            values.push(None);
            continue;
        }
        stop.check()?;
        let pattern = compiled.pattern(patterns.value(row), options)?;
        values.push(Some(pattern.is_match(texts.value(row), &stop)? != negated));
    }
    Ok(BooleanArray::from(values))
}

/// A pattern that is a text between anchors, as a comparison that keys are found by: `^text$` is
/// equality, `^text` a pattern of LIKE.
pub(in crate::functions) fn simplified(left: &Expr, operator: Operator, pattern: &str) -> Option<Expr> {
    let negated = match operator {
        Operator::RegexMatch => false,
        Operator::RegexNotMatch => true,
        _ => return None,
    };
    let expression = parse(pattern, Options::default()).ok()?;
    let mut found = Anchored::default();
    if !found.take(&expression.alternatives) || !found.starts {
        return None;
    }
    let literal = |text: String| Expr::Literal(ScalarValue::Utf8(Some(text)), None);
    if found.ends {
        let text = literal(found.text);
        return Some(if negated { left.clone().not_eq(text) } else { left.clone().eq(text) });
    }
    let mut like = String::with_capacity(found.text.len() + 1);
    for character in found.text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            like.push('\\');
        }
        like.push(character);
    }
    like.push('%');
    Some(Expr::Like(Like::new(negated, Box::new(left.clone()), Box::new(literal(like)), None, false)))
}

/// A text between anchors, as far as it was read.
#[derive(Default)]
struct Anchored {
    starts: bool,
    text: String,
    ends: bool,
}

impl Anchored {
    /// Whether there is nothing else in a pattern.
    fn take(&mut self, alternatives: &Alternatives) -> bool {
        let [items] = alternatives.0.as_slice() else { return false };
        items.iter().all(|item| match item {
            Item::Constraint(Constraint::TextStart) if self.text.is_empty() && !self.ends => {
                self.starts = true;
                true
            }
            Item::Constraint(Constraint::TextEnd) => {
                self.ends = true;
                true
            }
            Item::Quantified { atom, quantifier } if quantifier.is_once() && !self.ends => match atom {
                Atom::Characters(class) => self.take_character(class),
                Atom::Group { inner, .. } => self.take(inner),
            },
            _ => false,
        })
    }

    fn take_character(&mut self, class: &ClassUnicode) -> bool {
        match class.ranges() {
            [range] if range.start() == range.end() && self.starts => {
                self.text.push(range.start());
                true
            }
            _ => false,
        }
    }
}
