//! Splits lines, as they are typed, into statements.

use super::lexer::{Kind, Token, token_at};
use rowkey_sql::session::TransactionStatus;

/// What the lines so far leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    /// Nothing was written yet.
    Nothing,
    /// A statement without its semicolon.
    Statement,
    Text,
    Quoted,
    Dollar,
    Comment,
    Parenthesis,
}

/// What comes next out of the lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A statement, without its semicolon.
    Statement(String),
    /// A line from its backslash on; what was written of a statement before it stays.
    Meta(String),
}

/// Lines that are cut into statements. A statement ends at a semicolon outside quotes, comments and
/// parentheses.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    /// Bytes that are known to hold whole tokens and no end.
    scanned: usize,
    /// Parentheses that are open there.
    depth: usize,
    /// Whether there is more than blanks and comments.
    begun: bool,
    /// What the last token leaves open.
    within: Option<Kind>,
}

impl Lines {
    /// Adds a line, or several.
    pub(super) fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The next statement or meta command; `None` until there are more lines.
    pub(super) fn next(&mut self) -> Option<Piece> {
        while let Some(token) = token_at(&self.text, self.scanned) {
            match token.kind {
                Kind::Symbol(';') if self.depth == 0 => {
                    let statement = self.text[..token.from].trim().to_owned();
                    let was_begun = self.begun;
                    self.cut(token.to);
                    if was_begun {
                        return Some(Piece::Statement(statement));
                    }
                    continue;
                }
                Kind::Symbol('\\') => return Some(Piece::Meta(self.take_meta(token))),
                Kind::Symbol('(') => self.depth += 1,
                Kind::Symbol(')') => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.begun |= !token.is_blank();
            self.within = (!token.closed && token.kind != Kind::LineComment).then_some(token.kind);
            if self.within.is_some() {
                return None;
            }
            self.scanned = token.to;
        }
        if !self.begun {
            self.clear();
        }
        None
    }

    /// What is written of a statement that did not end yet.
    pub(super) fn pending(&self) -> &str {
        &self.text
    }

    /// Takes what is written of a statement; `None` if that is nothing.
    pub(super) fn take_pending(&mut self) -> Option<String> {
        let text = self.begun.then(|| self.text.trim().to_owned());
        self.clear();
        text
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn open(&self) -> Open {
        match self.within {
            Some(Kind::Text) => Open::Text,
            Some(Kind::Quoted) => Open::Quoted,
            Some(Kind::Dollar) => Open::Dollar,
            Some(Kind::BlockComment) => Open::Comment,
            _ if self.depth > 0 => Open::Parenthesis,
            _ if self.begun => Open::Statement,
            _ => Open::Nothing,
        }
    }

    fn cut(&mut self, at: usize) {
        let rest = self.text.split_off(at);
        *self = Self { text: rest, ..Self::default() };
    }

    fn take_meta(&mut self, backslash: Token) -> String {
        let line_end = self.text[backslash.from..].find('\n').map_or(self.text.len(), |at| backslash.from + at);
        let meta = self.text[backslash.from..line_end].trim_end().to_owned();
        self.text.replace_range(backslash.from..line_end, "");
        meta
    }
}

/// The prompt, like psql's: what is open, and a mark for the state of the transaction.
pub(super) fn prompt(open: Open, status: TransactionStatus) -> String {
    let place = match open {
        Open::Nothing => '=',
        Open::Statement => '-',
        Open::Text => '\'',
        Open::Quoted => '"',
        Open::Dollar => '$',
        Open::Comment => '*',
        Open::Parenthesis => '(',
    };
    let mark = match status {
        TransactionStatus::Idle => "",
        TransactionStatus::InTransaction => "*",
        TransactionStatus::Failed => "!",
    };
    format!("rowkey{place}{mark}> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str) -> Option<Piece> {
        Some(Piece::Statement(text.to_owned()))
    }

    #[test]
    fn a_statement_ends_at_a_semicolon_outside_quotes_comments_and_parentheses() {
        let mut lines = Lines::default();
        for (line, open) in [
            ("SELECT ';' -- ;", Open::Statement),
            ("/* ; ", Open::Comment),
            ("*/ , (1;", Open::Parenthesis),
            (") , 'it''s;", Open::Text),
            ("', \"a;", Open::Quoted),
            ("\", $x$;", Open::Dollar),
            ("$x$", Open::Statement),
        ] {
            lines.push(line);
            assert_eq!((lines.next(), lines.open()), (None, open), "after {line}");
        }
        lines.push("; SELECT 2; SELECT");
        let Some(Piece::Statement(first)) = lines.next() else { panic!("no statement") };
        assert!(first.starts_with("SELECT ';'") && first.ends_with("$x$"), "{first}");
        assert_eq!((lines.next(), lines.next()), (statement("SELECT 2"), None));
        assert_eq!(lines.take_pending().as_deref(), Some("SELECT"));
        assert_eq!(lines.open(), Open::Nothing);
    }

    #[test]
    fn nothing_is_no_statement() {
        let mut lines = Lines::default();
        for line in ["", ";; ;", "  -- only a comment", "/* another */"] {
            lines.push(line);
            assert_eq!((lines.next(), lines.open()), (None, Open::Nothing), "{line}");
        }
        assert_eq!(lines.take_pending(), None);
    }

    #[test]
    fn meta_commands_leave_the_statement() {
        let mut lines = Lines::default();
        lines.push("\\dt x;y");
        assert_eq!((lines.next(), lines.next()), (Some(Piece::Meta("\\dt x;y".to_owned())), None));
        lines.push("SELECT '\\d'");
        assert_eq!(lines.next(), None);
        lines.push("  , 2 \\gx");
        assert_eq!((lines.next(), lines.next()), (Some(Piece::Meta("\\gx".to_owned())), None));
        assert_eq!(lines.take_pending().as_deref(), Some("SELECT '\\d'\n  , 2"));
    }

    #[test]
    fn prompts() {
        let all = [Open::Nothing, Open::Statement, Open::Text, Open::Quoted, Open::Dollar, Open::Comment];
        let shown = all.map(|open| prompt(open, TransactionStatus::Idle));
        assert_eq!(shown, ["rowkey=> ", "rowkey-> ", "rowkey'> ", "rowkey\"> ", "rowkey$> ", "rowkey*> "]);
        assert_eq!(prompt(Open::Nothing, TransactionStatus::InTransaction), "rowkey=*> ");
        assert_eq!(prompt(Open::Nothing, TransactionStatus::Failed), "rowkey=!> ");
        assert_eq!(prompt(Open::Parenthesis, TransactionStatus::Failed), "rowkey(!> ");
    }
}
