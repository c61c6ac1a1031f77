//! What is done with tables and entities (specification, sections 2 and 5).

mod access_policies;
mod call;
mod continuation;
mod cors;
mod entities;
mod etag;
mod select;
mod service;
mod tables;
mod writes;

pub(crate) use access_policies::{get_policies, put_policies};
pub(crate) use call::Call;
pub(crate) use cors::{cors_headers, preflight};
pub(crate) use entities::{get_entity, query_entities};
pub(crate) use service::{CorsRules, get_properties, get_statistics, put_properties};
pub(crate) use tables::{create_table, delete_table, get_table, query_tables};
pub(crate) use writes::{EntityWrite, answer_of, read_write, run_write};
