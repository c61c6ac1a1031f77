//! Entity group transactions, as SDKs send them and expect their answers (specification,
//! section 3).

mod answer;
mod failures;
mod parts;
mod query;
mod request;
mod run;

pub(crate) use run::run;

#[cfg(test)]
mod tests;
