use std::process::ExitCode;

use rowkey_command::{Arguments, run};

/// A third of a COPY, and a tenth of most queries, was spent in the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Statements are walked by recursion, and an overflow ends the process with all of its sessions.
/// Pages that are not used take no memory.
const STACK_BYTES: usize = 64 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::from_process();
    match tokio::runtime::Builder::new_multi_thread().thread_stack_size(STACK_BYTES).enable_all().build() {
        Ok(runtime) => runtime.block_on(run(arguments)),
        Err(error) => {
            eprintln!("error: cannot start the threads that run queries: {error}");
            ExitCode::FAILURE
        }
    }
}
