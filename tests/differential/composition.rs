//! Queries that are composed of others: relations of keys, joins, groups, set operations, windows,
//! expanded arrays and rows that are cut off, one within the other, and subqueries that refer to
//! them.
//!
//! Every relation has rows that are certain: what orders and cuts has all columns for its order,
//! and windows are of functions that treat peers alike.

use rowkey_base::testing::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Flag,
    Small,
    Big,
    Text,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    kind: Kind,
}

/// A query in parentheses, or the name of a table, and its columns.
#[derive(Debug, Clone)]
struct Relation {
    sql: String,
    columns: Vec<Column>,
}

/// A relation in FROM, whose columns are named by its alias.
#[derive(Debug, Clone)]
struct Source {
    sql: String,
    columns: Vec<Column>,
}

/// Composes one query.
struct Composer<'a> {
    dice: &'a mut Dice,
    /// How many were given out.
    aliases: usize,
    /// How many relations may still be written that are composed of others.
    relations_left: usize,
}

/// A query, and whether its order leaves no choice.
pub(crate) fn question(dice: &mut Dice) -> (bool, String) {
    let relations_left = 2 + dice.below(6);
    let mut composer = Composer { dice, aliases: 0, relations_left };
    let source = composer.source(4, &[]);
    let values: Vec<String> = source.columns.iter().map(|column| column.name.clone()).collect();
    match composer.dice.below(5) {
        0 => (true, format!("SELECT count(*), count({}) FROM {}", values[0], source.sql)),
        1 => (true, format!("SELECT * FROM {} ORDER BY {} LIMIT 40", source.sql, values.join(", "))),
        _ => (false, format!("SELECT * FROM {} ORDER BY {} LIMIT 200", source.sql, values.join(", "))),
    }
}

