//! Questions about a generated table.

use rowkey::model::EdmType;

use crate::postgres::predicate::{Sql, predicate};
use crate::postgres::table::{Column, Table};
use rowkey_base::testing::Dice;

/// A statement, and whether the order of its rows is part of the answer.
#[derive(Debug)]
pub(crate) struct Question {
    pub sql: Sql,
    pub ordered: bool,
}

const BOTH_KEYS: &str = "a.\"PartitionKey\", a.\"RowKey\", b.\"PartitionKey\", b.\"RowKey\"";
const KEYS: &str = "\"PartitionKey\", \"RowKey\"";

/// One of each kind, with predicates of their own.
pub(crate) fn questions(table: &Table, dice: &mut Dice) -> Vec<Question> {
    vec![
        select(table, dice),
        in_key_order(table, dice),
        by_property(table, dice),
        total(table, dice),
        groups(table, dice),
        other(table, dice),
    ]
}

fn from(table: &Table, select: &str, dice: &mut Dice, depth: usize) -> Sql {
    Sql::default().text(format!("SELECT {select} FROM {} WHERE ", table.name)).then(predicate(table, dice, depth))
}

fn limit(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => String::new(),
        1 => format!(" LIMIT {}", dice.below(30)),
        2 => format!(" LIMIT {} OFFSET {}", dice.below(30), dice.below(40)),
        _ => format!(" OFFSET {}", dice.below(40)),
    }
}

fn select(table: &Table, dice: &mut Dice) -> Question {
    let columns: Vec<String> = table.columns.iter().map(Column::sql).collect();
    Question { sql: from(table, &columns.join(", "), dice, 3), ordered: false }
}

fn in_key_order(table: &Table, dice: &mut Dice) -> Question {
    let directions = [dice.pick(&["", " DESC"]), dice.pick(&["", " DESC"])];
    // The same direction for both more often: that needs no sort.
    let directions = if dice.chance(4) { directions } else { [directions[0]; 2] };
    let order = match dice.below(5) {
        0 => format!(" ORDER BY \"RowKey\"{}, \"PartitionKey\"{}", directions[0], directions[1]),
        _ => format!(" ORDER BY \"PartitionKey\"{}, \"RowKey\"{}", directions[0], directions[1]),
    };
    Question { sql: from(table, KEYS, dice, 2).text(order).text(limit(dice)), ordered: true }
}

fn by_property(table: &Table, dice: &mut Dice) -> Question {
    let by = &table.columns[3 + dice.below(table.columns.len() - 3)];
    let direction = dice.pick(&["", " ASC", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
    let select = format!("{}, {KEYS}", by.sql());
    let order = format!(" ORDER BY {}{direction}, {KEYS}", by.sql());
    Question { sql: from(table, &select, dice, 1).text(order).text(limit(dice)), ordered: true }
}

/// Aggregates of a column, of those that both have for its type and that are the same in any order.
fn aggregates(column: &Column, grouped: bool) -> Vec<String> {
    let name = column.sql();
    let mut of = vec![format!("count({name})"), format!("count(DISTINCT {name})")];
    match column.kind.shown() {
        EdmType::Boolean => of.extend([format!("bool_and({name})"), format!("bool_or({name})")]),
        EdmType::Int32 => of.extend(["sum", "min", "max"].map(|name_of| format!("{name_of}({name})"))),
        EdmType::Double if grouped => of.extend(["sum", "avg"].map(|name_of| format!("{name_of}({name})"))),
        EdmType::Double => of.extend(["sum", "avg", "min", "max"].map(|name_of| format!("{name_of}({name})"))),
        // The sum of Int64 wraps around here and is numeric there.
        EdmType::Int64 | EdmType::String | EdmType::DateTime => {
            of.extend(["min", "max"].map(|name_of| format!("{name_of}({name})")));
        }
        EdmType::Binary | EdmType::Guid => {}
    }
    of
}

/// With names of their own, since some may occur twice.
fn named(select: &[String]) -> String {
    let named: Vec<String> =
        (0..).zip(select).map(|(at, expression): (usize, _)| format!("{expression} AS c{at}")).collect();
    named.join(", ")
}

fn total(table: &Table, dice: &mut Dice) -> Question {
    let mut select = vec!["count(*)".to_owned(), "min(\"PartitionKey\")".to_owned(), "max(\"RowKey\")".to_owned()];
    for _ in 0..3 {
        select.extend(aggregates(&table.columns[dice.below(table.columns.len())], false));
    }
    let select = named(&select);
    let sql = match dice.chance(8) {
        true => Sql::default().text(format!("SELECT {select} FROM {}", table.name)),
        false => from(table, &select, dice, 2),
    };
    Question { sql, ordered: true }
}

fn groups(table: &Table, dice: &mut Dice) -> Question {
    let (by, of) = (dice.below(table.columns.len()), dice.below(table.columns.len()));
    let (by, of) = (&table.columns[by], &table.columns[of]);
    let by = match by.name.as_str() {
        name if name != "PartitionKey" && dice.chance(3) => format!("\"PartitionKey\", {}", by.sql()),
        _ => by.sql(),
    };
    let mut select = vec!["count(*)".to_owned(), "min(\"RowKey\")".to_owned()];
    select.extend(aggregates(of, true));
    let select = format!("{by}, {}", named(&select));
    let having = dice.pick(&["", "", " HAVING count(*) > 1"]);
    Question { sql: from(table, &select, dice, 1).text(format!(" GROUP BY {by}{having}")), ordered: false }
}

/// Joins and subqueries, whose keys prune the other side while the query runs.
fn other(table: &Table, dice: &mut Dice) -> Question {
    let side = |dice: &mut Dice, depth| from(table, KEYS, dice, depth);
    let sql = match dice.below(4) {
        0 => Sql::default()
            .text(format!("SELECT {BOTH_KEYS} FROM ("))
            .then(side(dice, 1))
            .text(") a JOIN (")
            .then(side(dice, 0))
            .text(") b ON a.\"PartitionKey\" = b.\"PartitionKey\" AND a.\"RowKey\" = b.\"RowKey\""),
        1 => Sql::default()
            .text(format!("SELECT {BOTH_KEYS} FROM ("))
            .then(side(dice, 2).text(format!(" ORDER BY {KEYS} LIMIT 5")))
            .text(") a LEFT JOIN (")
            .then(side(dice, 1))
            .text(") b ON a.\"RowKey\" = b.\"RowKey\""),
        2 => side(dice, 1)
            .text(format!(" AND {}EXISTS (SELECT 1 FROM {} b WHERE ", dice.pick(&["", "NOT "]), table.name))
            .then(Sql::default().text(format!("b.\"RowKey\" = {}.\"RowKey\"", table.name)))
            .text(format!(" AND b.\"PartitionKey\" < {}.\"PartitionKey\")", table.name)),
        _ => side(dice, 1)
            .text(format!(" AND \"RowKey\" {}IN (", dice.pick(&["", "NOT "])))
            .then(from(table, "\"RowKey\"", dice, 1))
            .text(")"),
    };
    Question { sql, ordered: false }
}
