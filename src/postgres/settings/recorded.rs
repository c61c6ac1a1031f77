//! Settings of PostgreSQL 15 that change nothing here: what its `pg_settings` tells of those that a
//! session may set, with their ranges and units.
//!
//! Clients, ORMs and scripts set them, most of all those of the planner. Those that would change
//! answers take no value but their default.

use super::definitions::{Access, COUNT, Definition, Kind};

const fn integer(min: i64, max: i64, unit: &'static str) -> Kind {
    Kind::Integer { min, max, unit }
}

const fn real(min: f64, max: f64, unit: &'static str) -> Kind {
    Kind::Real { min, max, unit }
}

const COST: Kind = real(0.0, f64::MAX, "");
const LOG_LEVELS: Kind = Kind::Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log", "fatal", "panic",
]);

/// A setting of a category: name, what it takes, default, PostgreSQL's description.
type Recorded = (&'static str, Kind, &'static str, &'static str);

/// By category.
#[rustfmt::skip]
static RECORDED: &[(&str, &[Recorded])] = &[
    ("Client Connection Defaults / Locale and Formatting", &[
        ("default_text_search_config", Kind::Text, "pg_catalog.simple", "Sets default text search configuration."),
        ("timezone_abbreviations", Kind::Text, "", "Selects a file of time zone abbreviations."),
    ]),
    ("Client Connection Defaults / Other Defaults", &[
        ("dynamic_library_path", Kind::Text, "$libdir", "Sets the path for dynamically loadable modules."),
        ("gin_fuzzy_search_limit", COUNT, "0", "Sets the maximum allowed result for exact search by GIN."),
    ]),
    ("Client Connection Defaults / Shared Library Preloading", &[
        ("local_preload_libraries", Kind::Text, "",
            "Lists unprivileged shared libraries to preload into each backend."),
        ("session_preload_libraries", Kind::Text, "", "Lists shared libraries to preload into each backend."),
    ]),
    ("Client Connection Defaults / Statement Behavior", &[
        ("default_toast_compression", Kind::Enum(&["pglz", "lz4"]), "pglz",
            "Sets the default compression method for compressible values."),
        ("gin_pending_list_limit", integer(64, 2_147_483_647, "kB"), "4MB",
            "Sets the maximum size of the pending list for GIN index."),
        ("session_replication_role", Kind::Enum(&["origin", "replica", "local"]), "origin",
            "Sets the session's behavior for triggers and rewrite rules."),
        ("temp_tablespaces", Kind::Text, "", "Sets the tablespace(s) to use for temporary tables and sort files."),
        ("vacuum_failsafe_age", integer(0, 2_100_000_000, ""), "1600000000",
            "Age at which VACUUM should trigger failsafe to avoid a wraparound outage."),
        ("vacuum_freeze_min_age", integer(0, 1_000_000_000, ""), "50000000",
            "Minimum age at which VACUUM should freeze a table row."),
        ("vacuum_freeze_table_age", integer(0, 2_000_000_000, ""), "150000000",
            "Age at which VACUUM should scan whole table to freeze tuples."),
        ("vacuum_multixact_failsafe_age", integer(0, 2_100_000_000, ""), "1600000000",
            "Multixact age at which VACUUM should trigger failsafe to avoid a wraparound outage."),
        ("vacuum_multixact_freeze_min_age", integer(0, 1_000_000_000, ""), "5000000",
            "Minimum age at which VACUUM should freeze a MultiXactId in a table row."),
        ("vacuum_multixact_freeze_table_age", integer(0, 2_000_000_000, ""), "150000000",
            "Multixact age at which VACUUM should scan whole table to freeze tuples."),
        ("xmlbinary", Kind::Enum(&["base64", "hex"]), "base64", "Sets how binary values are to be encoded in XML."),
    ]),
    ("Connections and Authentication / Authentication", &[
        ("password_encryption", Kind::Enum(&["md5", "scram-sha-256"]), "scram-sha-256",
            "Chooses the algorithm for encrypting passwords."),
    ]),
    ("Connections and Authentication / Connection Settings", &[
        ("client_connection_check_interval", integer(0, 2_147_483_647, "ms"), "0",
            "Sets the time interval between checks for disconnection while running queries."),
        ("tcp_keepalives_count", COUNT, "0", "Maximum number of TCP keepalive retransmits."),
        ("tcp_keepalives_interval", integer(0, 2_147_483_647, "s"), "0", "Time between TCP keepalive retransmits."),
        ("tcp_user_timeout", integer(0, 2_147_483_647, "ms"), "0", "TCP user timeout."),
    ]),
    ("Developer Options", &[
        ("backtrace_functions", Kind::Text, "", "Log backtrace for errors in these functions."),
        ("debug_discard_caches", integer(0, 0, ""), "0", "Aggressively flush system caches for debugging purposes."),
        ("force_parallel_mode", Kind::Enum(&["off", "on", "regress"]), "off",
            "Forces use of parallel query facilities."),
        ("ignore_checksum_failure", Kind::Bool, "off", "Continues processing after a checksum failure."),
        ("jit_dump_bitcode", Kind::Bool, "off", "Write out LLVM bitcode to facilitate JIT debugging."),
        ("jit_expressions", Kind::Bool, "on", "Allow JIT compilation of expressions."),
        ("jit_tuple_deforming", Kind::Bool, "on", "Allow JIT compilation of tuple deforming."),
        ("trace_notify", Kind::Bool, "off", "Generates debugging output for LISTEN and NOTIFY."),
        ("trace_sort", Kind::Bool, "off", "Emit information about resource usage in sorting."),
        ("wal_consistency_checking", Kind::Text, "",
            "Sets the WAL resource managers for which WAL consistency checks are done."),
        ("zero_damaged_pages", Kind::Bool, "off", "Continues processing past damaged page headers."),
    ]),
    ("Error Handling", &[
        ("exit_on_error", Kind::Enum(&["off"]), "off", "Terminate session on any error."),
    ]),
    ("Lock Management", &[
        ("deadlock_timeout", integer(1, 2_147_483_647, "ms"), "1s",
            "Sets the time to wait on a lock before checking for deadlock."),
    ]),
    ("Query Tuning / Genetic Query Optimizer", &[
        ("geqo_effort", integer(1, 10, ""), "5",
            "GEQO: effort is used to set the default for other GEQO parameters."),
        ("geqo_generations", COUNT, "0", "GEQO: number of iterations of the algorithm."),
        ("geqo_pool_size", COUNT, "0", "GEQO: number of individuals in the population."),
        ("geqo_seed", real(0.0, 1.0, ""), "0", "GEQO: seed for random path selection."),
        ("geqo_selection_bias", real(1.5, 2.0, ""), "2", "GEQO: selective pressure within the population."),
        ("geqo_threshold", integer(2, 2_147_483_647, ""), "12",
            "Sets the threshold of FROM items beyond which GEQO is used."),
    ]),
    ("Query Tuning / Other Planner Options", &[
        ("constraint_exclusion", Kind::Enum(&["partition", "on", "off"]), "partition",
            "Enables the planner to use constraints to optimize queries."),
        ("cursor_tuple_fraction", real(0.0, 1.0, ""), "0.1",
            "Sets the planner's estimate of the fraction of a cursor's rows that will be retrieved."),
        ("default_statistics_target", integer(1, 10_000, ""), "100", "Sets the default statistics target."),
        ("from_collapse_limit", integer(1, 2_147_483_647, ""), "8",
            "Sets the FROM-list size beyond which subqueries are not collapsed."),
        ("join_collapse_limit", integer(1, 2_147_483_647, ""), "8",
            "Sets the FROM-list size beyond which JOIN constructs are not flattened."),
        ("plan_cache_mode", Kind::Enum(&["auto", "force_generic_plan", "force_custom_plan"]), "auto",
            "Controls the planner's selection of custom or generic plan."),
        ("recursive_worktable_factor", real(0.001, 1_000_000.0, ""), "10",
            "Sets the planner's estimate of the average size of a recursive query's working table."),
    ]),
    ("Query Tuning / Planner Cost Constants", &[
        ("cpu_index_tuple_cost", COST, "0.005",
            "Sets the planner's estimate of the cost of processing each index entry during an index scan."),
        ("cpu_operator_cost", COST, "0.0025",
            "Sets the planner's estimate of the cost of processing each operator or function call."),
        ("cpu_tuple_cost", COST, "0.01", "Sets the planner's estimate of the cost of processing each tuple (row)."),
        ("effective_cache_size", integer(1, 2_147_483_647, "8kB"), "4GB",
            "Sets the planner's assumption about the total size of the data caches."),
        ("jit_above_cost", real(-1.0, f64::MAX, ""), "100000", "Perform JIT compilation if query is more expensive."),
        ("jit_inline_above_cost", real(-1.0, f64::MAX, ""), "500000",
            "Perform JIT inlining if query is more expensive."),
        ("jit_optimize_above_cost", real(-1.0, f64::MAX, ""), "500000",
            "Optimize JIT-compiled functions if query is more expensive."),
        ("min_parallel_index_scan_size", integer(0, 715_827_882, "8kB"), "512kB",
            "Sets the minimum amount of index data for a parallel scan."),
        ("min_parallel_table_scan_size", integer(0, 715_827_882, "8kB"), "8MB",
            "Sets the minimum amount of table data for a parallel scan."),
        ("parallel_setup_cost", COST, "1000",
            "Sets the planner's estimate of the cost of starting up worker processes for parallel query."),
        ("parallel_tuple_cost", COST, "0.1",
            "Sets the planner's estimate of the cost of passing each tuple (row) from worker to leader backend."),
        ("random_page_cost", COST, "4",
            "Sets the planner's estimate of the cost of a nonsequentially fetched disk page."),
        ("seq_page_cost", COST, "1", "Sets the planner's estimate of the cost of a sequentially fetched disk page."),
    ]),
    ("Query Tuning / Planner Method Configuration", &[
        ("enable_async_append", Kind::Bool, "on", "Enables the planner's use of async append plans."),
        ("enable_bitmapscan", Kind::Bool, "on", "Enables the planner's use of bitmap-scan plans."),
        ("enable_gathermerge", Kind::Bool, "on", "Enables the planner's use of gather merge plans."),
        ("enable_hashagg", Kind::Bool, "on", "Enables the planner's use of hashed aggregation plans."),
        ("enable_hashjoin", Kind::Bool, "on", "Enables the planner's use of hash join plans."),
        ("enable_incremental_sort", Kind::Bool, "on", "Enables the planner's use of incremental sort steps."),
        ("enable_indexonlyscan", Kind::Bool, "on", "Enables the planner's use of index-only-scan plans."),
        ("enable_indexscan", Kind::Bool, "on", "Enables the planner's use of index-scan plans."),
        ("enable_material", Kind::Bool, "on", "Enables the planner's use of materialization."),
        ("enable_memoize", Kind::Bool, "on", "Enables the planner's use of memoization."),
        ("enable_mergejoin", Kind::Bool, "on", "Enables the planner's use of merge join plans."),
        ("enable_nestloop", Kind::Bool, "on", "Enables the planner's use of nested-loop join plans."),
        ("enable_parallel_append", Kind::Bool, "on", "Enables the planner's use of parallel append plans."),
        ("enable_parallel_hash", Kind::Bool, "on", "Enables the planner's use of parallel hash plans."),
        ("enable_partition_pruning", Kind::Bool, "on", "Enables plan-time and execution-time partition pruning."),
        ("enable_partitionwise_aggregate", Kind::Bool, "off", "Enables partitionwise aggregation and grouping."),
        ("enable_partitionwise_join", Kind::Bool, "off", "Enables partitionwise join."),
        ("enable_seqscan", Kind::Bool, "on", "Enables the planner's use of sequential-scan plans."),
        ("enable_sort", Kind::Bool, "on", "Enables the planner's use of explicit sort steps."),
        ("enable_tidscan", Kind::Bool, "on", "Enables the planner's use of TID scan plans."),
    ]),
    ("Replication / Sending Servers", &[
        ("wal_sender_timeout", integer(0, 2_147_483_647, "ms"), "1min",
            "Sets the maximum time to wait for WAL replication."),
    ]),
    ("Reporting and Logging / Process Title", &[
        ("update_process_title", Kind::Bool, "on", "Updates the process title to show the active SQL command."),
    ]),
    ("Reporting and Logging / What to Log", &[
        ("debug_pretty_print", Kind::Bool, "on", "Indents parse and plan tree displays."),
        ("debug_print_parse", Kind::Bool, "off", "Logs each query's parse tree."),
        ("debug_print_plan", Kind::Bool, "off", "Logs each query's execution plan."),
        ("debug_print_rewritten", Kind::Bool, "off", "Logs each query's rewritten parse tree."),
        ("log_duration", Kind::Bool, "off", "Logs the duration of each completed SQL statement."),
        ("log_error_verbosity", Kind::Enum(&["terse", "default", "verbose"]), "default",
            "Sets the verbosity of logged messages."),
        ("log_lock_waits", Kind::Bool, "off", "Logs long lock waits."),
        ("log_parameter_max_length", integer(-1, 1_073_741_823, "B"), "-1",
            "Sets the maximum length in bytes of data logged for bind parameter values when logging statements."),
        ("log_parameter_max_length_on_error", integer(-1, 1_073_741_823, "B"), "0",
            "Sets the maximum length in bytes of data logged for bind parameter values, on error."),
        ("log_replication_commands", Kind::Bool, "off", "Logs each replication command."),
        ("log_statement", Kind::Enum(&["none", "ddl", "mod", "all"]), "none", "Sets the type of statements logged."),
        ("log_temp_files", integer(-1, 2_147_483_647, "kB"), "-1",
            "Log the use of temporary files larger than this number of kilobytes."),
    ]),
    ("Reporting and Logging / When to Log", &[
        ("log_min_duration_sample", integer(-1, 2_147_483_647, "ms"), "-1",
            "Sets the minimum execution time above which a sample of statements will be logged."),
        ("log_min_duration_statement", integer(-1, 2_147_483_647, "ms"), "-1",
            "Sets the minimum execution time above which all statements will be logged."),
        ("log_min_error_statement", LOG_LEVELS, "error",
            "Causes all statements generating error at or above this level to be logged."),
        ("log_min_messages", LOG_LEVELS, "warning", "Sets the message levels that are logged."),
        ("log_statement_sample_rate", real(0.0, 1.0, ""), "1",
            "Fraction of statements exceeding log_min_duration_sample to be logged."),
        ("log_transaction_sample_rate", real(0.0, 1.0, ""), "0",
            "Sets the fraction of transactions from which to log all statements."),
    ]),
    ("Resource Usage / Asynchronous Behavior", &[
        ("backend_flush_after", integer(0, 256, "8kB"), "0",
            "Number of pages after which previously performed writes are flushed to disk."),
        ("effective_io_concurrency", integer(0, 1_000, ""), "1",
            "Number of simultaneous requests that can be handled efficiently by the disk subsystem."),
        ("maintenance_io_concurrency", integer(0, 1_000, ""), "10",
            "A variant of effective_io_concurrency that is used for maintenance work."),
        ("max_parallel_maintenance_workers", integer(0, 1_024, ""), "2",
            "Sets the maximum number of parallel processes per maintenance operation."),
        ("max_parallel_workers", integer(0, 1_024, ""), "8",
            "Sets the maximum number of parallel workers that can be active at one time."),
        ("max_parallel_workers_per_gather", integer(0, 1_024, ""), "2",
            "Sets the maximum number of parallel processes per executor node."),
        ("parallel_leader_participation", Kind::Bool, "on",
            "Controls whether Gather and Gather Merge also run subplans."),
    ]),
    ("Resource Usage / Cost-Based Vacuum Delay", &[
        ("vacuum_cost_delay", real(0.0, 100.0, "ms"), "0", "Vacuum cost delay in milliseconds."),
        ("vacuum_cost_limit", integer(1, 10_000, ""), "200", "Vacuum cost amount available before napping."),
        ("vacuum_cost_page_dirty", integer(0, 10_000, ""), "20", "Vacuum cost for a page dirtied by vacuum."),
        ("vacuum_cost_page_hit", integer(0, 10_000, ""), "1", "Vacuum cost for a page found in the buffer cache."),
        ("vacuum_cost_page_miss", integer(0, 10_000, ""), "2",
            "Vacuum cost for a page not found in the buffer cache."),
    ]),
    ("Resource Usage / Disk", &[
        ("temp_file_limit", integer(-1, 2_147_483_647, "kB"), "-1",
            "Limits the total size of all temporary files used by each process."),
    ]),
    ("Resource Usage / Memory", &[
        ("hash_mem_multiplier", real(1.0, 1000.0, ""), "2", "Multiple of work_mem to use for hash tables."),
        ("logical_decoding_work_mem", integer(64, 2_147_483_647, "kB"), "64MB",
            "Sets the maximum memory to be used for logical decoding."),
        ("maintenance_work_mem", integer(1024, 2_147_483_647, "kB"), "64MB",
            "Sets the maximum memory to be used for maintenance operations."),
        ("max_stack_depth", integer(100, 2_147_483_647, "kB"), "100kB",
            "Sets the maximum stack depth, in kilobytes."),
        ("temp_buffers", integer(100, 1_073_741_823, "8kB"), "8MB",
            "Sets the maximum number of temporary buffers used by each session."),
    ]),
    ("Statistics / Cumulative Query and Index Statistics", &[
        ("stats_fetch_consistency", Kind::Enum(&["none", "cache", "snapshot"]), "cache",
            "Sets the consistency of accesses to statistics data."),
        ("track_activities", Kind::Bool, "on", "Collects information about executing commands."),
        ("track_counts", Kind::Bool, "on", "Collects statistics on database activity."),
        ("track_functions", Kind::Enum(&["none", "pl", "all"]), "none",
            "Collects function-level statistics on database activity."),
        ("track_io_timing", Kind::Bool, "off", "Collects timing statistics for database I/O activity."),
        ("track_wal_io_timing", Kind::Bool, "off", "Collects timing statistics for WAL I/O activity."),
    ]),
    ("Statistics / Monitoring", &[
        ("compute_query_id", Kind::Enum(&["auto", "regress", "on", "off"]), "auto",
            "Enables in-core computation of query identifiers."),
        ("log_executor_stats", Kind::Bool, "off", "Writes executor performance statistics to the server log."),
        ("log_parser_stats", Kind::Bool, "off", "Writes parser performance statistics to the server log."),
        ("log_planner_stats", Kind::Bool, "off", "Writes planner performance statistics to the server log."),
        ("log_statement_stats", Kind::Bool, "off", "Writes cumulative performance statistics to the server log."),
    ]),
    ("Version and Platform Compatibility / Other Platforms and Clients", &[
        ("transform_null_equals", Kind::Enum(&["off"]), "off", "Treats \"expr=NULL\" as \"expr IS NULL\"."),
    ]),
    ("Version and Platform Compatibility / Previous PostgreSQL Versions", &[
        ("array_nulls", Kind::Enum(&["on"]), "on", "Enable input of NULL elements in arrays."),
        ("backslash_quote", Kind::Enum(&["safe_encoding", "on", "off"]), "safe_encoding",
            "Sets whether \"\'\" is allowed in string literals."),
        ("escape_string_warning", Kind::Bool, "on", "Warn about backslash escapes in ordinary string literals."),
        ("lo_compat_privileges", Kind::Bool, "off",
            "Enables backward compatibility mode for privilege checks on large objects."),
        ("quote_all_identifiers", Kind::Enum(&["off"]), "off",
            "When generating SQL fragments, quote all identifiers."),
    ]),
    ("Write-Ahead Log / Settings", &[
        ("commit_delay", integer(0, 100_000, ""), "0",
            "Sets the delay in microseconds between transaction commit and flushing WAL to disk."),
        ("commit_siblings", integer(0, 1_000, ""), "5",
            "Sets the minimum number of concurrent open transactions required before performing commit_delay."),
        ("wal_compression", Kind::Enum(&["pglz", "lz4", "zstd", "on", "off"]), "off",
            "Compresses full-page writes written in WAL file with specified method."),
        ("wal_init_zero", Kind::Bool, "on", "Writes zeroes to new WAL files before first use."),
        ("wal_recycle", Kind::Bool, "on", "Recycles WAL files by renaming them."),
        ("wal_skip_threshold", integer(0, 2_147_483_647, "kB"), "2MB",
            "Minimum size of new file to fsync instead of writing WAL."),
    ]),
];

/// All of them, by category and name.
pub(super) fn recorded() -> impl Iterator<Item = Definition> {
    RECORDED.iter().flat_map(|(category, settings)| {
        settings.iter().map(|&(name, kind, default, description)| Definition {
            name,
            kind,
            default,
            access: Access::Anyone,
            reported: false,
            acts: false,
            category,
            description,
        })
    })
}
