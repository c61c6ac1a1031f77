//! The log on standard error: a line for each event of our own. Plans that sessions ask for are
//! logged in any case, requests and statements where the command line says so.
//!
//! Spans are of no use where a line tells all of a request, so none are kept; that spares a
//! collector of them.

use std::fmt;

use rowkey_base::clock::{Clock, SystemClock};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::arguments::LogForm;
use super::failure::{Failure, tell};

/// What the targets of our own events begin with.
const OWN: &str = "rowkey::";
/// The target of those of plans.
const PLANS: &str = "rowkey::plan";
/// Their field of several lines.
const PLAN: &str = "plan";

/// Writes events from now on; without a form, plans alone.
pub(super) fn start(requests: Option<LogForm>) -> Result<(), Failure> {
    let logged = if requests.is_some() { OWN } else { PLANS };
    let log = RequestLog { form: requests.unwrap_or(LogForm::Text), logged, clock: SystemClock::new() };
    tracing::subscriber::set_global_default(log)
        .map_err(|error| Failure::defect(format!("the log of requests cannot be written: {error}")))
}

struct RequestLog {
    form: LogForm,
    logged: &'static str,
    clock: SystemClock,
}

impl Subscriber for RequestLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO && metadata.target().starts_with(self.logged)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Map::new());
        fields.0.insert("time".to_owned(), self.clock.now().to_string().into());
        fields.0.insert("event".to_owned(), event.metadata().target().into());
        event.record(&mut fields);
        tell(line(self.form, &fields.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn line(form: LogForm, fields: &Map<String, Value>) -> String {
    match form {
        LogForm::Json => Value::Object(fields.clone()).to_string(),
        LogForm::Text => {
            let field = |(name, value): (&String, &Value)| match value {
                Value::String(text) if !text.is_empty() && !text.contains([' ', '"', '\n']) => format!("{name}={text}"),
                value => format!("{name}={value}"),
            };
            let (plan, others): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| *name == PLAN);
            let line = others.into_iter().map(field).collect::<Vec<_>>().join(" ");
            // Behind the line, indented as the server's log of PostgreSQL has it.
            let plan = plan.iter().filter_map(|(_, plan)| plan.as_str()).flat_map(str::lines);
            plan.fold(line, |text, line| text + "\n    " + line)
        }
    }
}

/// The fields of an event.
struct Fields(Map<String, Value>);

/// Values that JSON has.
macro_rules! recorded {
    ($($record:ident: $of:ty),+) => {$(
        fn $record(&mut self, field: &Field, value: $of) {
            self.0.insert(field.name().to_owned(), value.into());
        }
    )+};
}

impl Visit for Fields {
    recorded! { record_u64: u64, record_i64: i64, record_bool: bool, record_str: &str }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_people_and_for_programs() {
        let mut fields = Map::new();
        fields.insert("path".to_owned(), "/a/Tables".into());
        fields.insert("id".to_owned(), "mine \"1\"".into());
        fields.insert("status".to_owned(), 200.into());
        assert_eq!(line(LogForm::Text, &fields), "id=\"mine \\\"1\\\"\" path=/a/Tables status=200");
        fields.insert("plan".to_owned(), "Sort\n  ->  Table scan".into());
        let with_plan = "id=\"mine \\\"1\\\"\" path=/a/Tables status=200\n    Sort\n      ->  Table scan";
        assert_eq!(line(LogForm::Text, &fields), with_plan);
        fields.remove("plan");
        assert_eq!(line(LogForm::Json, &fields), "{\"id\":\"mine \\\"1\\\"\",\"path\":\"/a/Tables\",\"status\":200}");
    }
}
