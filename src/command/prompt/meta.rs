//! Commands that begin with a backslash: what they are called and what they take.

use std::path::PathBuf;

use super::local_copy::{self, LocalCopy};

/// A switch that is set, or turned over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    On,
    Off,
    Toggle,
}

/// Which form results have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expanded {
    On,
    Off,
    /// Where the table is wider than the screen.
    Auto,
    Toggle,
}

/// Which objects are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    Relations,
    Tables,
    Views,
    Schemas,
    Functions,
    Databases,
    Roles,
}

/// A meta command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meta {
    Describe(String),
    List(Listing, Option<String>),
    Expanded(Expanded),
    Timing(Switch),
    Edit,
    Include(PathBuf),
    Output(Option<PathBuf>),
    /// Runs what is written so far; expanded or as it is set.
    Go {
        expanded: bool,
    },
    Print,
    Reset,
    Echo(String),
    Null(Option<String>),
    ConnectionInfo,
    /// The database that is to be open.
    Connect(Option<String>),
    /// A name and its value; nothing lists them.
    Set(Option<(String, String)>),
    Unset(String),
    Copy(LocalCopy),
    Help,
    SqlHelp(Option<String>),
    Quit,
}

/// Names, what they take, and what they do: for `\?` and for completion.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("\\d", "[NAME]", "describe a table or view, or list them; * and ? stand for any text and any character"),
    ("\\dt", "[PATTERN]", "list tables"),
    ("\\dv", "[PATTERN]", "list views"),
    ("\\dn", "[PATTERN]", "list schemas"),
    ("\\df", "[PATTERN]", "list functions"),
    ("\\du", "[PATTERN]", "list roles"),
    ("\\l", "", "list databases"),
    (
        "\\x",
        "[on|off|auto]",
        "one line a column, instead of one line a row; auto: where a row is wider than the screen",
    ),
    ("\\timing", "[on|off]", "show how long statements take"),
    ("\\pset", "null TEXT", "what stands for NULL"),
    ("\\e", "", "edit the statement, or the last one, in $VISUAL or $EDITOR, and run it"),
    ("\\g", "", "run what is written so far, like a semicolon"),
    ("\\gx", "", "the same, with one line a column"),
    ("\\p", "", "print what is written so far"),
    ("\\r", "", "forget what is written so far"),
    ("\\i", "FILE", "run the statements and commands of a file"),
    ("\\o", "[FILE]", "write results to a file, or to the screen again"),
    ("\\copy", "...", "copy rows: TABLE FROM 'FILE', or TABLE or (QUERY) TO 'FILE', and options as in COPY"),
    ("\\echo", "TEXT", "print a text"),
    ("\\set", "[NAME TEXT]", "let :NAME, :'NAME' and :\"NAME\" stand for a text in statements, or list such names"),
    ("\\unset", "NAME", "forget such a name"),
    ("\\c", "[DATABASE]", "tell the database and the user; --account opens another one"),
    ("\\conninfo", "", "tell what is open"),
    ("\\h", "[NAME]", "statements, and how they are written"),
    ("\\?", "", "these commands"),
    ("\\q", "", "leave; so do quit, exit and Ctrl-D"),
];

/// Reads a line that begins with a backslash. The error is for people.
pub(super) fn parse(line: &str) -> Result<Meta, String> {
    let line = line.trim();
    let (name, rest) = line.split_at(line.find(char::is_whitespace).unwrap_or(line.len()));
    let rest = rest.trim();
    if name == "\\echo" {
        return Ok(Meta::Echo(arguments(name, rest)?.join(" ")));
    }
    if name == "\\copy" {
        return local_copy::parse(rest).map(Meta::Copy);
    }
    if name == "\\h" {
        let topic = rest.trim_end_matches(';').trim();
        return Ok(Meta::SqlHelp((!topic.is_empty()).then(|| topic.to_owned())));
    }
    // Names keep their quotes, which tell their case.
    // `+` asks for details, which are always shown.
    let listed = name.strip_suffix('+').filter(|name| name.starts_with("\\d") || *name == "\\l");
    let name = listed.unwrap_or(name);
    let is_pattern = matches!(name, "\\d" | "\\dt" | "\\dv" | "\\dn" | "\\df" | "\\du");
    if is_pattern {
        let pattern = rest.trim_end_matches(';').trim();
        let pattern = (!pattern.is_empty()).then(|| pattern.to_owned());
        return Ok(match (name, pattern) {
            ("\\d", Some(pattern)) => Meta::Describe(pattern),
            ("\\d", None) => Meta::List(Listing::Relations, None),
            ("\\dt", pattern) => Meta::List(Listing::Tables, pattern),
            ("\\dv", pattern) => Meta::List(Listing::Views, pattern),
            ("\\dn", pattern) => Meta::List(Listing::Schemas, pattern),
            ("\\du", pattern) => Meta::List(Listing::Roles, pattern),
            (_, pattern) => Meta::List(Listing::Functions, pattern),
        });
    }
    let words = arguments(name, rest)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let too_many = |most: usize| match words.get(most) {
        Some(extra) => Err(format!("{name}: extra argument \"{extra}\"")),
        None => Ok(()),
    };
    let none = |meta| too_many(0).map(|()| meta);
    match name {
        "\\l" => none(Meta::List(Listing::Databases, None)),
        "\\e" => none(Meta::Edit),
        "\\g" => none(Meta::Go { expanded: false }),
        "\\gx" => none(Meta::Go { expanded: true }),
        "\\p" => none(Meta::Print),
        "\\r" => none(Meta::Reset),
        "\\conninfo" => none(Meta::ConnectionInfo),
        "\\?" => none(Meta::Help),
        "\\q" => none(Meta::Quit),
        "\\x" => {
            too_many(1)?;
            Ok(Meta::Expanded(match words.first() {
                None => Expanded::Toggle,
                Some(word) if word.eq_ignore_ascii_case("auto") => Expanded::Auto,
                Some(word) => match switch(word) {
                    Some(true) => Expanded::On,
                    Some(false) => Expanded::Off,
                    None => return Err(format!("\\x: \"{word}\" is none of on, off and auto")),
                },
            }))
        }
        "\\timing" => {
            too_many(1)?;
            Ok(Meta::Timing(match words.first() {
                None => Switch::Toggle,
                Some(word) => match switch(word) {
                    Some(true) => Switch::On,
                    Some(false) => Switch::Off,
                    None => return Err(format!("\\timing: \"{word}\" is neither on nor off")),
                },
            }))
        }
        "\\pset" => {
            too_many(2)?;
            match words[..] {
                ["null"] => Ok(Meta::Null(None)),
                ["null", text] => Ok(Meta::Null(Some(text.to_owned()))),
                [] => Err("\\pset: there is one option to set: null".to_owned()),
                [option, ..] => Err(format!("\\pset: unknown option \"{option}\"; there is one: null")),
            }
        }
        "\\c" => {
            too_many(1)?;
            Ok(Meta::Connect(words.first().map(|name| (*name).to_owned())))
        }
        "\\set" => Ok(Meta::Set(words.split_first().map(|(name, values)| ((*name).to_owned(), values.concat())))),
        "\\unset" => {
            too_many(1)?;
            words.first().map(|name| Meta::Unset((*name).to_owned())).ok_or("\\unset: name a variable".to_owned())
        }
        "\\i" => {
            too_many(1)?;
            words.first().map(|file| Meta::Include(PathBuf::from(file))).ok_or("\\i: name a file".to_owned())
        }
        "\\o" => {
            too_many(1)?;
            Ok(Meta::Output(words.first().map(PathBuf::from)))
        }
        _ => Err(format!("invalid command {name}; try \\? for help")),
    }
}

