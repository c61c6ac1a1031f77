mod allocator;

use std::process::ExitCode;

use rowkey_command::{Arguments, run};

/// Statements are walked by recursion, and an overflow ends the process with all of its sessions.
/// Pages that are not used take no memory.
const STACK_BYTES: usize = 64 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::from_process();
    if arguments.is_server_with_little_memory()
        && let Err(error) = allocator::give_back_at_once()
    {
        eprintln!("warning: the process could not be started again, it will hold more memory: {error}");
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().thread_stack_size(STACK_BYTES).enable_all().build()
    {
        Ok(runtime) => runtime,
        Err(error) => return not_started(&error),
    };
    // Not on this thread, whose stack is as large as the system says.
    let command = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || runtime.block_on(run(arguments)));
    match command {
        // A panic has told what it was.
        Ok(command) => command.join().unwrap_or(ExitCode::FAILURE),
        Err(error) => not_started(&error),
    }
}

fn not_started(error: &std::io::Error) -> ExitCode {
    eprintln!("error: cannot start the threads that run queries: {error}");
    ExitCode::FAILURE
}
