//! Generated patterns of regular expressions over texts with line ends, under every function that
//! takes one.

use rowkey_base::testing::Dice;

/// Texts, as the inside of `E'...'`.
const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "ab",
    "aab",
    "abab",
    "abc",
    "a b",
    "A1",
    "aB_c",
    "a\\nb",
    "a\\r\\nb",
    "\\n",
    "\\n\\n",
    "a\\tb",
    "\\r",
    "x\\ny\\nz",
    "é",
    "Éa",
    "aßb",
    "日本",
    "a-b.c",
    "2020-01-02",
    "12 ab 34",
    "foo bar",
    "ab\\nab\\n",
    "  a  ",
    "_",
    "\\\\",
    "cabbac",
    "1,22,333",
];

const CHARACTERS: &[&str] =
    &["a", "b", "c", "a", "b", "1", "2", " ", "é", "A", "_", "-", "\\\\.", "\\\\n", "\\\\t", "o"];

const CLASSES: &[&str] = &[
    ".",
    ".",
    ".",
    "[abc]",
    "[^a]",
    "[a-c]",
    "[^a-c]",
    "[0-9]",
    "[]a]",
    "[^]a]",
    "[a-]",
    "[A-Z]",
    "[^\\n]",
    "\\\\d",
    "\\\\w",
    "\\\\s",
    "\\\\D",
    "\\\\W",
    "\\\\S",
    "[\\\\d_]",
    "[\\\\w-]",
    "[[:alpha:]]",
    "[[:digit:]]",
    "[^[:space:]]",
    "[[:upper:]]",
    "[[:lower:]]",
    "[[:punct:]]",
    "[[:alnum:]é]",
    "[[=a=]b]",
    "[[.-.]a]",
    "[é-ü]",
];

const CONSTRAINTS: &[&str] =
    &["^", "$", "^", "$", "\\\\A", "\\\\Z", "\\\\m", "\\\\M", "\\\\y", "\\\\Y", "[[:<:]]", "[[:>:]]"];

const QUANTIFIERS: &[&str] =
    &["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{1,}", "{0}", "{0,1}", "*?", "+?", "??", "{1,2}?", "{0,}?", "{1,1}?"];

const WRONG: &[&str] = &[
    "(",
    "a)",
    "[a",
    "a{1",
    "a**",
    "*a",
    "[b-a]",
    "\\\\",
    "\\\\q",
    "[[:foo:]]",
    "a{2,1}",
    "a{256}",
    "(?z)a",
    "a|*",
    "^*",
    "[a-\\\\d]",
    "(?",
    "a{1x",
];

const FLAGS: &[&str] = &["", "", "i", "n", "m", "p", "w", "s", "c", "x", "q", "ni", "in", "ci"];

/// A pattern, as the inside of `E'...'`.
pub(crate) fn pattern(depth: usize, dice: &mut Dice) -> String {
    if dice.chance(40) {
        return dice.pick(WRONG).to_owned();
    }
    let options =
        if dice.chance(15) { dice.pick(&["(?i)", "(?n)", "(?p)", "(?w)", "(?x)", "***:", "***="]) } else { "" };
    format!("{options}{}", alternatives(depth, dice))
}

fn alternatives(depth: usize, dice: &mut Dice) -> String {
    let branches = dice.pick(&[1, 1, 1, 2, 2, 3]);
    (0..branches).map(|_| sequence(depth, dice)).collect::<Vec<_>>().join("|")
}

fn sequence(depth: usize, dice: &mut Dice) -> String {
    let mut text = String::new();
    for _ in 0..dice.pick(&[0, 1, 1, 2, 2, 3, 3, 4]) {
        if dice.chance(12) {
            text.push_str(dice.pick(CONSTRAINTS));
            continue;
        }
        if depth > 0 && dice.chance(3) {
            let opens = dice.pick(&["(", "(", "(?:"]);
            text.push_str(&format!("{opens}{})", alternatives(depth - 1, dice)));
        } else if dice.chance(3) {
            text.push_str(dice.pick(CLASSES));
        } else {
            text.push_str(dice.pick(CHARACTERS));
        }
        if dice.chance(3) {
            text.push_str(dice.pick(QUANTIFIERS));
        }
    }
    text
}

