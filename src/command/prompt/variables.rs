//! `\set`: names that stand for texts in what is typed.

use std::collections::BTreeMap;

use super::lexer::{Kind, is_word, tokens};

/// The variables of a prompt.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Sets one. The error is for people.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name.is_empty() || !name.chars().all(|char| char.is_alphanumeric() || char == '_') {
            return Err(format!("\\set: invalid variable name \"{name}\": letters, digits and _"));
        }
        self.0.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Lines as `name = 'value'`.
    pub(super) fn listed(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name} = '{value}'\n")).collect()
    }

    /// The text with values in the place of `:name`, `:'name'` (as a literal) and `:"name"` (as an
    /// identifier). What is in quotes or in comments stays, and so do names that are not set.
    pub(super) fn filled(&self, text: &str) -> String {
        if self.0.is_empty() || !text.contains(':') {
            return text.to_owned();
        }
        let tokens = tokens(text);
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let colon = token.kind == Kind::Symbol(':');
            if colon && tokens.get(at).is_some_and(|next| next.kind == Kind::Symbol(':')) {
                // A cast.
                out.push_str("::");
                at += 1;
                continue;
            }
            let value = tokens.get(at).filter(|_| colon).and_then(|name| self.value(name.kind, name.of(text)));
            match value {
                Some(value) => {
                    out.push_str(&value);
                    at += 1;
                }
                None => out.push_str(token.of(text)),
            }
        }
        out
    }

    fn value(&self, kind: Kind, name: &str) -> Option<String> {
        let inner = || name.get(1..name.len().checked_sub(1)?);
        match kind {
            Kind::Word => {
                // A word that goes on behind the name of a variable is another one.
                self.0.get(name).filter(|_| name.chars().all(is_word)).cloned()
            }
            Kind::Text => self.0.get(inner()?).map(|value| format!("'{}'", value.replace('\'', "''"))),
            Kind::Quoted => self.0.get(inner()?).map(|value| format!("\"{}\"", value.replace('"', "\"\""))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_values() {
        let mut variables = Variables::default();
        variables.set("n", "5").expect("a name");
        variables.set("who", "O'Neil \"x\"").expect("a name");
        for (text, filled) in [
            ("SELECT :n + :n", "SELECT 5 + 5"),
            ("SELECT :'who', :\"who\"", "SELECT 'O''Neil \"x\"', \"O'Neil \"\"x\"\"\""),
            ("SELECT ':n', \":n\", :m, a[1:2], '1'::n -- :n", "SELECT ':n', \":n\", :m, a[1:2], '1'::n -- :n"),
            ("SELECT :n::int", "SELECT 5::int"),
            ("LIMIT :n;", "LIMIT 5;"),
        ] {
            assert_eq!(variables.filled(text), filled, "{text}");
        }
        assert_eq!(variables.listed(), "n = '5'\nwho = 'O'Neil \"x\"'\n");
        variables.unset("n");
        assert_eq!(variables.filled(":n"), ":n");
        assert!(variables.set("a b", "").is_err());
    }
}
