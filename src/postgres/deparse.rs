//! Expressions of a physical plan as SQL, as EXPLAIN shows them.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal, NegativeExpr, NotExpr, TryCastExpr,
};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::fmt_sql;

use crate::functions::compares_items;
pub use crate::functions::system::quote_identifier;
use crate::functions::system::quote_literal;
use crate::types::{TextStyle, text_value, type_of};

/// Longest text of an expression, in bytes; of what is longer the beginning is shown.
const TEXT_MAX: usize = 500;

/// Deepest nesting that is written.
const DEPTH_MAX: usize = 60;

/// Most items of a list that are written.
const ITEMS_MAX: usize = 5;

/// Functions that stand for operators, those of PostgreSQL by their names in `pg_proc`.
const INFIX: &[(&str, &str)] = &[
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "%"),
    ("^", "^"),
    ("textcat", "||"),
    ("textregexeq", "~"),
    ("texticregexeq", "~*"),
    ("textregexne", "!~"),
    ("texticregexne", "!~*"),
    ("array_eq", "="),
    ("array_ne", "<>"),
    ("array_lt", "<"),
    ("array_le", "<="),
    ("array_gt", ">"),
    ("array_ge", ">="),
];

/// Functions that change how a value is compared or computed, and not what it is.
const TRANSPARENT: &[&str] = &[
    "optimization_barrier",
    "array_or_empty",
    "float_key",
    "one_nan",
    "interval_length",
    "jsonb_sort_key",
    "equality_key",
];

/// An expression over columns that are written as these texts.
pub fn deparse(expr: &Arc<dyn PhysicalExpr>, columns: &[Arc<str>]) -> String {
    let mut deparser = Deparser { columns, out: String::new(), depth: 0 };
    deparser.write(expr);
    deparser.out
}

/// Several, with commas between them.
pub fn deparse_list<'a>(exprs: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>, columns: &[Arc<str>]) -> String {
    let mut deparser = Deparser { columns, out: String::new(), depth: 0 };
    deparser.list(exprs);
    deparser.out
}

/// A value as a literal.
fn literal(value: &ScalarValue) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let field = arrow::datatypes::Field::new("", value.data_type(), true);
    let text =
        value.to_array().ok().and_then(|array| text_value(&field, &array, 0, &TextStyle::default()).ok().flatten());
    let text = text.unwrap_or_else(|| value.to_string());
    match value {
        ScalarValue::Boolean(Some(value)) => value.to_string(),
        ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) | ScalarValue::LargeUtf8(_) => quote_literal(&text),
        value if value.data_type().is_numeric() => text,
        _ => {
            let name = type_of(&field).map_or("text", |ty| ty.sql_name);
            format!("{}::{name}", quote_literal(&text))
        }
    }
}

struct Deparser<'a> {
    columns: &'a [Arc<str>],
    out: String,
    depth: usize,
}

