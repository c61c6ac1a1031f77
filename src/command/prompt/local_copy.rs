//! `\copy`: COPY between a table and a file of this machine.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::lexer::{Kind, Token, tokens};
use rowkey_sql::session::{CopyIn, CopyOut, Copying, EntitiesOut, Error, Result, Session, SqlState, StatementGuard};

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// Rows asked for at a time.
const BATCH_ROWS_MAX: usize = 8192;

/// What `\copy` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalCopy {
    /// `COPY ... FROM STDIN ...` or `COPY ... TO STDOUT ...`.
    pub statement: String,
    /// None is standard output.
    pub file: Option<PathBuf>,
}

/// Reads what stands behind `\copy`. The error is for people.
pub(super) fn parse(text: &str) -> std::result::Result<LocalCopy, String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let words = tokens(text);
    let mut depth = 0_usize;
    for (at, token) in words.iter().enumerate() {
        match token.kind {
            Kind::Symbol('(') => depth += 1,
            Kind::Symbol(')') => depth = depth.saturating_sub(1),
            Kind::Word if depth == 0 && at > 0 => {
                let word = token.of(text);
                let is_from = word.eq_ignore_ascii_case("from");
                if is_from || word.eq_ignore_ascii_case("to") {
                    return of_parts(text, token, &words[at + 1..], is_from);
                }
            }
            _ => {}
        }
    }
    Err("\\copy: write TABLE FROM 'FILE' or TABLE | (QUERY) TO 'FILE', then options as in COPY".to_owned())
}

fn of_parts(text: &str, keyword: &Token, rest: &[Token], is_from: bool) -> std::result::Result<LocalCopy, String> {
    let what = text[..keyword.from].trim();
    let Some(first) = rest.iter().find(|token| !token.is_blank()) else {
        return Err("\\copy: name a file".to_owned());
    };
    let (name, to) = match first.kind {
        Kind::Text => (first.of(text).trim_matches('\'').replace("''", "'"), first.to),
        _ => {
            let to = text[first.from..].find(char::is_whitespace).map_or(text.len(), |length| first.from + length);
            (text[first.from..to].to_owned(), to)
        }
    };
    let is_stream = first.kind != Kind::Text;
    let file = match name.to_ascii_lowercase().as_str() {
        "stdout" | "pstdout" if is_stream && !is_from => None,
        "stdin" | "pstdin" if is_stream => {
            return Err("\\copy: rows typed at the prompt are not read: name a file".to_owned());
        }
        "program" if is_stream => return Err("\\copy: programs are not run: name a file".to_owned()),
        _ => Some(PathBuf::from(&name)),
    };
    let stream = if is_from { "FROM STDIN" } else { "TO STDOUT" };
    let options = text[to..].trim();
    Ok(LocalCopy { statement: format!("COPY {what} {stream} {options}").trim_end().to_owned(), file })
}

fn of_file(file: &std::path::Path, error: &std::io::Error) -> Error {
    Error::new(SqlState::INVALID_STATEMENT, format!("{}: {error}", file.display()))
}

/// Copies from the file, or to it; the answer is the tag.
pub(super) async fn copy(
    session: &mut Session,
    copying: Copying,
    copy: &LocalCopy,
    guard: &mut StatementGuard,
) -> Result<String> {
    if let (Copying::Out(_) | Copying::EntitiesOut(_), Some(file)) = (&copying, &copy.file) {
        session.expect_outside_data(file)?;
    }
    match copying {
        Copying::In(rows) => copy_in(session, rows, copy, guard).await,
        Copying::Out(rows) => copy_out(*rows, copy, guard).await,
        Copying::EntitiesOut(entities) => entities_out(session, *entities, copy, guard).await,
    }
}

/// Rows of the file go into the table; the answer is the tag.
async fn copy_in(
    session: &mut Session,
    mut rows: Box<CopyIn>,
    copy: &LocalCopy,
    guard: &mut StatementGuard,
) -> Result<String> {
    let Some(file) = &copy.file else {
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY FROM STDIN needs \\copy and a file"));
    };
    let mut source = File::open(file).map_err(|error| of_file(file, &error))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = source.read(&mut chunk).map_err(|error| of_file(file, &error))?;
        if read == 0 {
            break;
        }
        rows = guard.run(session.read_copied(rows, Bytes::copy_from_slice(&chunk[..read]))).await?;
    }
    guard.run(session.finish_copy(*rows)).await
}

/// Where what is copied goes, and what messages call it.
fn output(copy: &LocalCopy) -> Result<(Box<dyn Write + Send>, &Path)> {
    match &copy.file {
        Some(file) => {
            let created = File::create(file).map_err(|error| of_file(file, &error))?;
            Ok((Box::new(BufWriter::new(created)), file))
        }
        None => Ok((Box::new(std::io::stdout()), Path::new("standard output"))),
    }
}

/// Rows go into the file, or to standard output; the answer is the tag.
async fn copy_out(mut rows: CopyOut, copy: &LocalCopy, guard: &mut StatementGuard) -> Result<String> {
    let (mut out, name) = output(copy)?;
    let failed = |error: std::io::Error| of_file(name, &error);
    let (mut lines, mut sent) = (rows.lines(), 0_usize);
    while let Some(batch) = guard.run(rows.rows.next(BATCH_ROWS_MAX)).await? {
        let mut done = Ok(());
        lines.write(&batch, 0, |line| {
            done = out.write_all(line);
            done.is_ok()
        })?;
        done.map_err(failed)?;
        sent += batch.num_rows();
    }
    out.write_all(&lines.end()).map_err(failed)?;
    out.flush().map_err(failed)?;
    Ok(format!("COPY {sent}"))
}

/// An export goes into the file, or to standard output; the answer is the tag.
async fn entities_out(
    session: &mut Session,
    mut entities: EntitiesOut,
    copy: &LocalCopy,
    guard: &mut StatementGuard,
) -> Result<String> {
    let (mut out, name) = output(copy)?;
    let failed = |error: std::io::Error| of_file(name, &error);
    while let Some(bytes) = guard.run(async { Ok(entities.next().await) }).await? {
        out.write_all(&bytes).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    guard.run(session.finish_copy_out(entities)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_streams() {
        let copy = |statement: &str, file: Option<&str>| LocalCopy {
            statement: statement.to_owned(),
            file: file.map(PathBuf::from),
        };
        for (text, expected) in [
            (
                "people from 'my people.csv' csv header",
                copy("COPY people FROM STDIN csv header", Some("my people.csv")),
            ),
            ("people (a, \"from\") FROM people.txt;", copy("COPY people (a, \"from\") FROM STDIN", Some("people.txt"))),
            (
                "(select 'to' from people) to out.csv with (format csv)",
                copy("COPY (select 'to' from people) TO STDOUT with (format csv)", Some("out.csv")),
            ),
            ("people to stdout", copy("COPY people TO STDOUT", None)),
            ("people to 'stdout'", copy("COPY people TO STDOUT", Some("stdout"))),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for text in ["people", "people from", "people from stdin", "people from program 'x'", "from x"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
