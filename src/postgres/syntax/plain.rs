//! Queries, relations and calls with a body and nothing else, for rewrites to fill.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, ObjectName, Query, Select, SelectFlavor, SelectItem,
    SetExpr, TableAlias, TableFactor, TableFunctionArgs, TableWithJoins,
};

/// `SELECT projection FROM from`.
pub(crate) fn plain_select(projection: Vec<SelectItem>, from: Vec<TableWithJoins>) -> Select {
    Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection,
        exclude: None,
        into: None,
        from,
        lateral_views: Vec::new(),
        prewhere: None,
        selection: None,
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }
}

/// A query that is this SELECT and nothing else.
pub(crate) fn plain_query(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// `CASE WHEN condition THEN result ... ELSE otherwise END`.
pub fn plain_case(branches: impl IntoIterator<Item = (Expr, Expr)>, otherwise: Option<Expr>) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: branches.into_iter().map(|(condition, result)| CaseWhen { condition, result }).collect(),
        else_result: otherwise.map(Box::new),
    }
}

/// `CAST(expr AS data_type)`.
pub(crate) fn plain_cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// An item of FROM: a relation, or a function if there are arguments.
pub fn plain_table(name: ObjectName, args: Option<TableFunctionArgs>, alias: Option<TableAlias>) -> TableWithJoins {
    let relation = TableFactor::Table {
        name,
        alias,
        args,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
    TableWithJoins { relation, joins: Vec::new() }
}

/// A call with arguments by their places.
pub(crate) fn plain_call(name: ObjectName, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    call_of(name, args, Vec::new())
}

/// A call with any arguments, and clauses behind them.
pub(crate) fn call_of(name: ObjectName, args: Vec<FunctionArg>, clauses: Vec<FunctionArgumentClause>) -> Expr {
    let args = FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses });
    Expr::Function(Function { args, ..plain_function(name) })
}

/// A call of a function by its name alone.
pub(crate) fn call_named(name: &str, args: Vec<Expr>) -> Expr {
    plain_call(ObjectName::from(vec![Ident::new(name)]), args)
}

/// A function without parentheses.
pub(crate) fn plain_function(name: ObjectName) -> Function {
    Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::None,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}
