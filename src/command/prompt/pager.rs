//! Results that are larger than the screen go through a program that shows them page by page.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::super::text::width;

/// Used where `PAGER` names none: lines are not folded, what fits the screen is printed.
const PAGER_DEFAULT: &str = "less -S -F -X -R";
/// The same for `less` under its bare name, unless the user says otherwise.
const LESS_OPTIONS: &str = "SFXR";

/// Columns and rows of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Screen {
    pub columns: usize,
    pub rows: usize,
}

/// The command that shows pages; `None` prints everything at once.
pub(super) fn pager_of_environment() -> Option<String> {
    choose(env::var("PAGER").ok(), || {
        let folders = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&folders).any(|folder| Path::new(&folder).join("less").is_file())
    })
}

fn choose(variable: Option<String>, has_less: impl FnOnce() -> bool) -> Option<String> {
    match variable {
        Some(command) => Some(command.trim().to_owned()).filter(|command| !command.is_empty()),
        None => has_less().then(|| PAGER_DEFAULT.to_owned()),
    }
}

/// Holds text back as long as it fits the screen; then starts the pager.
pub(super) struct Paged {
    screen: Screen,
    command: Option<String>,
    held: Vec<u8>,
    /// Lines, and bytes of the last one, that are measured already.
    lines: usize,
    measured: usize,
    state: State,
}

enum State {
    Held,
    Printed,
    Paged(Child),
}

impl Paged {
    /// Without a screen everything is printed as it comes.
    pub(super) fn new(screen: Option<Screen>, command: Option<String>) -> Self {
        let (state, screen) = match screen {
            Some(screen) if command.is_some() => (State::Held, screen),
            _ => (State::Printed, Screen { columns: 0, rows: 0 }),
        };
        Self { screen, command, held: Vec::new(), lines: 0, measured: 0, state }
    }

    /// The end of the result: prints what is held back, or waits until the user leaves the pager.
    pub(super) fn finish(mut self) -> io::Result<()> {
        match &mut self.state {
            State::Held => self.print_held(),
            State::Printed => io::stdout().flush(),
            State::Paged(child) => {
                drop(child.stdin.take());
                child.wait().map(drop)
            }
        }
    }

    fn print_held(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(&std::mem::take(&mut self.held))?;
        out.flush()
    }

    /// Whether what is held is more than the screen shows, with a line left for the prompt.
    fn is_full(&mut self) -> bool {
        while let Some(length) = self.held[self.measured..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.held[self.measured..self.measured + length]);
            self.measured += length + 1;
            self.lines += 1;
            if width(&line) > self.screen.columns {
                return true;
            }
        }
        self.lines + 1 >= self.screen.rows || self.held.len() > self.screen.columns * self.screen.rows * 4
    }

    fn start(&mut self) -> io::Result<()> {
        let command = self.command.as_deref().unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).stdin(Stdio::piped());
        if env::var_os("LESS").is_none() {
            shell.env("LESS", LESS_OPTIONS);
        }
        match shell.spawn() {
            Ok(mut child) => {
                let held = std::mem::take(&mut self.held);
                let written = match &mut child.stdin {
                    Some(stdin) => stdin.write_all(&held),
                    None => Ok(()),
                };
                self.state = State::Paged(child);
                written
            }
            Err(error) => {
                eprintln!("note: cannot start the pager {command}: {error}");
                self.state = State::Printed;
                self.print_held()
            }
        }
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Held => {
                self.held.extend_from_slice(bytes);
                if self.is_full() {
                    self.start()?;
                }
                Ok(bytes.len())
            }
            State::Printed => io::stdout().write(bytes),
            State::Paged(child) => match &mut child.stdin {
                Some(stdin) => stdin.write(bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Held => Ok(()),
            State::Printed => io::stdout().flush(),
            State::Paged(child) => child.stdin.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_decides() {
        assert_eq!(choose(Some(" more ".to_owned()), || true).as_deref(), Some("more"));
        assert_eq!(choose(Some(String::new()), || true), None);
        assert_eq!(choose(None, || true).as_deref(), Some(PAGER_DEFAULT));
        assert_eq!(choose(None, || false), None);
    }

    #[test]
    fn what_fits_is_held() {
        let mut paged = Paged::new(Some(Screen { columns: 10, rows: 5 }), Some("cat > /dev/null".to_owned()));
        paged.write_all("0123456789\n".repeat(3).as_bytes()).unwrap();
        assert!(matches!(paged.state, State::Held));
        paged.write_all(b"4\n").unwrap();
        assert!(matches!(paged.state, State::Paged(_)), "a line is left for the prompt");
        paged.finish().unwrap();

        let mut paged = Paged::new(Some(Screen { columns: 10, rows: 5 }), Some("cat > /dev/null".to_owned()));
        paged.write_all("日本日本日本\n".as_bytes()).unwrap();
        assert!(matches!(paged.state, State::Paged(_)), "twelve columns");
        paged.finish().unwrap();
    }
}
