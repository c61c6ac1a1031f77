//! Nodes as JSON, in the outline that PostgreSQL's have.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::Summary;
use super::node::{Node, Property};
use super::pages::{FilePages, PagesOfFiles};
use super::table_read::{Share, TableRead};
use rowkey_postgres::syntax::ExplainOptions;

/// `[{"Plan": {"Node Type": ..., "Plans": [...]}}]`.
pub(super) fn document(top: &Node, options: &ExplainOptions, summary: &Summary) -> String {
    let mut document = Map::new();
    document.insert("Plan".to_owned(), node(top, options));
    if let Some(rows) = summary.rows_returned {
        document.insert("Rows Returned".to_owned(), json!(rows));
    }
    if options.summary {
        document.insert("Planning Time".to_owned(), json!(rounded(summary.planning_ms)));
        if let Some(execution_ms) = summary.execution_ms {
            document.insert("Execution Time".to_owned(), json!(rounded(execution_ms)));
        }
    }
    format!("{:#}", Value::Array(vec![Value::Object(document)]))
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn node(node_of: &Node, options: &ExplainOptions) -> Value {
    let mut object = node_of.read.as_ref().map(table_read).unwrap_or_default();
    object.insert("Node Type".to_owned(), json!(node_of.kind));
    if let Some(subplan) = &node_of.subplan {
        object.insert("Parent Relationship".to_owned(), json!("InitPlan"));
        object.insert("Subplan Name".to_owned(), json!(subplan));
    }
    for (name, property) in &node_of.properties {
        let value = match property {
            Property::Text(text) => json!(text),
            Property::List(items) => json!(items),
            Property::Number(number) => json!(number),
        };
        object.insert((*name).to_owned(), value);
    }
    if options.costs {
        let estimate = &node_of.estimate;
        object.insert("Startup Cost".to_owned(), json!((estimate.startup * 100.0).round() / 100.0));
        object.insert("Total Cost".to_owned(), json!((estimate.total * 100.0).round() / 100.0));
        object.insert("Plan Rows".to_owned(), json!(estimate.rows));
        object.insert("Plan Width".to_owned(), json!(estimate.width));
    }
    if let Some(actual) = node_of.actual.filter(|_| options.analyze) {
        object.insert("Actual Rows".to_owned(), json!(actual.rows));
        object.insert("Actual Loops".to_owned(), json!(1));
        if options.timing {
            object.insert("Actual Startup Time".to_owned(), json!(rounded(actual.startup_ms)));
            object.insert("Actual Total Time".to_owned(), json!(rounded(actual.total_ms)));
        }
    }
    if !node_of.children.is_empty() {
        let plans = node_of.children.iter().map(|child| node(child, options)).collect();
        object.insert("Plans".to_owned(), Value::Array(plans));
    }
    Value::Object(object)
}

/// The row groups and pages of each file, as first and last of stretches, counted from 0.
fn files_read(pages: &PagesOfFiles) -> Value {
    let stretches = |stretches: &[Range<u64>]| -> Value {
        stretches.iter().map(|stretch| json!([stretch.start, stretch.end - 1])).collect()
    };
    let file = |file: &FilePages| json!({"File": file.path, "Row Groups": stretches(&file.row_groups), "Pages": stretches(&file.pages)});
    pages.listed.iter().map(file).collect()
}

fn table_read(read: &TableRead) -> Map<String, Value> {
    let share = |share: Share| json!({"Read": share.part, "Of": share.whole});
    let mut object = Map::new();
    let mut set = |name: &str, value: Value| object.insert(name.to_owned(), value);
    set("Relation Name", json!(read.table));
    set("Access Path", json!(read.path.label()));
    set("Key Bounds", json!(read.keys));
    set("Residual Filter", json!(read.residual));
    set("Range Partitions", share(read.range_partitions));
    set("Files", share(read.files));
    set("Row Groups", share(read.row_groups));
    set("Pages", share(read.pages));
    set("Files Read", files_read(&read.pages_of_files));
    set("Rows Read", json!(read.rows_max));
    set("Plan Bytes", json!(read.bytes_max));
    set("Service Requests", json!(read.service_cost.requests_max));
    set("Service Entities", json!(read.service_cost.entities_max));
    if read.recent_rows_max > 0 {
        set("Recent Rows", json!(read.recent_rows_max));
    }
    if let Some(keys) = read.point_keys {
        set("Keys", json!(keys));
    }
    if let Some(order) = &read.order {
        set("Order", json!(order));
    }
    if let Some(limit) = read.limit {
        set("Limit", json!(limit));
    }
    if let Some(bounds) = &read.run_time_bounds {
        set("Run-Time Bounds", json!(bounds));
    }
    if let Some(hint) = &read.hint {
        set("Hint", json!(hint));
    }
    if let Some(actual) = &read.actual {
        set("Actual Bytes", json!(actual.bytes));
        set("Actual Row Groups", share(actual.row_groups));
        set("Actual Pages", share(actual.pages));
        set("Actual Files Read", files_read(&actual.pages_of_files));
    }
    object
}
