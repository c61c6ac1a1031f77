//! Blanks at the end of `char(n)`, which values do not have: comparisons and most functions ignore
//! them, patterns and what shows a value do not.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable};

use super::cast::PostgresCast;
use super::kind::Kind;
use super::resolution::{Resolver, call};
use super::scalar::type_of;
use super::strings;
use super::trimmed;
use super::type_names::{TEXT, TYPE_LENGTH, is_character};
use super::typed_texts::as_text_of_type;
use crate::types::POSTGRES_TYPE;

impl Resolver<'_> {
    /// Whether a function shows the texts of its arguments: with the blanks of a `char(n)`, and the
    /// names of a `regclass`.
    pub(super) fn shows_texts(function: &str) -> bool {
        [
            "octet_length",
            "concat",
            "concat_ws",
            "format",
            "to_json",
            "to_jsonb",
            "row_to_json",
            "json_build_object",
            "jsonb_build_object",
            "json_build_array",
            "jsonb_build_array",
            "named_struct",
            "row",
            "struct",
        ]
        .contains(&function)
    }

    /// Beside a `char(n)` a literal in quotes is one as well, whose blanks at the end do not count.
    pub(super) fn blank_literal(&self, value: &Expr, literal: &Expr) -> Option<Expr> {
        let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = literal else { return None };
        let stripped = text.trim_end_matches(' ');
        if stripped.len() == text.len() {
            return None;
        }
        self.is_char(value).then(|| Expr::Literal(ScalarValue::Utf8View(Some(stripped.to_owned())), None))
    }

    /// Two texts that are compared: beside a `char(n)` a `varchar` is one as well.
    pub(super) fn as_characters(&self, left: Expr, right: Expr) -> (Expr, Expr) {
        let is_typed = |expr: &Expr| match expr {
            Expr::Column(_) => true,
            Expr::ScalarFunction(call) => call.func.inner().is::<PostgresCast>(),
            _ => false,
        };
        let name = |expr: &Expr| {
            let (_, field) = if is_typed(expr) { expr.to_field(self.schema).ok()? } else { return None };
            field.metadata().get(POSTGRES_TYPE).cloned()
        };
        let rtrim = |expr: Expr| match trimmed::FUNCTIONS.iter().find(|function| function.name == "rtrim") {
            Some(rtrim) => call(rtrim, vec![expr]),
            None => expr,
        };
        match (name(&left).as_deref(), name(&right).as_deref()) {
            (Some("bpchar"), Some("varchar")) => (left, rtrim(right)),
            (Some("varchar"), Some("bpchar")) => (rtrim(left), right),
            _ => (left, right),
        }
    }

    /// A value cast to the type that it is held as. A `char(n)` is a text from here on, which
    /// DataFusion's cast would leave what it is, and so is any other type of texts.
    pub(super) fn as_plain(&self, expr: Expr, target: &FieldRef) -> Expr {
        if self.is_char(&expr) {
            let cast = PostgresCast::udf(Arc::clone(target));
            return Expr::ScalarFunction(ScalarFunction::new_udf(cast, vec![expr]));
        }
        let field = expr.to_field(self.schema).map(|(_, field)| field);
        match Kind::of(target.data_type()) {
            Kind::Text if field.is_ok_and(|field| field.metadata().contains_key(POSTGRES_TYPE)) => {
                as_text_of_type(expr, TEXT)
            }
            _ => expr,
        }
    }

    /// Whether an expression is a `char(n)`.
    pub(super) fn is_char(&self, expr: &Expr) -> bool {
        if !type_of(expr, self.schema).is_ok_and(|data_type| Kind::of(&data_type) == Kind::Text) {
            return false;
        }
        let field = expr.to_field(self.schema).map(|(_, field)| field);
        field.is_ok_and(|field| is_character(&field))
    }

    /// The name of the type of a `char(n)`, if it is one: where its length is lost, its blanks are
    /// as well.
    pub(super) fn char_of_length(&self, expr: &Expr) -> Option<String> {
        if matches!(expr, Expr::Literal(..)) || !self.is_char(expr) {
            return None;
        }
        let (_, field) = expr.to_field(self.schema).ok()?;
        field.metadata().get(TYPE_LENGTH).map(|length| format!("character({length})"))
    }

    /// How long a `char(n)` is, where its blanks can be seen: not while a statement is planned.
    pub(super) fn length_with_blanks(&self, expr: &Expr) -> Option<i32> {
        if self.zone.is_none() || !self.is_char(expr) {
            return None;
        }
        let (_, field) = expr.to_field(self.schema).ok()?;
        field.metadata().get(TYPE_LENGTH)?.parse().ok()
    }

    /// The text of a `char(n)` with its blanks; any other expression as it is.
    pub(super) fn with_blanks(&self, expr: Expr) -> Expr {
        let rpad = strings::FUNCTIONS.iter().find(|function| function.name == "rpad");
        match self.length_with_blanks(&expr).zip(rpad) {
            Some((length, rpad)) => call(rpad, vec![expr, Expr::Literal(ScalarValue::Int32(Some(length)), None)]),
            None => expr,
        }
    }
}
