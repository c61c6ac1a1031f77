//! A server of the test's own.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::robustness::wait_for;
use crate::robustness::wire::Client;
use crate::server_process::{ServerProcess, serve};

/// How soon a client is answered, however busy others are.
const PROMPT: Duration = Duration::from_secs(30);
/// Bound for what is not about memory.
const MIBIBYTES_MAX: u64 = 1024;

/// A running server; it is killed when this is dropped.
pub(crate) struct Server {
    server: ServerProcess,
    pub port: u16,
    said: Arc<Mutex<String>>,
    listener: Option<JoinHandle<()>>,
}

/// How a program ended, and what it said on standard error.
pub(crate) struct Ended {
    pub status: ExitStatus,
    pub said: String,
}

impl Server {
    /// Without tables, and nothing kept.
    pub(crate) fn empty() -> Self {
        Self::start(&["--data", ":memory:"])
    }

    /// With the sample's tables, and nothing kept.
    pub(crate) fn with_sample() -> Self {
        Self::start(&["--sample"])
    }

    /// With 256 MiB for queries and a table of 20,000 rows, and a session that has said hello.
    #[track_caller]
    pub(crate) fn with_people() -> (Self, Client) {
        let server = Self::start(&["--data", ":memory:", "--memory-mib", "256", "--cache-mib", "64"]);
        let mut client = server.connect();
        for statement in [
            "create table people (age int, last text)",
            "insert into people (partitionkey, rowkey, age, last) \
             select 'p', lpad(n::text, 6, '0'), n % 50, 'name' || n from generate_series(1, 20000) g(n)",
            "set statement_timeout = '100s'",
        ] {
            assert_eq!(client.ask(statement).errors, [], "{statement}");
        }
        (server, client)
    }

    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(serve(), arguments)
    }

    /// Where the process may open only so many files and sockets.
    pub(crate) fn with_descriptors(descriptors_max: u32, arguments: &[&str]) -> Self {
        let (mut shell, serve) = (Command::new("sh"), serve());
        shell.args(["-c", &format!("ulimit -n {descriptors_max} && exec \"$0\" \"$@\"")]);
        shell.arg(serve.get_program()).args(serve.get_args()).env_remove("ROWKEY_DATA");
        Self::spawn(shell, arguments)
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.server.process.id()
    }

    fn spawn(mut command: Command, arguments: &[&str]) -> Self {
        let mut server = ServerProcess::start(command.args(arguments).stderr(Stdio::piped())).expect("it starts");
        let said = Arc::new(Mutex::new(String::new()));
        let stderr = server.process.stderr.take().expect("piped");
        let heard = Arc::clone(&said);
        let listener = thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                heard.lock().expect("not poisoned").push_str(&format!("{line}\n"));
            }
        });
        let (_, port) = server.address().rsplit_once(':').expect("an address");
        let port = port.parse().expect("a port");
        Self { server, port, said, listener: Some(listener) }
    }

    /// Runs the program to its end, for at most `patience`.
    pub(crate) fn run(arguments: &[&str], patience: Duration) -> Ended {
        Self::run_measured(arguments, patience).0
    }

    /// The same, with the most memory that it had at a time, in MiB.
    pub(crate) fn run_measured(arguments: &[&str], patience: Duration) -> (Ended, u64) {
        let mut process = Command::new(env!("CARGO_BIN_EXE_rowkey"))
            .args(arguments)
            .env_remove("ROWKEY_DATA")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut kibibytes_max = 0;
        wait_for("the program ends", patience, || {
            // The last look at its peak is a moment before its end.
            kibibytes_max = kibibytes_max.max(kibibytes(process.id(), "VmHWM:").unwrap_or(0));
            process.try_wait().expect("a child").is_some()
        });
        let mut said = String::new();
        process.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        (Ended { status: process.wait().expect("a child"), said }, kibibytes_max / 1024)
    }

    /// A session that has said hello.
    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.port, &[])
    }

    pub(crate) fn resident_mibibytes(&self) -> u64 {
        kibibytes(self.id(), "VmRSS:").expect("its memory") / 1024
    }

    /// The most that it had in memory at any time.
    pub(crate) fn peak_mibibytes(&self) -> u64 {
        kibibytes(self.id(), "VmHWM:").expect("its memory") / 1024
    }

    /// Sockets and files that it has open.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.id())).expect("it runs").count()
    }

    pub(crate) fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.id())).expect("it runs").count()
    }

    fn processor_ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).expect("it runs");
        // The name may have blanks; it ends with a parenthesis.
        let (_, after) = stat.rsplit_once(')').expect("a name");
        let fields: Vec<&str> = after.split_whitespace().collect();
        fields[11].parse::<u64>().expect("user") + fields[12].parse::<u64>().expect("system")
    }

    /// Waits until it computes nothing.
    #[track_caller]
    pub(crate) fn wait_until_quiet(&self, patience: Duration) {
        wait_for("the server computes nothing", patience, || {
            let before = self.processor_ticks();
            thread::sleep(Duration::from_millis(200));
            // A tick is a hundredth of a second.
            self.processor_ticks() - before <= 4
        });
    }

    /// Others are served at once, memory is bounded, nothing panicked.
    #[track_caller]
    pub(crate) fn assert_well(&self) {
        self.assert_well_within(MIBIBYTES_MAX);
    }

    #[track_caller]
    pub(crate) fn assert_well_within(&self, mibibytes_max: u64) {
        let began = Instant::now();
        let mut client = self.connect();
        assert_eq!(client.value("select 1 + 1"), "2");
        client.leave();
        let took = began.elapsed();
        assert!(took < PROMPT, "another client waited {took:?}");
        let resident = self.resident_mibibytes();
        assert!(resident < mibibytes_max, "{resident} MiB are more than {mibibytes_max}");
        let said = self.said.lock().expect("not poisoned").clone();
        assert!(!said.contains("panicked"), "{said}");
    }

    /// Sends a signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn ended(mut self, patience: Duration) -> Ended {
        wait_for("the server ends", patience, || self.server.process.try_wait().expect("a child").is_some());
        let status = self.server.process.wait().expect("a child");
        self.listener.take().into_iter().for_each(|listener| listener.join().expect("it reads"));
        Ended { status, said: self.said.lock().expect("not poisoned").clone() }
    }
}

/// A number of a process's status; none once it has ended.
fn kibibytes(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

impl Drop for Server {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the server said: {}", self.said.lock().map(|said| said.clone()).unwrap_or_default());
        }
    }
}
