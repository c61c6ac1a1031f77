//! ROLLUP and CUBE that DataFusion does not plan: with a term twice, with several in parentheses,
//! or within GROUPING SETS, where they are read as calls.

use datafusion::sql::sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::error::{NameError, Result, SqlState};

/// Most terms of a CUBE, as in PostgreSQL.
const CUBE_TERMS_MAX: usize = 12;
/// Most terms of a ROLLUP that is spelled out: its sets have as many as the square of them.
const ROLLUP_TERMS_MAX: usize = 64;

/// Most sets of a GROUP BY, as in PostgreSQL.
const SETS_MAX: usize = 4096;

/// The sets of a GROUP BY are those of each term beside those of each other.
///
/// # Errors
/// More than PostgreSQL takes: they are found here, where none is made yet.
pub(super) fn refuse_many(terms: &[Expr]) -> Result<()> {
    let mut all = 1_usize;
    for term in terms {
        let sets = match term {
            Expr::GroupingSets(sets) => sets.len(),
            Expr::Rollup(terms) => terms.len() + 1,
            Expr::Cube(terms) if terms.len() <= CUBE_TERMS_MAX => 1 << terms.len(),
            Expr::Cube(_) => {
                let message = format!("CUBE is limited to {CUBE_TERMS_MAX} elements");
                return Err(NameError::new(SqlState::TOO_MANY_COLUMNS, message).at_node(term));
            }
            _ => 1,
        };
        all = all.saturating_mul(sets);
        if all > SETS_MAX {
            return Err(too_many_sets(term));
        }
    }
    Ok(())
}

fn too_many_sets(term: &Expr) -> NameError {
    let message = format!("too many grouping sets present (maximum {SETS_MAX})");
    NameError::new(SqlState::STATEMENT_TOO_COMPLEX, message).at_node(term)
}

/// Puts the sets of ROLLUP and CUBE within GROUPING SETS into their place.
///
/// # Errors
/// One alone is larger than PostgreSQL takes, or than are spelled out.
pub(super) fn flatten(term: &mut Expr) -> Result<()> {
    let Expr::GroupingSets(sets) = term else { return Ok(()) };
    if !sets.iter().any(|set| matches!(set.as_slice(), [Expr::Function(_)])) {
        return Ok(());
    }
    let mut flat = Vec::with_capacity(sets.len());
    for set in std::mem::take(sets) {
        match set.as_slice() {
            [Expr::Function(function)] => match nested(function) {
                Some(term) => {
                    refuse_many(std::slice::from_ref(&term))?;
                    let sets = sets_of(&term).ok_or_else(|| {
                        let message =
                            format!("ROLLUP of more than {ROLLUP_TERMS_MAX} terms in GROUPING SETS is not supported");
                        NameError::unsupported(message).at_node(&term)
                    })?;
                    flat.extend(sets);
                    if flat.len() > SETS_MAX {
                        return Err(too_many_sets(&term));
                    }
                }
                None => flat.push(set),
            },
            _ => flat.push(set),
        }
    }
    *sets = flat;
    Ok(())
}

/// A ROLLUP or CUBE that was read as a call.
fn nested(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let terms = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Tuple(terms))) => Some(terms.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(term)) => Some(vec![term.clone()]),
        _ => None,
    });
    let terms = terms.collect::<Option<Vec<_>>>()?;
    match function.name.to_string().to_ascii_lowercase().as_str() {
        "rollup" => Some(Expr::Rollup(terms)),
        "cube" => Some(Expr::Cube(terms)),
        _ => None,
    }
}

/// Writes such a ROLLUP or CUBE as the sets that it stands for, and each term of a set once.
pub(super) fn spell_out(term: &mut Expr) {
    match term {
        Expr::GroupingSets(sets) => sets.iter_mut().for_each(|set| *set = distinct(set.iter())),
        Expr::Rollup(terms) | Expr::Cube(terms) if !are_plain(terms) => {
            if let Some(sets) = sets_of(term) {
                *term = Expr::GroupingSets(sets);
            }
        }
        _ => {}
    }
}

/// The sets of a ROLLUP or CUBE that is no larger than they may be.
fn sets_of(term: &Expr) -> Option<Vec<Vec<Expr>>> {
    match term {
        Expr::Rollup(terms) if terms.len() <= ROLLUP_TERMS_MAX => {
            Some((0..=terms.len()).rev().map(|first| union(&terms[..first])).collect())
        }
        Expr::Cube(terms) if terms.len() <= CUBE_TERMS_MAX => {
            let sets = (0..1_usize << terms.len()).rev().map(|chosen| {
                let chosen = terms.iter().enumerate().filter(|(at, _)| chosen & (1 << (terms.len() - 1 - at)) != 0);
                distinct(chosen.flat_map(|(_, terms)| terms))
            });
            Some(sets.collect())
        }
        _ => None,
    }
}

/// Whether all terms are single ones, and differ.
fn are_plain(terms: &[Vec<Expr>]) -> bool {
    terms.iter().all(|term| matches!(term.as_slice(), [_])) && union(terms).len() == terms.len()
}

fn union(terms: &[Vec<Expr>]) -> Vec<Expr> {
    distinct(terms.iter().flatten())
}

fn distinct<'e>(terms: impl Iterator<Item = &'e Expr>) -> Vec<Expr> {
    let mut distinct: Vec<Expr> = Vec::new();
    for term in terms {
        if !distinct.contains(term) {
            distinct.push(term.clone());
        }
    }
    distinct
}
