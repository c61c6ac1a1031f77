//! Nodes as lines of text, in the outline that PostgreSQL's have.

use super::node::{Node, Property};
use super::service_cost::ServiceCost;
use super::table_read::{Share, TableRead};
use rowkey_postgres::syntax::ExplainOptions;

/// How far a node's own lines, and the arrows of its inputs, stand behind its name.
const STEP: usize = 2;
const ARROW: &str = "->  ";

/// The nodes from the top down, each scan with what it reads below it.
pub(super) fn lines(top: &Node, options: &ExplainOptions) -> Vec<String> {
    let mut lines = Vec::new();
    add(top, 0, "", options, &mut lines);
    lines
}

fn add(node: &Node, indent: usize, arrow: &str, options: &ExplainOptions, lines: &mut Vec<String>) {
    let mut line = format!("{:indent$}{arrow}{}", "", node.title);
    if options.costs {
        let estimate = &node.estimate;
        line.push_str(&format!(
            "  (cost={:.2}..{:.2} rows={} width={})",
            estimate.startup, estimate.total, estimate.rows, estimate.width
        ));
    }
    if options.analyze {
        line.push_str(&match node.actual {
            None => String::new(),
            Some(actual) if options.timing => {
                format!(" (actual time={:.3}..{:.3} rows={} loops=1)", actual.startup_ms, actual.total_ms, actual.rows)
            }
            Some(actual) => format!(" (actual rows={} loops=1)", actual.rows),
        });
    }
    lines.push(line);
    let indent = indent + arrow.len() + STEP;
    for (name, property) in &node.properties {
        if UNSPOKEN.contains(name) {
            continue;
        }
        let value = match property {
            Property::Text(text) => text.clone(),
            Property::List(items) => items.join(", "),
            Property::Number(number) => number.to_string(),
        };
        lines.push(format!("{:indent$}{name}: {value}", ""));
    }
    if let Some(read) = &node.read {
        lines.extend(details(read, options.verbose).into_iter().map(|line| format!("{:indent$}{line}", "")));
    }
    for child in &node.children {
        match &child.subplan {
            Some(subplan) => {
                lines.push(format!("{:indent$}{subplan}", ""));
                add(child, indent + STEP, ARROW, options, lines);
            }
            None => add(child, indent, ARROW, options, lines),
        }
    }
}

/// What the name of a node says already.
const UNSPOKEN: [&str; 6] = ["Strategy", "Join Type", "CTE Name", "Alias", "Operation", "Relation Name"];

fn details(read: &TableRead, verbose: bool) -> Vec<String> {
    let keys = read.point_keys.map(|keys| format!(" (keys={keys})")).unwrap_or_default();
    let mut lines = vec![format!("access path: {}{keys}", read.path), format!("key bounds: {}", read.keys)];
    if let Some(bounds) = &read.run_time_bounds {
        lines.push(format!("run-time bounds: {bounds}"));
    }
    let residual = if read.residual.is_empty() { "none".to_owned() } else { read.residual.join(" AND ") };
    lines.push(format!("residual filter: {residual}"));
    let recent = match read.recent_rows_max {
        0 => String::new(),
        rows => format!(", recent rows<={rows}"),
    };
    let has_files = read.files.whole > 0;
    let from = match has_files {
        true => format!(
            "range partitions {}, files {}, row groups {}, pages {}",
            share(read.range_partitions),
            share(read.files),
            share(read.row_groups),
            share(read.pages)
        ),
        false => "no files yet".to_owned(),
    };
    lines.push(format!("{from}, rows<={}, bytes~{}{recent}", read.rows_max, bytes(read.bytes_max)));
    if let Some(actual) = &read.actual {
        let from = match has_files {
            true => format!(", row groups {}, pages {}", share(actual.row_groups), share(actual.pages)),
            false => String::new(),
        };
        lines.push(format!("actual: rows={}, bytes={}{from}", actual.rows, bytes(actual.bytes)));
    }
    if verbose {
        let ServiceCost { requests_max, entities_max } = read.service_cost;
        lines.push(format!("Table service: requests<={requests_max}, entities<={entities_max}"));
    }
    if let Some(hint) = &read.hint {
        lines.push(format!("hint: {hint}"));
    }
    lines
}

fn share(share: Share) -> String {
    format!("{}/{}", share.part, share.whole)
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
