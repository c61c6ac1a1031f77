//! What stands between EXPLAIN and its statement.

use datafusion::sql::sqlparser::ast::{AnalyzeFormat, AnalyzeFormatKind, Expr, UnaryOperator, UtilityOption, Value};

use crate::syntax::statement::{ExplainFormat, ExplainOptions};
use rowkey_base::{Error, Result, SqlState};

impl ExplainOptions {
    /// Reads both forms: words behind EXPLAIN, and a list in parentheses, where the last word
    /// counts.
    ///
    /// KEEP is our own. SETTINGS, BUFFERS and WAL are taken as PostgreSQL takes them; what they add
    /// is no part of these plans.
    pub(super) fn read(
        analyze: bool,
        verbose: bool,
        format: Option<AnalyzeFormatKind>,
        list: &[UtilityOption],
    ) -> Result<Self> {
        let mut options = Self {
            analyze,
            verbose,
            costs: true,
            timing: true,
            summary: false,
            keep: false,
            format: ExplainFormat::Text,
        };
        let mut summary = None;
        if let Some(AnalyzeFormatKind::Keyword(format) | AnalyzeFormatKind::Assignment(format)) = format {
            options.format = match format {
                AnalyzeFormat::TEXT => ExplainFormat::Text,
                AnalyzeFormat::JSON => ExplainFormat::Json,
                other => return Err(unsupported_format(&other.to_string().to_ascii_lowercase())),
            };
        }
        let mut needs_analyze = None;
        for option in list {
            let name = option.name.value.to_ascii_lowercase();
            match name.as_str() {
                "analyze" => options.analyze = flag(option)?,
                "verbose" => options.verbose = flag(option)?,
                "costs" => options.costs = flag(option)?,
                "summary" => summary = Some(flag(option)?),
                "settings" | "buffers" => {
                    flag(option)?;
                }
                "timing" | "wal" | "keep" => {
                    let wanted = flag(option)?;
                    match name.as_str() {
                        "timing" => options.timing = wanted,
                        "keep" => options.keep = wanted,
                        _ => {}
                    }
                    if wanted {
                        needs_analyze.get_or_insert(name);
                    }
                }
                "format" => options.format = format_named(word(option).unwrap_or_default().as_str())?,
                other => {
                    return Err(Error::new(SqlState::SYNTAX_ERROR, format!("unrecognized EXPLAIN option \"{other}\"")));
                }
            }
        }
        options.summary = summary.unwrap_or(options.analyze);
        match needs_analyze.filter(|_| !options.analyze) {
            Some(name) => {
                let message = format!("EXPLAIN option {} requires ANALYZE", name.to_ascii_uppercase());
                Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
            }
            None => Ok(options),
        }
    }
}

fn format_named(name: &str) -> Result<ExplainFormat> {
    match name {
        "text" => Ok(ExplainFormat::Text),
        "json" => Ok(ExplainFormat::Json),
        "xml" | "yaml" => Err(unsupported_format(name)),
        other => {
            let message = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

fn unsupported_format(name: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("EXPLAIN writes text or json, not {name}"))
}

/// The value of an option as a word in lower case.
fn word(option: &UtilityOption) -> Option<String> {
    option.arg.as_ref().map(|value| match value {
        Expr::Identifier(word) => word.value.to_ascii_lowercase(),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.to_ascii_lowercase(),
            other => other.to_string().to_ascii_lowercase(),
        },
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => expr.to_string(),
        other => other.to_string().to_ascii_lowercase(),
    })
}

fn flag(option: &UtilityOption) -> Result<bool> {
    match word(option).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => {
            let message = format!("{} requires a Boolean value", option.name.value.to_ascii_lowercase());
            Err(Error::new(SqlState::SYNTAX_ERROR, message))
        }
    }
}