impl Composer<'_> {
    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("r{}", self.aliases)
    }

    /// The relation under an alias of its own.
    fn named(&mut self, relation: Relation) -> Source {
        let alias = self.alias();
        let columns = relation
            .columns
            .into_iter()
            .map(|Column { name, kind }| Column { name: format!("{alias}.{name}"), kind })
            .collect();
        Source { sql: format!("{} {alias}", relation.sql), columns }
    }

    /// A relation under an alias.
    fn source(&mut self, depth: usize, outer: &[Column]) -> Source {
        let relation = self.relation(depth, outer);
        self.named(relation)
    }

    fn table(&mut self) -> Relation {
        let names = [
            ("\"PartitionKey\"", Kind::Text),
            ("\"RowKey\"", Kind::Text),
            ("small", Kind::Small),
            ("big", Kind::Big),
            ("txt", Kind::Text),
            ("flag", Kind::Flag),
        ];
        let columns = names.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }).collect();
        Relation { sql: self.dice.pick(&["items", "parts", "parts"]).to_owned(), columns }
    }

    /// A relation that may refer to the columns of those around it.
    fn relation(&mut self, depth: usize, outer: &[Column]) -> Relation {
        if depth == 0 || self.relations_left == 0 {
            return self.table();
        }
        self.relations_left -= 1;
        match self.dice.below(17) {
            0 | 1 => self.filtered(depth, outer),
            2 => self.distinct(depth, outer),
            3 | 4 => self.grouped(depth, outer),
            5 | 6 => self.joined(depth, outer),
            7 => self.set_operation(depth, outer),
            8 => self.windowed(depth, outer),
            9 => self.expanded(depth, outer),
            10 => self.cut_off(depth, outer),
            11 => self.first_of_each(depth, outer),
            12 => self.named_twice(depth, outer),
            13 => self.lateral(depth, outer),
            14 => self.values(),
            _ => self.with_subquery(depth, outer),
        }
    }

    /// A select list of the expressions, under new names.
    fn select(&self, values: &[(String, Kind)]) -> (String, Vec<Column>) {
        let items: Vec<String> = values.iter().enumerate().map(|(at, (sql, _))| format!("{sql} AS c{at}")).collect();
        let columns =
            values.iter().enumerate().map(|(at, (_, kind))| Column { name: format!("c{at}"), kind: *kind }).collect();
        (items.join(", "), columns)
    }

    fn some_columns(&mut self, columns: &[Column], at_most: usize) -> Vec<(String, Kind)> {
        let count = 1 + self.dice.below(at_most);
        (0..count)
            .map(|_| {
                let column = &columns[self.dice.below(columns.len())];
                (column.name.clone(), column.kind)
            })
            .collect()
    }

    fn filtered(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let source = self.source(depth - 1, outer);
        let mut values = self.some_columns(&source.columns, 4);
        if self.dice.chance(3) {
            let (constant, kind) = self.dice.pick(&[
                ("7", Kind::Small),
                ("'x'::text", Kind::Text),
                ("NULL::bigint", Kind::Big),
                ("true", Kind::Flag),
            ]);
            values.push((constant.to_owned(), kind));
        }
        let condition = self.condition(&source.columns, outer, depth);
        let (items, columns) = self.select(&values);
        Relation { sql: format!("(SELECT {items} FROM {} WHERE {condition})", source.sql), columns }
    }

    fn distinct(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let source = self.source(depth - 1, outer);
        let values = self.some_columns(&source.columns, 3);
        let (items, columns) = self.select(&values);
        Relation { sql: format!("(SELECT DISTINCT {items} FROM {})", source.sql), columns }
    }

    fn grouped(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let source = self.source(depth - 1, outer);
        let keys = self.some_columns(&source.columns, 2);
        let column = source.columns[self.dice.below(source.columns.len())].clone();
        let aggregate = match column.kind {
            Kind::Flag => (format!("bool_or({})", column.name), Kind::Flag),
            kind => (format!("{}({})", self.dice.pick(&["min", "max"]), column.name), kind),
        };
        let mut values = keys.clone();
        let count = match self.dice.below(3) {
            0 => format!("count(DISTINCT {})", column.name),
            1 => format!("count(*) FILTER (WHERE {})", self.plain_condition(&source.columns)),
            _ => "count(*)".to_owned(),
        };
        values.push((count, Kind::Big));
        values.push(aggregate);
        let (items, columns) = self.select(&values);
        let keys: Vec<String> = keys.into_iter().map(|(key, _)| key).collect();
        let condition = if self.dice.chance(2) { self.condition(&source.columns, outer, 0) } else { "true".to_owned() };
        let having = if self.dice.chance(4) { " HAVING count(*) > 1" } else { "" };
        let by = match self.dice.below(8) {
            // Two columns of a subquery may be one of a table: then PostgreSQL takes a key that a set
            // leaves out for the one that is in it.
            0 if source.sql.starts_with('(') => format!("ROLLUP (({}))", keys.join(", ")),
            0 => format!("ROLLUP ({})", keys.join(", ")),
            1 => format!("GROUPING SETS (({}), ())", keys.join(", ")),
            _ => keys.join(", "),
        };
        let sql = format!("(SELECT {items} FROM {} WHERE {condition} GROUP BY {by}{having})", source.sql);
        Relation { sql, columns }
    }

    fn joined(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let (left, right) = (self.relation(depth - 1, outer), self.relation(depth - 1, outer));
        let (left, right) = (self.named(left), self.named(right));
        let equal = self.equal(&left.columns, &right.columns);
        let kind = self.dice.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let both: Vec<Column> = left.columns.iter().chain(&right.columns).cloned().collect();
        // PostgreSQL joins by hash or merge alone where all rows of both sides stay.
        let also = match (kind, self.dice.below(3)) {
            ("FULL JOIN", _) => String::new(),
            (_, 0) => format!(" AND {}", self.plain_condition(&both)),
            _ => String::new(),
        };
        let on = equal.unwrap_or_else(|| "false".to_owned());
        let mut values = self.some_columns(&left.columns, 2);
        values.extend(self.some_columns(&right.columns, 2));
        let (items, columns) = self.select(&values);
        let condition = if self.dice.chance(2) { self.condition(&both, outer, 0) } else { "true".to_owned() };
        let sql = format!("(SELECT {items} FROM {} {kind} {} ON {on}{also} WHERE {condition})", left.sql, right.sql);
        Relation { sql, columns }
    }

    /// The equality of two columns of one kind.
    fn equal(&mut self, left: &[Column], right: &[Column]) -> Option<String> {
        for _ in 0..8 {
            let (a, b) = (&left[self.dice.below(left.len())], &right[self.dice.below(right.len())]);
            let is_number = |kind| matches!(kind, Kind::Small | Kind::Big);
            if a.kind == b.kind || (is_number(a.kind) && is_number(b.kind)) {
                return Some(format!("{} = {}", a.name, b.name));
            }
        }
        None
    }

    fn set_operation(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let operation =
            self.dice.pick(&["UNION", "UNION ALL", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]);
        let left = self.relation(depth - 1, outer);
        let right = if self.dice.chance(3) { left.clone() } else { self.relation(depth - 1, outer) };
        let (left, right) = (self.named(left), self.named(right));
        let values = self.some_columns(&left.columns, 2);
        let like: Vec<(String, Kind)> = values
            .iter()
            .map(|(_, kind)| {
                let alike: Vec<&Column> = right.columns.iter().filter(|column| column.kind == *kind).collect();
                let name = match alike.is_empty() {
                    true => format!("NULL::{}", type_name(*kind)),
                    false => alike[self.dice.below(alike.len())].name.clone(),
                };
                (name, *kind)
            })
            .collect();
        let (first, columns) = self.select(&values);
        let (second, _) = self.select(&like);
        let sql = format!("(SELECT {first} FROM {} {operation} SELECT {second} FROM {})", left.sql, right.sql);
        Relation { sql, columns }
    }

    fn windowed(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let source = self.source(depth - 1, outer);
        let mut values = self.some_columns(&source.columns, 2);
        let [key, order] = [0; 2].map(|_| source.columns[self.dice.below(source.columns.len())].name.clone());
        let by = match self.dice.below(4) {
            0 => format!("ORDER BY {order}"),
            1 => format!("PARTITION BY {key}"),
            2 => format!("PARTITION BY {key}, {order} ORDER BY {order} DESC"),
            _ => format!("PARTITION BY {key} ORDER BY {order} NULLS FIRST"),
        };
        let function = self.dice.pick(&["rank()", "dense_rank()", "count(*)"]);
        values.push((format!("{function} OVER ({by})"), Kind::Big));
        let numbers: Vec<&Column> = source.columns.iter().filter(|column| column.kind == Kind::Small).collect();
        if let Some(number) = numbers.first() {
            values.push((format!("sum({}) OVER ({by})", number.name), Kind::Big));
        }
        let (items, columns) = self.select(&values);
        Relation { sql: format!("(SELECT {items} FROM {})", source.sql), columns }
    }

    /// Each row for each item of an array.
    fn expanded(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let source = self.source(depth - 1, outer);
        let mut values = self.some_columns(&source.columns, 2);
        let alias = self.alias();
        let column = source.columns[self.dice.below(source.columns.len())].clone();
        let (expansion, kind) = match self.dice.below(4) {
            0 => ("unnest(ARRAY[1, 2, 2])".to_owned(), Kind::Small),
            1 => (format!("unnest(ARRAY[{0}, {0}, NULL])", column.name), column.kind),
            2 => ("generate_series(1, 2)".to_owned(), Kind::Small),
            _ if column.kind == Kind::Text => (format!("regexp_split_to_table({}, 'a|1')", column.name), Kind::Text),
            _ => (format!("unnest(ARRAY[{0}]) ", column.name), column.kind),
        };
        if self.dice.chance(2) {
            values.push((expansion, kind));
            // A name that a column has as well is refused beside it.
            let names: Vec<String> = (0..values.len()).map(|at| format!("{alias}_{at}")).collect();
            let items: Vec<String> =
                values.iter().zip(&names).map(|((value, _), name)| format!("{value} AS {name}")).collect();
            let columns = values.into_iter().zip(names).map(|((_, kind), name)| Column { name, kind }).collect();
            return Relation { sql: format!("(SELECT {} FROM {})", items.join(", "), source.sql), columns };
        }
        values.push((format!("{alias}.v"), kind));
        let (items, columns) = self.select(&values);
        Relation { sql: format!("(SELECT {items} FROM {}, LATERAL {expansion} {alias}(v))", source.sql), columns }
    }

    fn cut_off(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let source = self.source(depth - 1, outer);
        let values = self.some_columns(&source.columns, 3);
        let (items, columns) = self.select(&values);
        let direction = self.dice.pick(&["", " DESC", " NULLS FIRST"]);
        let order: Vec<String> = values.iter().map(|(value, _)| format!("{value}{direction}")).collect();
        let offset = self.dice.below(3);
        let sql = format!("(SELECT {items} FROM {} ORDER BY {} LIMIT 5 OFFSET {offset})", source.sql, order.join(", "));
        Relation { sql, columns }
    }

    /// The first row of each value of a column.
    fn first_of_each(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let source = self.source(depth - 1, outer);
        let values = self.some_columns(&source.columns, 3);
        let (items, columns) = self.select(&values);
        let mut order: Vec<String> = values.iter().map(|(value, _)| value.clone()).collect();
        order[0].push_str(self.dice.pick(&["", " DESC", " NULLS FIRST"]));
        let sql =
            format!("(SELECT DISTINCT ON ({}) {items} FROM {} ORDER BY {})", values[0].0, source.sql, order.join(", "));
        Relation { sql, columns }
    }

    /// A WITH query that is joined with itself.
    fn named_twice(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let inner = self.relation(depth - 1, outer);
        let name = self.alias();
        let of = |composer: &mut Self| composer.named(Relation { sql: name.clone(), columns: inner.columns.clone() });
        let (left, right) = (of(self), of(self));
        let on = self.equal(&left.columns, &right.columns).unwrap_or_else(|| "true".to_owned());
        let mut values = self.some_columns(&left.columns, 2);
        values.extend(self.some_columns(&right.columns, 1));
        let (items, columns) = self.select(&values);
        let how = self.dice.pick(&["", "MATERIALIZED ", "NOT MATERIALIZED "]);
        let body = match inner.sql.starts_with('(') {
            true => inner.sql.clone(),
            false => format!("(SELECT * FROM {})", inner.sql),
        };
        let kind = self.dice.pick(&["JOIN", "LEFT JOIN"]);
        // Rows of tables that are joined on few values are many.
        let condition = self.plain_condition(&left.columns);
        let sql = format!(
            "(WITH {name} AS {how}{body} SELECT {items} FROM {} {kind} {} ON {on} WHERE {condition})",
            left.sql, right.sql
        );
        Relation { sql, columns }
    }

    /// A relation that refers to the one on its left.
    fn lateral(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let left = self.source(depth - 1, outer);
        let right = self.source(depth - 1, &left.columns);
        let condition = self.equal(&right.columns, &left.columns).unwrap_or_else(|| "true".to_owned());
        let picked = self.some_columns(&right.columns, 2);
        let (items, columns) = self.select(&picked);
        let limit = match self.dice.below(3) {
            0 => {
                let order: Vec<String> = picked.iter().map(|(value, _)| value.clone()).collect();
                format!(" ORDER BY {} LIMIT 2", order.join(", "))
            }
            _ => String::new(),
        };
        let asked = format!("(SELECT {items} FROM {} WHERE {condition}{limit})", right.sql);
        let asked = self.named(Relation { sql: asked, columns });
        let mut values = self.some_columns(&left.columns, 2);
        values.extend(self.some_columns(&asked.columns, 2));
        let (items, columns) = self.select(&values);
        let sql = match self.dice.below(2) {
            0 => format!("(SELECT {items} FROM {}, LATERAL {})", left.sql, asked.sql),
            _ => format!("(SELECT {items} FROM {} LEFT JOIN LATERAL {} ON true)", left.sql, asked.sql),
        };
        Relation { sql, columns }
    }

    fn values(&mut self) -> Relation {
        let alias = self.alias();
        let sql = format!("(SELECT * FROM (VALUES (1, 'a'), (2, NULL), (NULL, 'p1'), (3, 'k2')) {alias}(v0, v1))");
        let columns = [("v0", Kind::Small), ("v1", Kind::Text)];
        Relation { sql, columns: columns.map(|(name, kind)| Column { name: name.to_owned(), kind }).to_vec() }
    }

    /// A scalar subquery in the select list that refers to the row.
    fn with_subquery(&mut self, depth: usize, outer: &[Column]) -> Relation {
        let source = self.source(depth - 1, outer);
        let mut values = self.some_columns(&source.columns, 2);
        let asked = self.source(depth.saturating_sub(2), &[]);
        let condition = self.equal(&asked.columns, &source.columns).unwrap_or_else(|| "true".to_owned());
        let column = asked.columns[self.dice.below(asked.columns.len())].clone();
        let order: Vec<String> = asked.columns.iter().map(|column| column.name.clone()).collect();
        let subquery = match self.dice.below(4) {
            0 => (format!("(SELECT count(*) FROM {} WHERE {condition})", asked.sql), Kind::Big),
            1 => (format!("EXISTS (SELECT 1 FROM {} WHERE {condition})", asked.sql), Kind::Flag),
            2 if column.kind != Kind::Flag => {
                (format!("(SELECT max({}) FROM {} WHERE {condition})", column.name, asked.sql), column.kind)
            }
            _ => {
                let order = order.join(", ");
                let sql =
                    format!("(SELECT {} FROM {} WHERE {condition} ORDER BY {order} LIMIT 1)", column.name, asked.sql);
                (sql, column.kind)
            }
        };
        values.push(subquery);
        let (items, columns) = self.select(&values);
        Relation { sql: format!("(SELECT {items} FROM {})", source.sql), columns }
    }

    /// A condition over the columns; with some depth it may have a subquery.
    fn condition(&mut self, columns: &[Column], outer: &[Column], depth: usize) -> String {
        let first = match self.dice.below(4) {
            0 if depth > 0 && self.relations_left > 0 => self.subquery_condition(columns, depth),
            1 if !outer.is_empty() => self.equal(columns, outer).unwrap_or_else(|| "true".to_owned()),
            _ => self.plain_condition(columns),
        };
        match self.dice.below(4) {
            0 => format!("{first} AND {}", self.plain_condition(columns)),
            1 => format!("({first} OR {})", self.plain_condition(columns)),
            2 => format!("NOT ({first})"),
            _ => first,
        }
    }

    fn subquery_condition(&mut self, columns: &[Column], depth: usize) -> String {
        let asked = self.source(depth - 1, columns);
        match self.equal(columns, &asked.columns) {
            Some(equal) => match (self.dice.below(3), equal.split_once(" = ")) {
                (0, Some((ours, theirs))) => format!("{ours} IN (SELECT {theirs} FROM {})", asked.sql),
                (1, Some((ours, theirs))) => format!("{ours} NOT IN (SELECT {theirs} FROM {})", asked.sql),
                _ => format!("EXISTS (SELECT 1 FROM {} WHERE {equal})", asked.sql),
            },
            None => format!("EXISTS (SELECT 1 FROM {})", asked.sql),
        }
    }

    fn plain_condition(&mut self, columns: &[Column]) -> String {
        let column = columns[self.dice.below(columns.len())].clone();
        let name = &column.name;
        let value = |dice: &mut Dice| match column.kind {
            Kind::Flag => dice.pick(&["true", "false"]),
            Kind::Small | Kind::Big => dice.pick(&["0", "1", "2", "3", "-7", "100"]),
            Kind::Text => dice.pick(&["'p1'", "'p3'", "'k0'", "'k2'", "'a'", "'ab'", "''"]),
        };
        let (first, second) = (value(self.dice), value(self.dice));
        match self.dice.below(9) {
            8 if column.kind == Kind::Text => format!("{name} LIKE '{}%'", self.dice.pick(&["p", "k1", "a"])),
            0 => format!("{name} IS NULL"),
            1 => format!("{name} IS NOT NULL"),
            2 => format!("{name} IN ({first}, {second})"),
            3 => format!("{name} >= {first}"),
            4 => format!("{name} BETWEEN {first} AND {second}"),
            5 => format!("{name} IS DISTINCT FROM {first}"),
            _ => format!("{name} = {first}"),
        }
    }
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "boolean",
        Kind::Small => "integer",
        Kind::Big => "bigint",
        Kind::Text => "text",
    }
}
