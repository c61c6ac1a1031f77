use std::process::ExitCode;

use rowkey_command::{Arguments, run};

/// A third of a COPY, and a tenth of most queries, was spent in the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::from_process();
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(run(arguments)),
        Err(error) => {
            eprintln!("error: cannot start the threads that run queries: {error}");
            ExitCode::FAILURE
        }
    }
}
