//! Patterns and what they match, as PostgreSQL 15 answers.

use super::options::{Flags, Options};
use super::pattern::{Matches, Pattern};
use crate::carried::Stop;

/// All matches with their groups, or the error: `{[a]~}` is a match whose second group is NULL.
fn answer(flags: &str, pattern: &str, text: &str) -> String {
    let stop = Stop::default();
    let answered = || -> datafusion::common::Result<String> {
        let pattern = Pattern::compile(pattern, Flags::parse(flags)?.options)?;
        let mut out = String::new();
        let mut matches = Matches::of(&pattern, text, 0, &stop);
        while let Some(found) = matches.next()? {
            let groups = match pattern.group_count() {
                0 => vec![Some(found)],
                _ => pattern.groups(text, found, &stop)?,
            };
            out.push('{');
            for group in groups {
                match group {
                    Some((start, end)) => out.extend(["[", &text[start..end], "]"]),
                    None => out.push('~'),
                }
            }
            out.push('}');
        }
        assert_eq!(pattern.is_match(text, &stop)?, !out.is_empty());
        Ok(out)
    };
    answered().unwrap_or_else(|error| {
        let message = error.to_string();
        message.trim_start_matches("External error: ").to_owned()
    })
}

/// Flags, pattern, text, and the matches.
const ANSWERED: &[(&str, &str, &str, &str)] = &[
    // The longest, not the first alternative.
    ("", r"\d|\d+", "2020-01-02", "{[2020]}{[01]}{[02]}"),
    ("", "a|ab|abc", "abcd", "{[abc]}"),
    ("", "(a|ab)(c|bcd)?", "abcd", "{[a][bcd]}"),
    ("", "(a|ab)(bc|c)?(d*)", "abcd", "{[ab][c][d]}"),
    ("", "x*", "axxb", "{[]}{[xx]}{[]}{[]}"),
    // Line ends.
    ("", "a.b", "a\nb", "{[a\nb]}"),
    ("n", "a.b", "a\nb", ""),
    ("n", "^b$", "a\nb\nc", "{[b]}"),
    ("p", "^.*", "a\nb", "{[a]}"),
    ("w", "^b.*", "a\nb\nc", "{[b\nc]}"),
    ("n", "[^a]", "a\n", ""),
    ("n", r"\D+", "a\n", "{[a\n]}"),
    ("", "^b", "a\nb", ""),
    // What is preferred.
    ("", "a+?", "aaa", "{[a]}{[a]}{[a]}"),
    ("", "(.*?)(b+)", "aabb", "{[aa][b]}{[][b]}"),
    ("", "(.*)(b+?)", "aabb", "{[aab][b]}"),
    ("", "(?:a|ab)??c", "abc", "{[abc]}"),
    ("", "Y*?([0-9]{1,3})", "XY1234Z", "{[1]}{[2]}{[3]}{[4]}"),
    ("", "(?:Y*([0-9]{1,3}))", "XY1234Z", "{[123]}{[4]}"),
    ("", "(?:(.*?)(\\d+)(.*)){1,1}", "abc01234xyz", "{[abc][01234][xyz]}"),
    // Groups: of repetitions the last.
    ("", "(a|b)*", "abab", "{[b]}{~}"),
    ("", "((a)|b)+", "ab", "{[b]~}"),
    ("", "(ab|a)(b)?", "ab", "{[ab]~}"),
    ("", "(x)?y", "y", "{~}"),
    ("", "((x))", "x", "{[x][x]}"),
    ("", "(a){0}b", "ab", "{~}"),
    ("", "(ab?){2,3}", "abaab", "{[ab]}"),
    // Words.
    ("", r"\m\w+\M", "ab cé", "{[ab]}{[cé]}"),
    ("", r"\yb\w*", "ab bc", "{[bc]}"),
    ("", "[[:<:]]b|a[[:>:]]", "b ba", "{[b]}{[b]}{[a]}"),
    // Characters.
    ("i", "É", "é", "{[é]}"),
    ("i", "[a-c]+", "aBC", "{[aBC]}"),
    ("", "[[:alpha:]]+", "aé日1", "{[aé日]}"),
    ("", r"[\d_]+", "a1_", "{[1_]}"),
    ("", "[]a]+", "a]b", "{[a]]}"),
    ("", r"\x61\u0062\143", "abc", "{[abc]}"),
    ("", r"a\Bb", r"a\b", r"{[a\b]}"),
    ("", "[[.-.]a]+", "a-b", "{[a-]}"),
    // Ways to write it.
    ("x", "a b # c\n c", "abc", "{[abc]}"),
    ("", "(?i)B", "abc", "{[b]}"),
    ("", "***=a.b", "a.b axb", "{[a.b]}"),
    ("q", "a.b", "a.b axb", "{[a.b]}"),
    ("", "a{,2}", "a{,2}", "{[a{,2}]}"),
    ("", "a(?#b)+", "aa", "{[aa]}"),
    ("", "()", "a", "{[]}{[]}"),
];

#[test]
fn matches_are_those_of_postgres() {
    for (flags, pattern, text, expected) in ANSWERED {
        assert_eq!(answer(flags, pattern, text), *expected, "{pattern} with \"{flags}\" of {text:?}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let invalid = [
        ("(", "parentheses () not balanced"),
        ("a)", "parentheses () not balanced"),
        ("[a", "brackets [] not balanced"),
        ("a{1", "braces {} not balanced"),
        ("a{2,1}", "invalid repetition count(s)"),
        ("a{256}", "invalid repetition count(s)"),
        ("a**", "quantifier operand invalid"),
        ("^*", "quantifier operand invalid"),
        ("[b-a]", "invalid character range"),
        (r"\q", "invalid escape \\ sequence"),
        ("[[:foo:]]", "invalid character class"),
        ("(?z)a", "invalid embedded option"),
    ];
    for (pattern, reason) in invalid {
        assert_eq!(answer("", pattern, ""), format!("invalid regular expression: {reason}"), "{pattern}");
    }
    for (pattern, what) in [
        (r"(a)\1", "back references"),
        ("(?=a)", "look-ahead"),
        ("(?<!a)b", "look-behind"),
        ("(?e)a", "plain extended regular expressions"),
    ] {
        let said = answer("", pattern, "");
        assert!(said.contains(what) && said.contains("not supported"), "{said}");
    }
    assert_eq!(answer("1", "a", ""), "invalid regular expression option: \"1\"");
    assert_eq!(answer("qn", "a", ""), "invalid regular expression: invalid argument to regex function");
}

/// What is nested or repeated too often is refused before it is made.
#[test]
fn patterns_are_bounded() {
    let deep = "(".repeat(1000) + &")".repeat(1000);
    assert!(answer("", &deep, "").contains("too complex"));
    let wide = "((((a{255}){255}){255}){255})";
    assert!(answer("", wide, "").contains("too complex"));
    let many = "(a)".repeat(1000);
    assert!(answer("", &many, "").contains("too complex"));
    assert_eq!(answer("", &"a".repeat(100_000), "b"), "");
}

#[test]
fn patterns_are_kept() {
    let cache = super::PatternCache::default();
    let first = cache.pattern("a+", Options::default()).expect("a pattern");
    let again = cache.pattern("a+", Options::default()).expect("a pattern");
    assert!(std::sync::Arc::ptr_eq(&first, &again));
    let other = cache.pattern("a+", Options::IGNORE_CASE).expect("a pattern");
    assert!(!std::sync::Arc::ptr_eq(&first, &other));
}