impl Deparser<'_> {
    fn write(&mut self, expr: &Arc<dyn PhysicalExpr>) {
        if self.out.len() > TEXT_MAX || self.depth > DEPTH_MAX {
            if !self.out.ends_with("...") {
                self.out.push_str("...");
            }
            return;
        }
        self.depth += 1;
        self.expr(expr);
        self.depth -= 1;
    }

    fn expr(&mut self, expr: &Arc<dyn PhysicalExpr>) {
        if let Some(column) = expr.downcast_ref::<Column>() {
            match self.columns.get(column.index()) {
                Some(text) => self.push(text),
                None => self.push(&quote_identifier(column.name())),
            }
        } else if let Some(value) = expr.downcast_ref::<Literal>() {
            self.push(&literal(value.value()));
        } else if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let op = match binary.op() {
                Operator::NotEq => "<>".to_owned(),
                op => op.to_string(),
            };
            self.infix(binary.left(), &op, binary.right());
        } else if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            let name = type_of(cast.target_field()).map_or("text", |ty| ty.sql_name);
            self.cast(cast.expr(), name);
        } else if let Some(cast) = expr.downcast_ref::<TryCastExpr>() {
            let name = type_of(cast.target_field()).map_or("text", |ty| ty.sql_name);
            self.cast(cast.expr(), name);
        } else if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
            self.postfix(test.arg(), " IS NULL");
        } else if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
            self.postfix(test.arg(), " IS NOT NULL");
        } else if let Some(not) = expr.downcast_ref::<NotExpr>() {
            self.prefix("NOT ", not.arg());
        } else if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
            self.prefix("- ", negative.arg());
        } else if let Some(like) = expr.downcast_ref::<LikeExpr>() {
            let op = match (like.negated(), like.case_insensitive()) {
                (false, false) => "LIKE",
                (false, true) => "ILIKE",
                (true, false) => "NOT LIKE",
                (true, true) => "NOT ILIKE",
            };
            self.infix(like.expr(), op, like.pattern());
        } else if let Some(list) = expr.downcast_ref::<InListExpr>() {
            self.push("(");
            self.write(list.expr());
            self.push(if list.negated() { " NOT IN (" } else { " IN (" });
            let more = list.list().len().saturating_sub(ITEMS_MAX);
            self.list(list.list().iter().take(ITEMS_MAX));
            if more > 0 {
                self.push(&format!(", ... {more} more"));
            }
            self.push("))");
        } else if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            self.case(case);
        } else if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            self.call(call, expr);
        } else if expr.is::<ScalarSubqueryExpr>() {
            self.push("(SubPlan)");
        } else if let Some(bounds) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
            match bounds.current() {
                Ok(current) => self.write(&current),
                Err(_) => self.push("true"),
            }
        } else if let [inner] = expr.children().as_slice() {
            // What stops a statement, or counts what a filter keeps.
            self.expr(inner);
        } else {
            let text = fmt_sql(expr.as_ref()).to_string();
            self.push(&text);
        }
    }

    fn call(&mut self, call: &ScalarFunctionExpr, expr: &Arc<dyn PhysicalExpr>) {
        let name = call.name();
        let infix = INFIX.iter().find(|(function, _)| *function == name).map(|(_, op)| *op);
        match (infix, call.args()) {
            (_, [inner]) if TRANSPARENT.contains(&name) => self.expr(inner),
            (_, [inner, _])
                if ["nullif_operand", "numbered_call", "numbered_list", "numbered_subquery"].contains(&name) =>
            {
                self.expr(inner)
            }
            (_, [inner, ..]) if name.starts_with("cast_to_") || name == "postgres_cast" => {
                let field = expr.return_field(&Schema::empty()).ok();
                self.cast(inner, field.and_then(|field| type_of(&field)).map_or("text", |ty| ty.sql_name));
            }
            (Some(op), [left, right]) => self.infix(left, op, right),
            (_, [operand]) if name == "negative" => self.prefix("- ", operand),
            (_, [array, place]) if name == "array_subscript" => {
                self.push("(");
                self.write(array);
                self.push(")[");
                self.write(place);
                self.push("]");
            }
            // `(= any)`, and `like_any` in words.
            (_, [array, value]) if name.starts_with('(') && compares_items(name) => {
                let (op, quantifier) = name.trim_matches(['(', ')']).split_once(' ').unwrap_or((name, ""));
                self.push("(");
                self.write(value);
                self.push(&format!(" {op} {} (", quantifier.to_uppercase()));
                self.write(array);
                self.push("))");
            }
            (_, [field, source]) if name == "extract" => {
                let field = field.downcast_ref::<Literal>().and_then(|field| field.value().try_as_str().flatten());
                self.push("EXTRACT(");
                self.push(&field.unwrap_or("field").to_lowercase());
                self.push(" FROM ");
                self.write(source);
                self.push(")");
            }
            (_, items) if name == "struct" => {
                self.push("ROW(");
                self.list(items);
                self.push(")");
            }
            (_, items) if name == "make_array" => {
                self.push("ARRAY[");
                self.list(items);
                self.push("]");
            }
            (_, args) => {
                self.push(name);
                self.push("(");
                self.list(args);
                self.push(")");
            }
        }
    }

    /// `coalesce` and `nullif` are CASE in a plan.
    fn case(&mut self, case: &CaseExpr) {
        if case.expr().is_none()
            && let [(when, then)] = case.when_then_expr()
        {
            let tested = when.downcast_ref::<IsNotNullExpr>().map(IsNotNullExpr::arg);
            if let (Some(tested), Some(otherwise)) = (tested, case.else_expr())
                && tested == then
            {
                return self.function("COALESCE", [then, otherwise]);
            }
            let operand = case.else_expr().and_then(|otherwise| otherwise.downcast_ref::<ScalarFunctionExpr>());
            if let Some(operand) = operand.filter(|operand| operand.name() == "nullif_operand") {
                return self.function("NULLIF", operand.args());
            }
        }
        self.push("CASE");
        // Conditions are compared with a truth where there are others in them.
        let is_true = |operand: &&Arc<dyn PhysicalExpr>| {
            operand.downcast_ref::<Literal>().is_some_and(|literal| *literal.value() == ScalarValue::from(true))
        };
        if let Some(operand) = case.expr().filter(|operand| !is_true(operand)) {
            self.push(" ");
            self.write(operand);
        }
        for (when, then) in case.when_then_expr().iter().take(ITEMS_MAX) {
            self.push(" WHEN ");
            self.write(when);
            self.push(" THEN ");
            self.write(then);
        }
        if case.when_then_expr().len() > ITEMS_MAX {
            self.push(" ...");
        }
        if let Some(otherwise) = case.else_expr() {
            self.push(" ELSE ");
            self.write(otherwise);
        }
        self.push(" END");
    }

    fn function<'a>(&mut self, name: &str, args: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>) {
        self.push(name);
        self.push("(");
        self.list(args);
        self.push(")");
    }

    fn list<'a>(&mut self, exprs: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>) {
        for (at, expr) in exprs.into_iter().enumerate() {
            if self.out.len() > TEXT_MAX {
                return self.push(", ...");
            }
            if at > 0 {
                self.push(", ");
            }
            self.write(expr);
        }
    }

    fn infix(&mut self, left: &Arc<dyn PhysicalExpr>, op: &str, right: &Arc<dyn PhysicalExpr>) {
        self.push("(");
        self.write(left);
        self.push(" ");
        self.push(op);
        self.push(" ");
        self.write(right);
        self.push(")");
    }

    fn prefix(&mut self, op: &str, operand: &Arc<dyn PhysicalExpr>) {
        self.push("(");
        self.push(op);
        self.write(operand);
        self.push(")");
    }

    fn postfix(&mut self, operand: &Arc<dyn PhysicalExpr>, op: &str) {
        self.push("(");
        self.write(operand);
        self.push(op);
        self.push(")");
    }

    fn cast(&mut self, operand: &Arc<dyn PhysicalExpr>, name: &str) {
        self.push("(");
        self.write(operand);
        self.push(")::");
        self.push(name);
    }

    /// Of a text that is too long alone, the beginning: what a column is computed from may be, and
    /// where each of many nested queries uses a column of the next one twice, it would double at
    /// each.
    fn push(&mut self, text: &str) {
        if text.len() <= TEXT_MAX {
            self.out.push_str(text);
            return;
        }
        self.out.push_str(&text[..text.floor_char_boundary(TEXT_MAX)]);
        self.out.push_str("...");
    }
}
