//! How results are shown, and where.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::diagnostics;
use super::execute::{Event, Wanted};
use super::meta::Expanded;
use super::pager::{Paged, Screen};
use crate::output::{self, ExpandedWriter, FittedWriter, Form, ResultColumns, ResultWriter, TableWriter};

/// Columns of a screen of unknown width.
const COLUMNS_DEFAULT: usize = 80;

/// What `\x`, `\pset`, `\timing` and `\o` set.
pub(super) struct Display {
    pub expanded: Expanded,
    pub null: String,
    pub timing: bool,
    pub pager: Option<String>,
    /// Of results that `\x` does not turn.
    form: Form,
    output: Option<(PathBuf, BufWriter<File>)>,
}

impl Display {
    pub(super) fn new(pager: Option<String>, form: Form) -> Self {
        Self { expanded: Expanded::Off, null: String::new(), timing: false, pager, form, output: None }
    }

    /// Sends results to a file from now on, or to the screen again.
    pub(super) fn send_to(&mut self, file: Option<&Path>) -> io::Result<()> {
        if let Some((_, mut before)) = self.output.take() {
            before.flush()?;
        }
        if let Some(file) = file {
            self.output = Some((file.to_owned(), BufWriter::new(File::create(file)?)));
        }
        Ok(())
    }

    /// The file that results go to.
    pub(super) fn output(&self) -> Option<&Path> {
        self.output.as_ref().map(|(path, _)| path.as_path())
    }

    /// A result is to be shown on a screen; `expanded` for this one alone.
    pub(super) fn begin(&mut self, screen: Option<Screen>, expanded: bool) -> Showing<'_> {
        let paged = self.output.is_none().then(|| Paged::new(screen, self.pager.clone()));
        let columns = screen.map_or(COLUMNS_DEFAULT, |screen| screen.columns);
        let (expanded, form) = (if expanded { Expanded::On } else { self.expanded }, self.form);
        let file = self.output.as_mut();
        Showing { file, null: &self.null, paged, columns, expanded, form, writer: None, failed: None }
    }
}

/// One statement's results on their way out.
pub(super) struct Showing<'a> {
    file: Option<&'a mut (PathBuf, BufWriter<File>)>,
    null: &'a str,
    paged: Option<Paged>,
    columns: usize,
    expanded: Expanded,
    form: Form,
    writer: Option<Box<dyn ResultWriter>>,
    failed: Option<output::Error>,
}

impl Showing<'_> {
    /// Shows what a statement gives.
    pub(super) fn take(&mut self, event: Event) -> Wanted {
        let done = match event {
            Event::Notice(notice) => {
                eprint!("{}", diagnostics::notice(&notice));
                Ok(())
            }
            Event::Rows(columns) => self.writer_for(columns).and_then(|writer| {
                self.end_writer()?;
                self.writer = Some(writer);
                Ok(())
            }),
            Event::Batch(batch) => match self.writer.take() {
                Some(mut writer) => {
                    let written = writer.batch(&batch, self.out());
                    self.writer = Some(writer);
                    written
                }
                None => Ok(()),
            },
            Event::Done(tag) if tag.is_empty() || !self.is_for_people() => Ok(()),
            Event::Done(tag) => writeln!(self.out(), "{tag}").map_err(output::Error::from),
        };
        match done {
            Ok(()) => Wanted::More,
            Err(error) => {
                // A pager that was closed is no error.
                if !is_broken_pipe(&error) {
                    self.failed = Some(error);
                }
                self.writer = None;
                Wanted::Enough
            }
        }
    }

    /// Ends the results, also after an error of the statement. Returns an error of writing.
    pub(super) fn finish(mut self, well: bool) -> Result<(), output::Error> {
        let ended = match self.writer.take() {
            Some(mut writer) if well => writer.finish(self.out()).and_then(|()| self.separate()),
            Some(mut writer) => writer.abandon(self.out()),
            None => Ok(()),
        };
        let flushed = match (self.paged, self.file) {
            (Some(paged), _) => paged.finish(),
            (None, Some((_, file))) => file.flush(),
            (None, None) => Ok(()),
        };
        for done in [self.failed.map_or(Ok(()), Err), ended, flushed.map_err(output::Error::from)] {
            match done {
                Err(error) if !is_broken_pipe(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn end_writer(&mut self) -> Result<(), output::Error> {
        match self.writer.take() {
            Some(mut writer) => {
                writer.finish(self.out())?;
                self.separate()
            }
            None => Ok(()),
        }
    }

    /// An empty line behind a result.
    fn separate(&mut self) -> Result<(), output::Error> {
        if self.is_for_people() {
            writeln!(self.out())?;
        }
        Ok(())
    }

    fn is_for_people(&self) -> bool {
        self.form.is_for_people() || self.expanded != Expanded::Off
    }

    fn writer_for(&self, columns: ResultColumns) -> Result<Box<dyn ResultWriter>, output::Error> {
        Ok(match self.expanded {
            Expanded::On => Box::new(ExpandedWriter::new(columns, self.null)),
            Expanded::Auto => Box::new(FittedWriter::new(columns, self.null, self.columns)),
            Expanded::Off | Expanded::Toggle if self.form == Form::Table => {
                Box::new(TableWriter::new(columns, self.null))
            }
            Expanded::Off | Expanded::Toggle => output::writer(self.form, columns)?,
        })
    }

    pub(super) fn out(&mut self) -> &mut dyn Write {
        match (&mut self.paged, &mut self.file) {
            (_, Some((_, file))) => file,
            (paged, None) => paged.get_or_insert_with(|| Paged::new(None, None)),
        }
    }
}

fn is_broken_pipe(error: &output::Error) -> bool {
    matches!(error, output::Error::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
}

/// `Time: 12.345 ms`, and the same in hours, minutes and seconds where it is long.
pub(super) fn time(took: Duration) -> String {
    let milliseconds = took.as_secs_f64() * 1000.0;
    if took.as_secs() == 0 {
        return format!("Time: {milliseconds:.3} ms");
    }
    let (minutes, seconds) = (took.as_secs() / 60, took.as_secs_f64() % 60.0);
    let long = match minutes / 60 {
        0 => format!("{minutes:02}:{seconds:06.3}"),
        hours => format!("{hours:02}:{:02}:{seconds:06.3}", minutes % 60),
    };
    format!("Time: {milliseconds:.3} ms ({long})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time(Duration::from_micros(12_345)), "Time: 12.345 ms");
        assert_eq!(time(Duration::from_millis(61_500)), "Time: 61500.000 ms (01:01.500)");
        assert_eq!(time(Duration::from_secs(2 * 3600 + 180)), "Time: 7380000.000 ms (02:03:00.000)");
    }
}
