//! The Table service's REST protocol, next to Azurite: the same requests, the same client.
//!
//! `cargo bench --bench tables -- [--server PATH] [--azurite MAIN.js] [--seconds S]
//! [--clients 1,8,32] [--only TEXT]` starts the server (this build's, unless a path is given) and
//! the emulator's table service, each on a folder of its own, fills both with the same entities by
//! batches, and prints throughput, latencies, processor time a request and the most memory of
//! closed loops. Requests are signed with the development key, and connections are kept.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rowkey_authorization::AccountKeys;
use rowkey_base::testing::Dice;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ACCOUNT: &str = "devstoreaccount1";
const PARTITIONS: usize = 20;
const ROWS_EACH: usize = 1000;
const BATCH: usize = 100;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a client asks for, again and again, with other keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Insert,
    Get,
    Page,
    Batch,
    Filter,
}

impl Operation {
    const ALL: [Self; 5] = [Self::Get, Self::Insert, Self::Batch, Self::Page, Self::Filter];

    fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Get => "get",
            Self::Page => "page of 1000",
            Self::Batch => "batch of 100",
            Self::Filter => "partition filter",
        }
    }

    fn request(self, client: &Signer, number: u64, dice: &mut Dice) -> Request {
        let (partition, row) = (dice.below(PARTITIONS), dice.below(ROWS_EACH));
        match self {
            Self::Insert => client.post("written", &entity(&format!("w{}", number % 64), &format!("{number:012}"))),
            Self::Get => {
                client.get(&format!("orders(PartitionKey='p{partition:03}',RowKey='{row:06}')"), "").expecting(1)
            }
            Self::Page => {
                let filter = format!("?$filter=PartitionKey%20eq%20'p{partition:03}'");
                client.get("orders()", &filter).expecting(ROWS_EACH)
            }
            Self::Batch => client.batch("written", &format!("b{number:012}"), 0),
            Self::Filter => {
                let filter = format!("?$filter=PartitionKey%20eq%20'p{partition:03}'%20and%20Count%20eq%2042");
                client.get("orders()", &filter).expecting(ROWS_EACH / 100)
            }
        }
    }
}

struct Options {
    server: PathBuf,
    azurite: Option<PathBuf>,
    seconds: f64,
    clients: Vec<usize>,
    only: String,
}

fn main() -> Result<(), Failure> {
    let mut options = Options {
        server: PathBuf::from(env!("CARGO_BIN_EXE_rowkey")),
        azurite: None,
        seconds: 3.0,
        clients: vec![1, 8, 32],
        only: String::new(),
    };
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} takes a value"))?;
        match name.as_str() {
            "--server" => options.server = PathBuf::from(value),
            "--azurite" => options.azurite = Some(PathBuf::from(value)),
            "--seconds" => options.seconds = value.parse()?,
            "--clients" => options.clients = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--only" => options.only = value,
            other => return Err(format!("{other} is no option").into()),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(&options))
}

async fn measure(options: &Options) -> Result<(), Failure> {
    let mut servers = vec![Server::rowkey(&options.server)?];
    if let Some(main) = &options.azurite {
        servers.push(Server::azurite(main)?);
    }
    for server in &servers {
        fill(server.port).await?;
    }
    println!("| operation | clients | server | requests/s | p50 us | p99 us | CPU us a request | of the last |");
    println!("|---|---:|---|---:|---:|---:|---:|---:|");
    for operation in Operation::ALL.into_iter().filter(|operation| operation.name().contains(&options.only)) {
        for &clients in &options.clients {
            let mut rows = Vec::new();
            for server in &servers {
                rows.push((server.name, load(server, operation, clients, options.seconds).await?));
            }
            let reference = rows.last().map_or(1.0, |(_, last)| last.rate);
            for (name, Measured { rate, p50, p99, processor }) in &rows {
                let (asked, of) = (operation.name(), rate / reference);
                println!("| {asked} | {clients} | {name} | {rate:.0} | {p50} | {p99} | {processor:.0} | {of:.2} |");
            }
        }
    }
    for server in &servers {
        println!("{}: at most {} MiB", server.name, server.peak_mibibytes()?);
    }
    Ok(())
}

struct Measured {
    rate: f64,
    p50: u64,
    p99: u64,
    /// Microseconds of the server's processor time a request.
    processor: f64,
}

