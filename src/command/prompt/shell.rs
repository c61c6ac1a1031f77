//! The loop: reads lines, and executes complete statements and commands.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rustyline::error::ReadlineError;
use tokio::runtime::Handle;

use super::super::diagnostics;
use super::completion::Completion;
use super::describe::{self, DescribeError};
use super::display::{self, Display};
use super::editor::{self, LineEditor};
use super::execute::{Event, Interrupts, Runner, Wanted};
use super::history::History;
use super::local_copy::LocalCopy;
use super::meta::{self, Expanded, Meta, Switch};
use super::pager::{Screen, pager_of_environment};
use super::statements::{Lines, Open, Piece, prompt};
use super::variables::Variables;
use super::{edit, help};
use crate::failure::{Failure, tell};
use crate::output::Form;
use crate::script::read_file;
use crate::text::{counted, visible};
use rowkey_sql::engine::Engine;
use std::sync::Arc;

/// How long each query of a completion may take.
const COMPLETION_PATIENCE: Duration = Duration::from_millis(600);
/// Nested `\i`.
const INCLUDES_MAX: usize = 16;

/// Whether the prompt goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Line,
    Leave,
}

/// Statements and commands of a terminal, or of a text, which the first error ends.
pub(super) struct Shell {
    database: Arc<Engine>,
    location: String,
    /// None where a text is read.
    terminal: Option<Terminal>,
    runner: Runner,
    display: Display,
    lines: Lines,
    /// The statement that ran last, for `\e` and `\g`.
    last: String,
    /// The depth of nested `\i`.
    includes: usize,
    variables: Variables,
}

/// Where lines are typed.
struct Terminal {
    editor: LineEditor,
    history: History,
}

impl Terminal {
    fn open(database: &Arc<Engine>, threads: &Handle) -> Result<Self, Failure> {
        let completion = Completion::new(database.clone(), threads.clone(), COMPLETION_PATIENCE)?;
        let mut editor = editor::new(completion).map_err(unusable)?;
        let history = History::load(&mut editor, database);
        Ok(Self { editor, history })
    }
}

impl Shell {
    fn new(
        database: Arc<Engine>,
        location: String,
        threads: Handle,
        terminal: Option<Terminal>,
        display: Display,
    ) -> Result<Self, Failure> {
        let interrupts = Interrupts::listen(&threads)
            .map_err(|error| Failure::plain(format!("cannot wait for Ctrl-C: {error}"), "start it again"))?;
        let runner = Runner::new(database.clone(), threads, interrupts)?;
        let (lines, variables) = (Lines::default(), Variables::default());
        Ok(Self { database, location, terminal, runner, display, lines, last: String::new(), includes: 0, variables })
    }

    /// Runs a text to its end, or to the first error, and shows results in a form.
    pub(super) fn run_text(
        database: Arc<Engine>,
        location: String,
        threads: Handle,
        text: &str,
        form: Form,
    ) -> Result<(), Failure> {
        let mut shell = Self::new(database, location, threads, None, Display::new(None, form))?;
        let ran = shell.included(text);
        let flushed = shell.display.send_to(None);
        ran?;
        Ok(flushed?)
    }

    /// Reads lines until the user leaves.
    pub(super) fn run(database: Arc<Engine>, location: String, threads: Handle) -> Result<(), Failure> {
        let terminal = Terminal::open(&database, &threads)?;
        let display = Display::new(pager_of_environment(), Form::Table);
        Self::new(database, location, threads, Some(terminal), display)?.read_lines()
    }

