//! `regexp_replace`, whose replacements are counted before they are made where they may be many.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::Volatility;
use regex::Regex;

use super::kind::Kind;
use super::pattern::Last;
use super::scalar::{Arguments, Call, Function};
use super::strings::Texts;

pub(super) static FUNCTIONS: [Function; 1] = [Function {
    name: "regexp_replace",
    arity: 3..=4,
    volatility: Volatility::Immutable,
    returns: |arguments: &Arguments| match arguments.kind(0) {
        Kind::Text | Kind::Null => Ok(DataType::Utf8View),
        _ => arguments.undefined(),
    },
    run: replaced,
}];

fn replaced(call: &Call) -> Result<ArrayRef> {
    let (inputs, patterns, replacements) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let flags = if call.len() == 4 { Some(call.text(3)?) } else { None };
    let mut last = Last::default();
    let mut replacement = Replacement::of("");
    let mut texts = Texts::of(call);
    for row in 0..call.rows {
        if call.args.iter().any(|array| array.is_null(row)) {
            texts.built.append_null();
            continue;
        }
        let flags = flags.as_ref().map_or("", |flags| flags.value(row));
        let regex = last.pattern(patterns.value(row), flags)?;
        if replacement.written != replacements.value(row) {
            replacement = Replacement::of(replacements.value(row));
        }
        let (text, global) = (inputs.value(row), flags.contains('g'));
        texts.reserve(replacement.bytes(text, regex, global, &texts))?;
        let limit = if global { 0 } else { 1 };
        texts.append(regex.replacen(text, limit, replacement.expanded.as_str()).into_owned())?;
    }
    Ok(texts.finish())
}

/// What goes in the place of a match.
struct Replacement {
    /// In PostgreSQL's form.
    written: String,
    /// As the crate has it.
    expanded: String,
    /// How often it mentions a group.
    groups: usize,
}

impl Replacement {
    /// `\1` is a group, `\&` the whole match, `\\` a backslash.
    fn of(written: &str) -> Self {
        let (mut expanded, mut groups) = (String::with_capacity(written.len()), 0);
        let mut characters = written.chars().peekable();
        while let Some(character) = characters.next() {
            let next = characters.peek().copied();
            match (character, next) {
                ('\\', Some(digit @ ('1'..='9' | '&'))) => {
                    characters.next();
                    let group = if digit == '&' { '0' } else { digit };
                    expanded.extend(['$', '{', group, '}']);
                    groups += 1;
                }
                ('\\', Some('\\')) => {
                    characters.next();
                    expanded.push('\\');
                }
                ('$', _) => expanded.push_str("$$"),
                (character, _) => expanded.push(character),
            }
        }
        Self { written: written.to_owned(), expanded, groups }
    }

    /// Bytes of a text with its matches replaced, at most; counted only where they may be too many.
    fn bytes(&self, text: &str, regex: &Regex, global: bool, texts: &Texts) -> usize {
        let with = |matches: usize| {
            // All matches together are the text once, and so is each of their groups.
            let groups = text.len().saturating_mul(self.groups);
            matches.saturating_mul(self.expanded.len()).saturating_add(groups).saturating_add(text.len())
        };
        let most = with(if global { text.len() + 1 } else { 1 });
        match texts.has(most) {
            true => text.len(),
            false => with(if global { regex.find_iter(text).count() } else { 1 }),
        }
    }
}
