//! Patterns that were compiled before.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;

use super::options::Options;
use super::pattern::Pattern;
use crate::carried::carried_in_options;

const PATTERNS_MAX: usize = 32;
/// Larger ones are compiled again.
const PATTERN_BYTES_MAX: usize = 1 << 20;
const TEXT_BYTES_MAX: usize = 1 << 12;

/// The patterns of a session, those that were used last first.
#[derive(Debug, Clone, Default)]
pub(crate) struct PatternCache {
    patterns: Arc<Mutex<Vec<Kept>>>,
}

carried_in_options!(PatternCache, "rowkey_patterns");

#[derive(Debug, Clone)]
struct Kept {
    text: Arc<str>,
    options: Options,
    pattern: Arc<Pattern>,
}

impl PatternCache {
    /// That of a statement with these options.
    pub(crate) fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    pub(crate) fn pattern(&self, text: &str, options: Options) -> Result<Arc<Pattern>> {
        let lock = || self.patterns.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut patterns = lock();
            let known = |kept: &Kept| kept.options == options && *kept.text == *text;
            if let Some(place) = patterns.iter().position(known) {
                let kept = patterns.remove(place);
                let pattern = Arc::clone(&kept.pattern);
                patterns.insert(0, kept);
                return Ok(pattern);
            }
        }
        let pattern = Arc::new(Pattern::compile(text, options)?);
        if text.len() <= TEXT_BYTES_MAX && pattern.memory_bytes() <= PATTERN_BYTES_MAX {
            let mut patterns = lock();
            patterns.truncate(PATTERNS_MAX - 1);
            patterns.insert(0, Kept { text: text.into(), options, pattern: Arc::clone(&pattern) });
        }
        Ok(pattern)
    }
}

/// The patterns of the rows of one call: that of a row mostly is that of the row before.
#[derive(Debug)]
pub(crate) struct RowPatterns {
    cache: PatternCache,
    last: Option<(String, Options, Arc<Pattern>)>,
}

impl RowPatterns {
    pub(crate) fn of(options: &ConfigOptions) -> Self {
        Self { cache: PatternCache::of(options), last: None }
    }

    pub(crate) fn pattern(&mut self, text: &str, options: Options) -> Result<Arc<Pattern>> {
        match &self.last {
            Some((known, with, pattern)) if known == text && *with == options => Ok(Arc::clone(pattern)),
            _ => {
                let pattern = self.cache.pattern(text, options)?;
                self.last = Some((text.to_owned(), options, Arc::clone(&pattern)));
                Ok(pattern)
            }
        }
    }
}