    fn read_lines(mut self) -> Result<(), Failure> {
        let tables = counted(self.database.entities().table_names().len() as u64, "table", "tables");
        let place = self.place();
        println!("rowkey {}, {place}, {tables}. \\? for help, \\q to leave.", env!("CARGO_PKG_VERSION"));
        while let Some(terminal) = &mut self.terminal {
            if let Some(assistant) = terminal.editor.helper_mut() {
                self.lines.pending().clone_into(&mut assistant.before);
            }
            let prompt = prompt(self.lines.open(), self.runner.status());
            match terminal.editor.readline(&prompt) {
                Ok(line) => {
                    let word = line.trim().trim_end_matches(';').trim_end();
                    let is_farewell = word.eq_ignore_ascii_case("quit") || word.eq_ignore_ascii_case("exit");
                    if is_farewell && self.lines.open() == Open::Nothing {
                        break;
                    }
                    if self.line(&line, true)? == Next::Leave {
                        break;
                    }
                }
                Err(ReadlineError::Interrupted) => self.lines.clear(),
                Err(ReadlineError::Eof) => {
                    println!();
                    break;
                }
                Err(error) => return Err(unusable(error)),
            }
        }
        self.display.send_to(None).map_err(Failure::Write)
    }

    /// Adds a line (or several, pasted), and executes what is complete.
    fn line(&mut self, line: &str, typed: bool) -> Result<Next, Failure> {
        self.lines.push(line);
        while let Some(piece) = self.lines.next() {
            let next = match piece {
                Piece::Statement(text) => {
                    if typed {
                        self.remember(&format!("{text};"));
                    }
                    self.statement(&text, false)?;
                    Next::Line
                }
                Piece::Meta(line) => {
                    if typed {
                        self.remember(&line);
                    }
                    self.meta(&line, typed)?
                }
            };
            if next == Next::Leave {
                return Ok(Next::Leave);
            }
        }
        Ok(Next::Line)
    }

    fn remember(&mut self, typed: &str) {
        if let Some(Terminal { editor, history }) = &mut self.terminal {
            history.add(editor, typed);
        }
    }

    /// Says what is wrong with a command: a text ends there.
    fn refuse(&self, message: impl std::fmt::Display) -> Result<(), Failure> {
        if self.terminal.is_none() {
            return Err(Failure::plain(message, "\\? at the prompt lists the commands; the rest was not run"));
        }
        tell(message);
        Ok(())
    }

    /// Runs a statement and shows its results; `expanded` overrides `\x`.
    fn statement(&mut self, text: &str, expanded: bool) -> Result<(), Failure> {
        text.clone_into(&mut self.last);
        let text = self.variables.filled(text);
        self.ran(&text, expanded, |runner, take| runner.run(&text, take))
    }

    fn copy(&mut self, copy: LocalCopy) -> Result<(), Failure> {
        let text = copy.statement.clone();
        self.ran(&text, false, |runner, take| runner.copy(copy, take))
    }

    fn ran(
        &mut self,
        text: &str,
        expanded: bool,
        run: impl FnOnce(&mut Runner, &mut dyn FnMut(Event) -> Wanted) -> rowkey_sql::session::Result<()>,
    ) -> Result<(), Failure> {
        let screen = self.screen();
        let began = Instant::now();
        let mut showing = self.display.begin(screen, expanded);
        let done = run(&mut self.runner, &mut |event| showing.take(event));
        let took = began.elapsed();
        let shown = showing.finish(done.is_ok());
        if let Err(error) = done {
            if self.terminal.is_none() {
                return Err(Failure::from(error).in_statement(text));
            }
            eprint!("{}", diagnostics::error(&error, text));
        }
        self.report_output(shown.map_err(DescribeError::Output))?;
        if self.display.timing {
            println!("{}", display::time(took));
        }
        Ok(())
    }

