//! A plan as JSON, in the outline that PostgreSQL's has.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use serde_json::{Map, Value, json};

use super::Explained;
use super::analyze::Ran;
use super::read::{Share, TableRead, address};
use crate::provider::EntityScanExec;
use rowkey_postgres::ctes::{CteScanExec, WithExec};

type Reads = [(usize, TableRead)];

/// `[{"Plan": {"Node Type": ..., "Plans": [...]}}]`.
pub(super) fn document(plan: &Arc<dyn ExecutionPlan>, reads: &Reads, ran: Option<&Ran>) -> String {
    let mut top = Map::new();
    top.insert("Plan".to_owned(), node(plan, reads));
    if let Some(ran) = ran {
        top.insert("Rows Returned".to_owned(), json!(ran.rows));
    }
    format!("{:#}", Value::Array(vec![Value::Object(top)]))
}

/// The same under a node that writes.
pub(super) fn document_of_write(explained: &Explained, plan: Option<(&Arc<dyn ExecutionPlan>, &Reads)>) -> String {
    let mut modify = Map::new();
    modify.insert("Node Type".to_owned(), json!("ModifyTable"));
    modify.insert("Operation".to_owned(), json!(explained.verb));
    modify.insert("Relation Name".to_owned(), json!(explained.table));
    match plan {
        Some((plan, reads)) => {
            modify.insert("Plans".to_owned(), Value::Array(vec![node(plan, reads)]));
        }
        None => {
            modify.insert("Rows Given".to_owned(), json!(explained.rows_given));
        }
    }
    let top = Map::from_iter([("Plan".to_owned(), Value::Object(modify))]);
    format!("{:#}", Value::Array(vec![Value::Object(top)]))
}

fn node(plan: &Arc<dyn ExecutionPlan>, reads: &Reads) -> Value {
    let scan = plan.downcast_ref::<EntityScanExec>();
    if let Some((_, read)) = scan.and_then(|scan| reads.iter().find(|(place, _)| *place == address(scan))) {
        return table_read(read);
    }
    if let Some(with) = plan.downcast_ref::<WithExec>() {
        return with_queries(with, reads);
    }
    let mut object = Map::new();
    match plan.downcast_ref::<CteScanExec>() {
        Some(scan) => {
            object.insert("Node Type".to_owned(), json!("CTE Scan"));
            object.insert("CTE Name".to_owned(), json!(scan.cte_name()));
        }
        None => {
            object.insert("Node Type".to_owned(), json!(plan.name()));
        }
    }
    let detail = DisplayableExecutionPlan::new(plan.as_ref()).one_line().to_string();
    object.insert("Detail".to_owned(), json!(detail.trim_end()));
    let children: Vec<Value> = plan.children().into_iter().map(|child| node(child, reads)).collect();
    if !children.is_empty() {
        object.insert("Plans".to_owned(), Value::Array(children));
    }
    Value::Object(object)
}

/// The plan of a statement, and those of its WITH queries among the plans below it.
fn with_queries(with: &WithExec, reads: &Reads) -> Value {
    let mut main = node(with.main(), reads);
    let queries = with.queries().map(|(name, query)| {
        let mut query = node(query, reads);
        if let Some(object) = query.as_object_mut() {
            object.insert("Parent Relationship".to_owned(), json!("InitPlan"));
            object.insert("Subplan Name".to_owned(), json!(format!("CTE {name}")));
        }
        query
    });
    let queries: Vec<Value> = queries.collect();
    if let Some(object) = main.as_object_mut() {
        let below = object.remove("Plans").map_or_else(Vec::new, |below| match below {
            Value::Array(plans) => plans,
            one => vec![one],
        });
        object.insert("Plans".to_owned(), queries.into_iter().chain(below).collect());
    }
    main
}

fn table_read(read: &TableRead) -> Value {
    let share = |share: Share| json!({"Read": share.part, "Of": share.whole});
    let mut object = json!({
        "Node Type": "Entity Scan",
        "Relation Name": read.table,
        "Access Path": read.path.label(),
        "Key Bounds": read.keys,
        "Residual Filter": read.residual,
        "Range Partitions": share(read.range_partitions),
        "Files": share(read.files),
        "Row Groups": share(read.row_groups),
        "Pages": share(read.pages),
        "Plan Rows": read.rows_max,
        "Plan Bytes": read.bytes_max,
    });
    let mut set = |name: &str, value: Value| {
        if let Some(object) = object.as_object_mut() {
            object.insert(name.to_owned(), value);
        }
    };
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
    if let Some(hint) = &read.hint {
        set("Hint", json!(hint));
    }
    if let Some(actual) = &read.actual {
        set("Actual Rows", json!(actual.rows));
        set("Actual Bytes", json!(actual.bytes));
        if let Some(found) = actual.row_groups {
            set("Actual Row Groups", share(found));
        }
        if let Some(found) = actual.pages {
            set("Actual Pages", share(found));
        }
    }
    object
}
