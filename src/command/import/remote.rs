//! An import into a server that runs: by COPY FROM STDIN, one for each file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures::SinkExt;
use tokio::sync::mpsc;
use tokio_postgres::Client;

use super::super::arguments::{ImportArguments, OnError};
use super::super::failure::{ExitStatus, Failure};
use super::super::text::counted;
use super::super::{interruption, remote};
use super::inputs::{self, Input};
use super::tell_some;
use rowkey_base::clock::{Clock, SystemClock};
use rowkey_formats::{Format, Source};
use rowkey_model::TableName;

/// What is read of a file at a time, and how many of it may wait for the server.
const CHUNK_BYTES: usize = 1 << 16;
const CHUNKS_AHEAD: usize = 4;

/// Imports all inputs, in their order. Each is there as a whole or not at all; those before one
/// that fails stay.
pub(super) async fn run(arguments: &ImportArguments, url: &str) -> Result<ExitStatus, Failure> {
    let Some(table) = &arguments.table else {
        return Err(Failure::usage("--server needs a table to import into", "name it with --table NAME"));
    };
    let inputs = inputs::find(&arguments.paths)?;
    tell_some(inputs.skipped.iter().map(|path| format!("skipped {}: not an export by its name", path.display())));
    let files = inputs.found.into_iter().map(|input| RemoteInput::of(input, arguments.format));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let interrupted = interruption::watch()
        .map_err(|error| Failure::plain(format!("cannot wait for signals: {error}"), "run it again"))?;
    let current = Arc::new(Mutex::new(Arc::from("")));
    let of_notices = Arc::clone(&current);
    let client = remote::connect_with(url, move |notice| in_file(notice, &name_of(&of_notices))).await?;
    tokio::select! {
        done = import_all(&client, table, files, arguments.on_error, &current) => done.map(|()| ExitStatus::Well),
        // The connection ends with the process, and the COPY with it.
        Ok(status) = interrupted => Err(Failure::Interrupted {
            message: "the import was interrupted".to_owned(),
            hint: "files that are told above were imported whole, and of others the table has nothing; run it again"
                .to_owned(),
            status,
        }),
    }
}

/// The name of the file that is being sent.
type CurrentFile = Mutex<Arc<str>>;

fn name_of(current: &CurrentFile) -> Arc<str> {
    Arc::clone(&current.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What the server says of its input, said of a file.
fn in_file(message: &str, name: &str) -> String {
    match message.strip_prefix("STDIN:") {
        Some(at) => format!("{name}:{at}"),
        None => message.to_owned(),
    }
}

async fn import_all(
    client: &Client,
    table: &TableName,
    files: Vec<RemoteInput>,
    on_error: Option<OnError>,
    current: &CurrentFile,
) -> Result<(), Failure> {
    let clock = SystemClock::new();
    let create = format!("CREATE TABLE IF NOT EXISTS \"{}\" ()", table.as_str());
    // That it is there already is no news.
    for statement in ["SET client_min_messages = warning", &create, "RESET client_min_messages"] {
        client.batch_execute(statement).await.map_err(remote::failure)?;
    }
    let on_error = match on_error {
        Some(OnError::Skip) => ", ON_ERROR ignore",
        Some(OnError::Stop) | None => "",
    };
    for file in files {
        *current.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&file.name);
        let begun = clock.elapsed();
        let copy = format!("COPY \"{}\" FROM STDIN (FORMAT {}{on_error})", table.as_str(), file.copy_format()?);
        let entities = copy_in(client, &copy, &file).await?;
        let took = clock.elapsed().saturating_sub(begun).as_secs_f64();
        let entities = counted(entities, "entity", "entities");
        println!("{}: {entities} of {} in {took:.1} s", table.as_str(), file.name);
    }
    Ok(())
}

/// One file on its way to the server.
struct RemoteInput {
    name: Arc<str>,
    /// None for standard input.
    path: Option<Box<Path>>,
    format: Format,
}

impl RemoteInput {
    fn of(input: Input, format: Option<Format>) -> Result<Self, Failure> {
        match (input, format) {
            (Input::Standard, Some(format)) => Ok(Self { name: "standard input".into(), path: None, format }),
            (Input::Standard, None) => {
                Err(Failure::usage("which format has standard input?", "name it with --format, such as --format json"))
            }
            (Input::File(path), format) => {
                let mut source = Source::file(&path)?;
                let format = match format {
                    Some(format) => format,
                    None => source.detect()?,
                };
                Ok(Self { name: Arc::clone(source.name()), path: Some(path.into()), format })
            }
            (Input::Manifests(paths), _) => {
                let shown = paths.first().map_or_else(String::new, |path| path.display().to_string());
                Err(Failure::usage(
                    format!("{shown}: a manifest is not imported through a server"),
                    "name the data files beside it, or import into a folder with --data",
                ))
            }
        }
    }

    /// The format as COPY names it.
    fn copy_format(&self) -> Result<&'static str, Failure> {
        match self.format {
            Format::TypedCsv => Ok("typed_csv"),
            Format::AzuriteDatabase => Err(Failure::usage(
                format!("{}: a database of Azurite is not imported through a server", self.name),
                "import it into a folder with --data, and serve that",
            )),
            format => Ok(format.name()),
        }
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match &self.path {
            Some(path) => Box::new(File::open(path)?),
            None => Box::new(io::stdin()),
        })
    }
}

/// Sends a file to a COPY; the answer is how many entities it took.
async fn copy_in(client: &Client, copy: &str, file: &RemoteInput) -> Result<u64, Failure> {
    let unreadable = |error: &io::Error| {
        Failure::plain(format!("{}: cannot read it: {error}", file.name), "nothing of it was imported")
    };
    let input = file.open().map_err(|error| unreadable(&error))?;
    let mut sink = pin!(client.copy_in::<_, Bytes>(copy).await.map_err(remote::failure)?);
    let (chunks, mut read) = mpsc::channel(CHUNKS_AHEAD);
    let reading = tokio::task::spawn_blocking(move || read_chunks(input, &chunks));
    while let Some(chunk) = read.recv().await {
        // Dropped before its end, the COPY fails.
        let chunk = chunk.map_err(|error: io::Error| unreadable(&error))?;
        // What the server refused is told at the end.
        if sink.send(chunk).await.is_err() {
            break;
        }
    }
    drop(read);
    reading.await.map_err(|error| Failure::defect(format!("the reading thread ended: {error}")))?;
    sink.finish().await.map_err(|error| match remote::failure(error) {
        // In the words of the command line: the server knows neither the file nor its options.
        Failure::Plain { message, hint } => Failure::Plain {
            message: match message.starts_with("STDIN:") {
                true => in_file(&message, &file.name),
                false => format!("{}: {message}", file.name),
            },
            hint: hint.replace("ON_ERROR ignore", "--on-error skip"),
        },
        other => other,
    })
}

/// Reads until the end, an error, or until the receiver is gone.
fn read_chunks(mut input: Box<dyn Read + Send>, chunks: &mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let mut buffer = BytesMut::zeroed(CHUNK_BYTES);
        let chunk = match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(bytes) => Ok(buffer.split_to(bytes).freeze()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let has_failed = chunk.is_err();
        if chunks.blocking_send(chunk).is_err() || has_failed {
            return;
        }
    }
}