    fn meta(&mut self, line: &str, typed: bool) -> Result<Next, Failure> {
        // Variables in `\copy` are not replaced, as in psql.
        let filled =
            if line.trim_start().starts_with("\\copy") { line.to_owned() } else { self.variables.filled(line) };
        let meta = match meta::parse(&filled) {
            Ok(meta) => meta,
            Err(message) => return self.refuse(message).map(|()| Next::Line),
        };
        match meta {
            Meta::Quit => return Ok(Next::Leave),
            Meta::Describe(pattern) => self.show(|runner, out| describe::describe(runner, &pattern, out))?,
            Meta::List(listing, pattern) => {
                self.show(|runner, out| describe::list(runner, listing, pattern.as_deref(), out))?;
            }
            Meta::Help => self.show(|_, out| Ok(out.write_all(help::commands().as_bytes())?))?,
            Meta::SqlHelp(topic) => match help::statements(topic.as_deref()) {
                Ok(text) => self.show(|_, out| Ok(out.write_all(text.as_bytes())?))?,
                Err(message) => self.refuse(message)?,
            },
            Meta::Expanded(expanded) => self.expand(expanded),
            Meta::Timing(switch) => {
                self.display.timing = match switch {
                    Switch::On => true,
                    Switch::Off => false,
                    Switch::Toggle => !self.display.timing,
                };
                println!("Timing is {}.", if self.display.timing { "on" } else { "off" });
            }
            Meta::Null(None) => println!("Null display is \"{}\".", visible(&self.display.null)),
            Meta::Null(Some(text)) => {
                println!("Null display is \"{}\".", visible(&text));
                self.display.null = text;
            }
            Meta::Echo(text) => self.show(|_, out| Ok(writeln!(out, "{}", visible(&text))?))?,
            Meta::Set(None) => print!("{}", visible(&self.variables.listed())),
            Meta::Set(Some((name, value))) => {
                if let Err(message) = self.variables.set(&name, &value) {
                    self.refuse(message)?;
                }
            }
            Meta::Unset(name) => self.variables.unset(&name),
            Meta::Connect(Some(database)) if database != self.database.account().as_str() => {
                self.refuse(format_args!(
                    "\\c: the prompt stays with its database; --account {0} opens \"{0}\"",
                    visible(&database)
                ))?;
            }
            Meta::Connect(_) => self.show(|runner, out| describe::connection(runner, out))?,
            Meta::Copy(copy) => self.copy(copy)?,
            Meta::ConnectionInfo => {
                let (account, place) = (self.database.account().as_str(), self.place());
                println!(
                    "Database \"{account}\", {place}, opened by this process (rowkey {}).",
                    env!("CARGO_PKG_VERSION")
                );
            }
            Meta::Print => match self.lines.pending().trim() {
                "" if self.last.is_empty() => println!("Nothing is written yet."),
                "" => println!("{}", visible(&self.last)),
                pending => println!("{}", visible(pending)),
            },
            Meta::Reset => {
                self.lines.clear();
                println!("What was written is forgotten.");
            }
            Meta::Go { expanded } => {
                let text = match self.lines.take_pending() {
                    Some(text) => {
                        if typed {
                            self.remember(&format!("{text};"));
                        }
                        text
                    }
                    None => self.last.clone(),
                };
                if text.is_empty() {
                    println!("Nothing is written yet.");
                } else {
                    self.statement(&text, expanded)?;
                }
            }
            Meta::Edit => return self.edit(),
            Meta::Include(file) => return self.include(&file),
            Meta::Output(file) => {
                if let Some(Err(error)) = file.as_deref().map(|file| self.database.expect_outside(file)) {
                    self.refuse(format_args!("\\o: {error}"))?;
                } else if let Err(error) = self.display.send_to(file.as_deref()) {
                    self.refuse(format_args!("\\o: {}: {error}", file.unwrap_or_default().display()))?;
                }
            }
        }
        Ok(Next::Line)
    }

    fn expand(&mut self, expanded: Expanded) {
        self.display.expanded = match expanded {
            Expanded::Toggle if self.display.expanded == Expanded::Off => Expanded::On,
            Expanded::Toggle => Expanded::Off,
            set => set,
        };
        println!(
            "Expanded display is {}.",
            match self.display.expanded {
                Expanded::On => "on",
                Expanded::Auto => "used automatically",
                Expanded::Off | Expanded::Toggle => "off",
            }
        );
    }

