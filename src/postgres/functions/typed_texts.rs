//! Texts of a type that Arrow cannot tell from `text`, and arrays of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;

use super::cast::PostgresCast;
use crate::types::{POSTGRES_TYPE, arrow_type, type_by_name};

/// A text as one of another type of texts, by its name in `pg_type`; the same text.
pub(super) fn as_text_of_type(text: Expr, name: &str) -> Expr {
    let metadata = HashMap::from([(POSTGRES_TYPE.to_owned(), name.to_owned())]);
    let field = Arc::new(Field::new("", DataType::Utf8View, true).with_metadata(metadata));
    Expr::ScalarFunction(ScalarFunction::new_udf(PostgresCast::udf(field), vec![text]))
}

/// An array of texts as one of texts of another type, by its name in `pg_type`.
pub(super) fn as_texts_of_type(array: Expr, name: &str) -> Expr {
    let name = format!("_{name}");
    let Some(data_type) = type_by_name(&name).and_then(arrow_type) else { return array };
    let field = Field::new("", data_type, true).with_metadata(HashMap::from([(POSTGRES_TYPE.to_owned(), name)]));
    Expr::ScalarFunction(ScalarFunction::new_udf(PostgresCast::udf(Arc::new(field)), vec![array]))
}