fn switch(word: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other));
    if is(&["on", "true", "yes", "1"]) {
        Some(true)
    } else if is(&["off", "false", "no", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// Words between blanks; single quotes keep blanks together, and a doubled one inside stands for
/// itself.
fn arguments(name: &str, text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('\'') if chars.peek() == Some(&'\'') => {
                            chars.next();
                            word.push('\'');
                        }
                        Some('\'') => break,
                        Some(char) => word.push(char),
                        None => return Err(format!("{name}: unterminated quoted string")),
                    }
                }
            }
            char if char.is_whitespace() => words.extend(word.take()),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_arguments() {
        for (line, expected) in [
            ("\\d", Meta::List(Listing::Relations, None)),
            ("\\d \"My Table\";", Meta::Describe("\"My Table\"".to_owned())),
            ("\\dt  rowkey.* ", Meta::List(Listing::Tables, Some("rowkey.*".to_owned()))),
            ("\\l", Meta::List(Listing::Databases, None)),
            ("\\dt+ a*", Meta::List(Listing::Tables, Some("a*".to_owned()))),
            ("\\d+ t", Meta::Describe("t".to_owned())),
            ("\\l+", Meta::List(Listing::Databases, None)),
            ("\\du", Meta::List(Listing::Roles, None)),
            ("\\c", Meta::Connect(None)),
            ("\\set n 1 ' 2'", Meta::Set(Some(("n".to_owned(), "1 2".to_owned())))),
            ("\\set", Meta::Set(None)),
            ("\\unset n", Meta::Unset("n".to_owned())),
            ("\\x", Meta::Expanded(Expanded::Toggle)),
            ("\\x AUTO", Meta::Expanded(Expanded::Auto)),
            ("\\timing off", Meta::Timing(Switch::Off)),
            ("\\i 'my file.sql'", Meta::Include("my file.sql".into())),
            ("\\o", Meta::Output(None)),
            ("\\pset null ''", Meta::Null(Some(String::new()))),
            ("\\pset null 'it''s null'", Meta::Null(Some("it's null".to_owned()))),
            ("\\pset null", Meta::Null(None)),
            ("\\echo a   'b  c'", Meta::Echo("a b  c".to_owned())),
            ("\\h create view;", Meta::SqlHelp(Some("create view".to_owned()))),
            ("\\?", Meta::Help),
            ("\\gx", Meta::Go { expanded: true }),
        ] {
            assert_eq!(parse(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_is_refused() {
        for (line, message) in [
            ("\\watch 1", "invalid command \\watch; try \\? for help"),
            ("\\x maybe", "\\x: \"maybe\" is none of on, off and auto"),
            ("\\timing auto", "\\timing: \"auto\" is neither on nor off"),
            ("\\q now", "\\q: extra argument \"now\""),
            ("\\i", "\\i: name a file"),
            ("\\x+", "invalid command \\x+; try \\? for help"),
            ("\\i 'a", "\\i: unterminated quoted string"),
            ("\\pset border 2", "\\pset: unknown option \"border\"; there is one: null"),
        ] {
            assert_eq!(parse(line), Err(message.to_owned()));
        }
    }

    #[test]
    fn every_command_that_help_names_is_known() {
        for (name, takes, _) in COMMANDS {
            let line = match *takes {
                "FILE" | "TEXT" | "NAME" => format!("{name} x"),
                "..." => format!("{name} x from y"),
                "null TEXT" => format!("{name} null x"),
                _ => (*name).to_owned(),
            };
            assert!(parse(&line).is_ok(), "{line}");
        }
    }
}