async fn load(server: &Server, operation: Operation, clients: usize, seconds: f64) -> Result<Measured, Failure> {
    let warm = Duration::from_secs_f64(seconds / 4.0);
    let run = Duration::from_secs_f64(seconds);
    // Keys that no earlier run has written.
    let numbers = Arc::new(AtomicU64::new(server.written.load(Ordering::Relaxed)));
    let begin = Instant::now();
    let mut tasks = Vec::new();
    for number in 0..clients {
        let (port, numbers) = (server.port, Arc::clone(&numbers));
        tasks.push(tokio::spawn(async move {
            let mut connection = Connection::open(port).await?;
            let (signer, mut dice) = (Signer::new(), Dice(number as u64 + 1));
            let mut micros = Vec::new();
            while begin.elapsed() < warm + run {
                let request = operation.request(&signer, numbers.fetch_add(1, Ordering::Relaxed), &mut dice);
                let asked = Instant::now();
                connection.ask(&request).await?;
                if begin.elapsed() > warm {
                    micros.push(asked.elapsed().as_micros() as u64);
                }
            }
            Ok::<_, Failure>(micros)
        }));
    }
    tokio::time::sleep_until((begin + warm).into()).await;
    let before = server.processor_micros()?;
    let mut micros = Vec::new();
    for task in tasks {
        micros.extend(task.await??);
    }
    let processor = (server.processor_micros()? - before) as f64 / micros.len().max(1) as f64;
    server.written.store(numbers.load(Ordering::Relaxed), Ordering::Relaxed);
    micros.sort_unstable();
    let at = |share: f64| micros.get((micros.len() as f64 * share) as usize).copied().unwrap_or_default();
    Ok(Measured { rate: micros.len() as f64 / run.as_secs_f64(), p50: at(0.5), p99: at(0.99), processor })
}

async fn fill(port: u16) -> Result<(), Failure> {
    let mut connection = Connection::open(port).await?;
    let signer = Signer::new();
    for table in ["orders", "written"] {
        connection.ask(&signer.post("Tables", &format!(r#"{{"TableName":"{table}"}}"#))).await?;
    }
    for partition in 0..PARTITIONS {
        for from in (0..ROWS_EACH).step_by(BATCH) {
            connection.ask(&signer.batch("orders", &format!("p{partition:03}"), from)).await?;
        }
    }
    Ok(())
}

fn entity(partition: &str, row: &str) -> String {
    let number = row.bytes().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0')) % 100;
    format!(
        r#"{{"PartitionKey":"{partition}","RowKey":"{row}","Customer":"customer {number}","Amount":{number}.25,"Count":{number},"At":"2024-05-06T07:08:09.1234567Z","At@odata.type":"Edm.DateTime","Paid":true}}"#
    )
}

/// A request and what its answer has to be.
struct Request {
    text: String,
    status: &'static str,
    /// How many entities; none where they are not counted.
    entities: Option<usize>,
}

impl Request {
    fn expecting(mut self, entities: usize) -> Self {
        self.entities = Some(entities);
        self
    }
}

/// Makes signed requests (Shared Key Lite).
struct Signer {
    keys: AccountKeys,
    date: String,
}

impl Signer {
    fn new() -> Self {
        let keys = AccountKeys::development().expect("a constant");
        Self { keys, date: httpdate::fmt_http_date(std::time::SystemTime::now()) }
    }

    fn get(&self, resource: &str, query: &str) -> Request {
        let text = self.request("GET", resource, query, "Accept: application/json;odata=minimalmetadata\r\n", "");
        Request { text, status: "200", entities: None }
    }

    fn post(&self, resource: &str, body: &str) -> Request {
        let headers = "Accept: application/json;odata=minimalmetadata\r\nPrefer: return-no-content\r\n\
                       Content-Type: application/json\r\n";
        Request { text: self.request("POST", resource, "", headers, body), status: "204", entities: None }
    }

    /// An entity group transaction that inserts rows of a partition.
    fn batch(&self, table: &str, partition: &str, from: usize) -> Request {
        let mut body = String::from("--batch_a\r\nContent-Type: multipart/mixed; boundary=changeset_a\r\n\r\n");
        for row in from..from + BATCH {
            let entity = entity(partition, &format!("{row:06}"));
            write!(
                body,
                "--changeset_a\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
                 POST http://127.0.0.1/{ACCOUNT}/{table} HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n\
                 Content-Type: application/json\r\nPrefer: return-no-content\r\nDataServiceVersion: 3.0\r\n\
                 Content-Length: {}\r\n\r\n{entity}\r\n",
                entity.len()
            )
            .expect("a text");
        }
        body.push_str("--changeset_a--\r\n\r\n--batch_a--\r\n");
        let headers = "Content-Type: multipart/mixed; boundary=batch_a\r\n";
        Request { text: self.request("POST", "$batch", "", headers, &body), status: "202", entities: None }
    }

    fn request(&self, method: &str, resource: &str, query: &str, headers: &str, body: &str) -> String {
        let signature = self.keys.sign(&format!("{}\n/{ACCOUNT}/{ACCOUNT}/{resource}", self.date));
        format!(
            "{method} /{ACCOUNT}/{resource}{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: 2019-02-02\r\n\
             x-ms-date: {date}\r\nDataServiceVersion: 3.0;NetFx\r\nMaxDataServiceVersion: 3.0;NetFx\r\n\
             Authorization: SharedKeyLite {ACCOUNT}:{signature}\r\n{headers}Content-Length: {length}\r\n\r\n{body}",
            date = self.date,
            length = body.len()
        )
    }
}

/// A kept connection; answers end by their length or by chunks.
struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    async fn open(port: u16) -> Result<Self, Failure> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::new() })
    }

    async fn ask(&mut self, request: &Request) -> Result<(), Failure> {
        self.stream.write_all(request.text.as_bytes()).await?;
        let head = loop {
            if let Some(at) = find(&self.read, b"\r\n\r\n", 0) {
                break at + 4;
            }
            self.more().await?;
        };
        let headers = String::from_utf8_lossy(&self.read[..head]).to_ascii_lowercase();
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length:"));
        let end = match length {
            Some(length) => head + length.trim().parse::<usize>()?,
            None if headers.contains("transfer-encoding: chunked") => loop {
                // The bodies have no such bytes.
                match find(&self.read, b"\r\n0\r\n\r\n", head.saturating_sub(2)) {
                    Some(at) => break at + 7,
                    None => self.more().await?,
                }
            },
            None => head,
        };
        while self.read.len() < end {
            self.more().await?;
        }
        let answer = String::from_utf8_lossy(&self.read[..end]);
        if headers.split_whitespace().nth(1) != Some(request.status) {
            return Err(format!("{}\nwas answered by\n{answer}", request.text).into());
        }
        let fails = request.status == "202" && answer.matches("HTTP/1.1 204").count() != BATCH;
        let differs = request.entities.is_some_and(|entities| answer.matches("\"RowKey\"").count() != entities);
        if fails || differs {
            return Err(format!("{}\nwas answered by\n{answer:.3000}", request.text).into());
        }
        self.read.drain(..end);
        Ok(())
    }

    async fn more(&mut self) -> Result<(), Failure> {
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err("the server ended the connection".into()),
            _ => Ok(()),
        }
    }
}

