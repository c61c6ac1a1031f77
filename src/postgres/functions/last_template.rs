//! What was read from the template of the row before: most statements have one for all rows.

use datafusion::common::Result;

/// A template and what it was read into.
#[derive(Debug)]
pub(super) struct LastTemplate<T> {
    last: Option<(String, T)>,
    read: fn(&str) -> Result<T>,
}

impl<T> LastTemplate<T> {
    pub(super) fn new(read: fn(&str) -> Result<T>) -> Self {
        Self { last: None, read }
    }

    /// What the template is read into, read again only where it is another one.
    pub(super) fn get(&mut self, template: &str) -> Result<&T> {
        let last = match self.last.take() {
            Some(last) if last.0 == template => last,
            _ => (template.to_owned(), (self.read)(template)?),
        };
        Ok(&self.last.insert(last).1)
    }
}
