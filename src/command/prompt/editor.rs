//! The line that is being edited.

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::completion::Completion;
use super::history::ENTRIES_MAX;

/// Candidates that are listed without asking.
const LISTED_MAX: usize = 100;

pub(super) type LineEditor = Editor<Assistant, FileHistory>;

/// Completes the line, knowing the lines before it.
pub(super) struct Assistant {
    completion: Completion,
    /// The lines before, of a statement that goes on.
    pub before: String,
}

pub(super) fn new(completion: Completion) -> rustyline::Result<LineEditor> {
    let config = Config::builder()
        .max_history_size(ENTRIES_MAX)?
        .history_ignore_dups(true)?
        .auto_add_history(false)
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(false)
        .completion_prompt_limit(LISTED_MAX)
        .bracketed_paste(true)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant { completion, before: String::new() }));
    Ok(editor)
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let text = format!("{}{line}", self.before);
        let (from, found) = self.completion.candidates(&text, self.before.len() + cursor);
        // What began on a line before cannot be replaced.
        match from.checked_sub(self.before.len()) {
            Some(from) => Ok((from, found)),
            None => Ok((cursor, Vec::new())),
        }
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}
impl Validator for Assistant {}
impl Helper for Assistant {}
