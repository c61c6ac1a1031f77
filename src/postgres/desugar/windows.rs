//! Windows by name, `OVER w`, and those that start from another one: `OVER (w ORDER BY x)`,
//! `WINDOW v AS (w ROWS 2 PRECEDING)`. Each becomes what it stands for.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    NamedWindowDefinition, NamedWindowExpr, Query, Select, SetExpr, WindowSpec, WindowType,
};

/// The windows that the WINDOW clauses of a query and of those around it define, innermost last.
#[derive(Default)]
pub(super) struct Windows {
    levels: Vec<Vec<(String, WindowSpec)>>,
}

impl Windows {
    /// Those of the SELECT that a query is, for its ORDER BY.
    pub(super) fn enter_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        match query.body.as_mut() {
            SetExpr::Select(select) => self.enter(select),
            _ => {
                self.levels.push(Vec::new());
                ControlFlow::Continue(())
            }
        }
    }

    /// Those of a SELECT, each made whole from the ones before it.
    pub(super) fn enter(&mut self, select: &mut Select) -> ControlFlow<String> {
        let mut known: Vec<(String, WindowSpec)> = Vec::with_capacity(select.named_window.len());
        for NamedWindowDefinition(name, window) in &mut select.named_window {
            let spec = match window {
                NamedWindowExpr::WindowSpec(spec) => {
                    complete(spec, &known)?;
                    spec.clone()
                }
                NamedWindowExpr::NamedWindow(other) => match find(&known, &other.value) {
                    Some(spec) => spec.clone(),
                    None => continue,
                },
            };
            known.push((name.value.clone(), spec));
        }
        self.levels.push(known);
        ControlFlow::Continue(())
    }

    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// The window of a call.
    pub(super) fn complete(&self, window: &mut WindowType) -> ControlFlow<String> {
        match (window, self.levels.last()) {
            (WindowType::WindowSpec(spec), Some(known)) => complete(spec, known),
            (window, Some(known)) => {
                if let WindowType::NamedWindow(name) = window
                    && let Some(spec) = find(known, &name.value)
                {
                    *window = WindowType::WindowSpec(spec.clone());
                }
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn find<'w>(known: &'w [(String, WindowSpec)], name: &str) -> Option<&'w WindowSpec> {
    known.iter().find(|(known, _)| known == name).map(|(_, spec)| spec)
}

/// Takes over what the window that a specification names has; PostgreSQL's rules of what may be
/// added to it.
fn complete(spec: &mut WindowSpec, known: &[(String, WindowSpec)]) -> ControlFlow<String> {
    let Some(name) = spec.window_name.take() else { return ControlFlow::Continue(()) };
    let name = name.value;
    let Some(base) = find(known, &name) else { return ControlFlow::Break(format!("window \"{name}\" does not exist")) };
    if !spec.partition_by.is_empty() {
        return ControlFlow::Break(format!("cannot override PARTITION BY clause of window \"{name}\""));
    }
    if !spec.order_by.is_empty() && !base.order_by.is_empty() {
        return ControlFlow::Break(format!("cannot override ORDER BY clause of window \"{name}\""));
    }
    if base.window_frame.is_some() {
        return ControlFlow::Break(format!("cannot copy window \"{name}\" because it has a frame clause"));
    }
    spec.partition_by.clone_from(&base.partition_by);
    if spec.order_by.is_empty() {
        spec.order_by.clone_from(&base.order_by);
    }
    ControlFlow::Continue(())
}
