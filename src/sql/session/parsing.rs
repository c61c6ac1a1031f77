//! From a text to its statements: long texts on compute threads, in memory of queries.

use std::future::Future;
use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryReservation;
use rowkey_base::{Error, Result, SqlState};
use rowkey_postgres::cancellation::Signals;
use rowkey_postgres::syntax::{
    Disposer, ParseMemory, Request, Statement, is_parsed_quickly, kept_bytes, parse_all, parse_within,
};

use super::session::Session;
use crate::compute::ComputeRuntime;

impl Session {
    /// The statements of a text.
    pub fn parse<'t>(&self, text: &'t str) -> impl Future<Output = Result<Vec<Statement>>> + Send + use<'t> {
        let (compiler, signals) = (Arc::clone(self.compiler()), self.registration().signals().of_statement());
        async move {
            if is_parsed_quickly(text) {
                return parse_all(text);
            }
            // A consumer of the pool costs more than to parse a short text.
            let (compute, memory) = (compiler.compute(), compiler.memory("statements"));
            let mut parsing = Parsing { signals: Arc::clone(&signals), memory };
            parsing.grow(kept_bytes(text))?;
            let (shared, freeing): (Arc<str>, _) = (Arc::from(text), Arc::clone(compute));
            let parsed = async move {
                let statements = parse_within(&shared, &mut parsing)?;
                let freed: Arc<dyn Disposer> = Arc::new(Freed { compute: freeing, memory: parsing.memory });
                Ok(statements.into_iter().map(|statement| statement.disposed_by(&freed)).collect())
            };
            compute.plan(text, &signals, parsed).await
        }
    }
}

struct Parsing {
    signals: Arc<Signals>,
    memory: MemoryReservation,
}

impl ParseMemory for Parsing {
    fn grow(&mut self, bytes: usize) -> Result<()> {
        self.signals.check()?;
        self.memory.try_grow(bytes).map_err(|_| {
            let message = format!("out of memory for {} MiB of statements", (self.memory.size() + bytes) >> 20);
            Error::new(SqlState::OUT_OF_MEMORY, message)
                .with_hint("send fewer or shorter statements at a time, use COPY for many rows, or raise --memory-mib")
        })
    }

    fn shrink(&mut self, bytes: usize) {
        self.memory.shrink(bytes);
    }
}

/// Frees statements in the background; with the last of them goes what was reserved for all.
#[derive(Debug)]
struct Freed {
    compute: Arc<ComputeRuntime>,
    memory: MemoryReservation,
}

impl Disposer for Freed {
    fn dispose(&self, request: Request) {
        self.compute.drop_apart(request);
    }

    fn reserved_bytes(&self) -> usize {
        self.memory.size()
    }
}