fn find(text: &[u8], part: &[u8], from: usize) -> Option<usize> {
    text.get(from..)?.windows(part.len()).position(|window| window == part).map(|at| at + from)
}

/// A server on a folder of its own; it ends with this.
struct Server {
    name: &'static str,
    child: Child,
    port: u16,
    folder: PathBuf,
    /// The next number of what is written.
    written: AtomicU64,
}

impl Server {
    fn rowkey(binary: &Path) -> Result<Self, Failure> {
        Self::start("rowkey", |folder, port| {
            let mut command = Command::new(binary);
            command.args(["serve", "--pg", "127.0.0.1:0", "--rest", &format!("127.0.0.1:{port}"), "--data"]);
            command.arg(folder);
            command
        })
    }

    fn azurite(main: &Path) -> Result<Self, Failure> {
        Self::start("azurite", |folder, port| {
            let mut command = Command::new("node");
            command.arg(main).arg("--location").arg(folder).args(["--disableTelemetry", "--silent"]);
            command.args(["--skipApiVersionCheck", "--tableHost", "127.0.0.1", "--tablePort", &port.to_string()]);
            command
        })
    }

    fn start(name: &'static str, command: impl Fn(&Path, u16) -> Command) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("rowkey-tables-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut child =
            command(&folder, port).current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let errors = child.stderr.take();
        let server = Self { name, child, port, folder, written: AtomicU64::new(0) };
        for _ in 0..1500 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                // What it writes later must not fill the pipe.
                std::thread::spawn(move || errors.map(|errors| BufReader::new(errors).lines().for_each(drop)));
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(format!("{name} does not listen").into())
    }

    fn processor_micros(&self) -> Result<u64, Failure> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, after) = stat.rsplit_once(')').ok_or("no name")?;
        let ticks = after.split_whitespace().skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        // A tick is a hundredth of a second.
        Ok(ticks * 10_000)
    }

    fn peak_mibibytes(&self) -> Result<u64, Failure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no peak")?;
        Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse::<u64>()? / 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