/// A pattern of SIMILAR TO.
fn similar(dice: &mut Dice) -> String {
    const PARTS: &[&str] =
        &["a", "b", "%", "_", "%", "(a|b)", "(ab|a)", "[a-c]", "[^a]", "a*", "b+", "_?", ".", "^", "$", "#_"];
    (0..1 + dice.below(4)).map(|_| dice.pick(PARTS)).collect()
}

/// Uses of a pattern `{p}` with flags `{f}`, an escaped pattern `{s}` of SIMILAR TO, a replacement
/// `{r}` and small numbers `{n}`, over the text `t`.
const USES: &[&str] = &[
    "t ~ E'{p}'",
    "t ~* E'{p}'",
    "t !~ E'{p}'",
    "t !~* E'{p}'",
    "regexp_like(t, E'{p}', '{f}')",
    "regexp_count(t, E'{p}')",
    "regexp_count(t, E'{p}', {n}, '{f}')",
    "regexp_instr(t, E'{p}')",
    "regexp_instr(t, E'{p}', {n}, {n}, 1, '{f}')",
    "regexp_instr(t, E'{p}', 1, 1, 0, '{f}', {n})",
    "regexp_substr(t, E'{p}')",
    "regexp_substr(t, E'{p}', {n}, {n}, '{f}')",
    "regexp_substr(t, E'{p}', 1, 1, '{f}', {n})",
    "regexp_match(t, E'{p}')",
    "regexp_match(t, E'{p}', '{f}')",
    "regexp_replace(t, E'{p}', E'{r}')",
    "regexp_replace(t, E'{p}', E'{r}', 'g')",
    "regexp_replace(t, E'{p}', E'{r}', 'g{f}')",
    "regexp_replace(t, E'{p}', E'{r}', {n})",
    "regexp_replace(t, E'{p}', E'{r}', {n}, {n})",
    "regexp_replace(t, E'{p}', E'{r}', {n}, 0, '{f}')",
    "regexp_split_to_array(t, E'{p}')",
    "regexp_split_to_array(t, E'{p}', '{f}')",
    "substring(t FROM E'{p}')",
    "substring(t, E'{p}')",
    "t SIMILAR TO E'{s}'",
    "t NOT SIMILAR TO E'{s}' ESCAPE '#'",
    "substring(t, E'{s}', '#')",
    "substring(t FROM E'{s}#\"{s}#\"{s}' FOR '#')",
    "(SELECT array_agg(x) FROM regexp_split_to_table(t, E'{p}', '{f}') AS x)",
    "(SELECT string_agg(array_to_string(m, '|', '*'), ';') FROM regexp_matches(t, E'{p}', 'g{f}') AS m)",
    "(SELECT string_agg(array_to_string(m, '|', '*'), ';') FROM regexp_matches(t, E'{p}') AS m)",
];

/// A question for every use, over some of the texts, in order.
pub(crate) fn questions(dice: &mut Dice) -> Vec<String> {
    let filled = |template: &&str| {
        let mut text = (*template).to_owned();
        for (hole, of) in [("{p}", 'p'), ("{f}", 'f'), ("{s}", 's'), ("{r}", 'r'), ("{n}", 'n')] {
            while let Some(at) = text.find(hole) {
                let part = match of {
                    'p' => pattern(2, dice),
                    'f' => dice.pick(FLAGS).to_owned(),
                    's' => similar(dice),
                    'r' => dice
                        .pick(&["", "x", "<\\\\&>", "[\\\\1]", "\\\\2\\\\1", "\\\\\\\\", "$1", "\\\\n", "é"])
                        .to_owned(),
                    _ => (1 + dice.below(3)).to_string(),
                };
                text.replace_range(at..at + hole.len(), &part);
            }
        }
        let rows: Vec<String> = (0..12)
            .map(|row| match dice.chance(12) {
                true => format!("({row}, NULL)"),
                false => format!("({row}, E'{}')", dice.pick(TEXTS)),
            })
            .collect();
        format!("SELECT {text} AS e FROM (VALUES (-1, 'ab'::text), {}) AS v(k, t) ORDER BY k", rows.join(", "))
    };
    USES.iter().map(filled).collect()
}
