//! Several lists that one query unnests: each gets a number where it has a cast, since the planner
//! calls two alike that differ by their casts only, or a call of a volatile function, since those
//! that are written alike are computed each.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Statement, Value, VisitorMut,
};

use crate::functions::NUMBERED_LIST;
use crate::syntax::{call_named, has_volatile, visit_expressions, visit_mut};

const UNNEST: &str = "unnest";

/// Numbers the lists that have casts or volatile calls, in each query that unnests several.
pub(super) fn number_unnested(statement: &mut Statement) {
    let mut lists = Lists::default();
    let _: ControlFlow<()> = visit_mut(statement, &mut lists);
    if lists.queries.iter().any(|numbers| numbers.len() > 1) {
        lists.numbering = true;
        (lists.entered, lists.volatile) = (0, 0);
        let _: ControlFlow<()> = visit_mut(statement, &mut lists);
    }
}

#[derive(Default)]
struct Lists {
    /// Of each query, in the order in which they are entered, the numbers of its lists by their
    /// texts: equal ones have one.
    queries: Vec<HashMap<String, usize>>,
    /// How many queries were entered.
    entered: usize,
    /// The queries around, from the outermost.
    around: Vec<usize>,
    numbering: bool,
    /// How many lists with volatile calls were met.
    volatile: usize,
}

impl VisitorMut for Lists {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        if !self.numbering {
            self.queries.push(HashMap::new());
        }
        self.around.push(self.entered);
        self.entered += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.around.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Some(list) = unnested(expr) else { return ControlFlow::Continue(()) };
        let Some(numbers) = self.around.last().and_then(|query| self.queries.get_mut(*query)) else {
            return ControlFlow::Continue(());
        };
        let mut text = list.to_string();
        let is_volatile = has_volatile(list);
        if is_volatile {
            self.volatile += 1;
            text.push_str(&self.volatile.to_string());
        }
        if !self.numbering {
            let next = numbers.len() + 1;
            numbers.entry(text).or_insert(next);
        } else if numbers.len() > 1
            && (is_volatile || has_cast(list))
            && let Some(number) = numbers.get(&text)
        {
            let number = Expr::value(Value::Number(number.to_string(), false));
            let list_alone = std::mem::replace(list, Expr::value(Value::Null));
            *list = call_named(NUMBERED_LIST, vec![list_alone, number]);
        }
        ControlFlow::Continue(())
    }
}

/// The list that a call of `unnest` unnests.
fn unnested(expr: &mut Expr) -> Option<&mut Expr> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return None };
    match list.args.as_mut_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(list))] if name.to_string().eq_ignore_ascii_case(UNNEST) => {
            Some(list)
        }
        _ => None,
    }
}

fn has_cast(list: &Expr) -> bool {
    let found = visit_expressions(list, |expr| match expr {
        Expr::Cast { .. } | Expr::TypedString(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
