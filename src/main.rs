use std::process::ExitCode;

use rowkey::frontend::command::{Arguments, run};

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