    /// Opens the statement, or the last one, in an editor and takes what comes back as if it were
    /// typed.
    fn edit(&mut self) -> Result<Next, Failure> {
        if self.terminal.is_none() {
            return self.refuse("\\e needs a terminal").map(|()| Next::Line);
        }
        let text = self.lines.take_pending().unwrap_or_else(|| match self.last.as_str() {
            "" => String::new(),
            last => format!("{last};"),
        });
        match edit::edit(&text) {
            Ok(edited) => {
                println!("{}", visible(edited.trim_end()));
                self.line(edited.trim_end(), true)
            }
            Err(message) => {
                tell(message);
                Ok(Next::Line)
            }
        }
    }

    /// Runs the lines of a file. Ctrl-C ends it.
    fn include(&mut self, file: &Path) -> Result<Next, Failure> {
        if self.includes >= INCLUDES_MAX {
            let message = format!("\\i: {}: more than {INCLUDES_MAX} files run each other", file.display());
            return self.refuse(message).map(|()| Next::Line);
        }
        let text = match read_file(file) {
            Ok(text) => text,
            Err(failure) if self.terminal.is_none() => return Err(failure),
            Err(failure) => {
                failure.tell();
                return Ok(Next::Line);
            }
        };
        let outside = std::mem::take(&mut self.lines);
        // A Ctrl-C before the file began is not meant for it.
        self.runner.was_interrupted();
        self.includes += 1;
        let ran = self.included(&text);
        self.includes -= 1;
        self.lines = outside;
        ran
    }

    fn included(&mut self, text: &str) -> Result<Next, Failure> {
        for line in text.lines() {
            if self.line(line, false)? == Next::Leave {
                return Ok(Next::Leave);
            }
            if self.runner.was_interrupted() {
                self.lines.clear();
                return Ok(Next::Line);
            }
        }
        match self.lines.take_pending() {
            Some(last) => self.statement(&last, false).map(|()| Next::Line),
            None => Ok(Next::Line),
        }
    }

    /// Shows the output of a command.
    fn show(
        &mut self,
        write: impl FnOnce(&mut Runner, &mut dyn Write) -> Result<(), DescribeError>,
    ) -> Result<(), Failure> {
        let screen = self.screen();
        let mut showing = self.display.begin(screen, false);
        let written = write(&mut self.runner, showing.out());
        let finished = showing.finish(true);
        self.report_output(written)?;
        self.report_output(finished.map_err(DescribeError::Output))
    }

    /// Prints why something could not be shown. Only a closed terminal ends the prompt.
    fn report_output(&mut self, done: Result<(), DescribeError>) -> Result<(), Failure> {
        match done {
            Ok(()) => Ok(()),
            Err(DescribeError::Statement(error)) if self.terminal.is_none() => Err(error.into()),
            Err(DescribeError::Output(error)) if self.terminal.is_none() && self.display.output().is_none() => {
                Err(error.into())
            }
            Err(DescribeError::Statement(error)) => {
                eprint!("{}", diagnostics::error(&error, ""));
                Ok(())
            }
            Err(DescribeError::Output(error)) => match Failure::from(error) {
                Failure::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                Failure::Write(error) if self.display.output().is_none() => Err(Failure::Write(error)),
                Failure::Write(error) => {
                    let file = self.display.output().unwrap_or(Path::new("")).display();
                    tell(format_args!("error: {file}: {error}"));
                    Ok(())
                }
                failure => {
                    failure.tell();
                    Ok(())
                }
            },
        }
    }

    fn screen(&mut self) -> Option<Screen> {
        let (columns, rows) = self.terminal.as_mut()?.editor.dimensions()?;
        (columns > 0 && rows > 0).then_some(Screen { columns: usize::from(columns), rows: usize::from(rows) })
    }

    fn place(&self) -> String {
        match self.location.as_str() {
            ":memory:" => "in memory, nothing is kept".to_owned(),
            location => format!("data folder {}", visible(location)),
        }
    }
}

fn unusable(error: ReadlineError) -> Failure {
    Failure::plain(format!("the terminal cannot be used: {error}"), "rowkey sql < FILE reads statements without one")
}
