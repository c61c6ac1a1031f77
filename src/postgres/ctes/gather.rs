//! Which WITH queries of a plan are inlined, and which are computed once.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err, not_impl_err};
use datafusion::logical_expr::LogicalPlan;

use super::node::{Cte, With};
use super::table::{Computed, CteTable, Definition, Source, cte_read};

/// Most nodes of all copies of a WITH query.
const COPIES_NODES_MAX: usize = 256;
/// So of one that says NOT MATERIALIZED.
const WANTED_COPIES_NODES_MAX: usize = 2_000;

/// A plan with its WITH queries inlined, or at its root to be computed once. What was gathered
/// before, as in a view, is gathered anew.
///
/// # Errors
/// `feature_not_supported` for a volatile WITH query that depends on a row of a query around it and
/// is named twice; what DataFusion finds wrong with the plan.
pub fn gathered(plan: LogicalPlan) -> Result<LogicalPlan> {
    let (mut defined, mut withs) = (false, 0_usize);
    let mut dependents: HashMap<String, usize> = HashMap::new();
    plan.apply_with_subqueries(|node| {
        defined |= matches!(cte_read(node), Some(CteTable { source: Source::Defined(_), .. }));
        if let Some(with) = With::of(node) {
            withs += 1;
            if let Some(name) = with.name_of_dependent() {
                *dependents.entry(name).or_default() += 1;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if let Some((name, _)) = dependents.iter().find(|(_, times)| **times > 1) {
        return not_impl_err!(
            "a volatile WITH query that refers to a query around it and is named twice is not supported: {name}"
        );
    }
    if !defined && withs == usize::from(With::of(&plan).is_some()) {
        return Ok(plan);
    }
    let plan = if withs > 0 { scattered(plan)? } else { plan };
    let queries = Queries::of(&plan)?;
    let replaced = queries.replaced(plan);
    queries.drop_in_order();
    replaced
}

/// Puts gathered queries back where they are read, each [`With`] with queries of its own: a view
/// that is read twice computes them twice.
fn scattered(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut keys = 0_usize;
    plan.transform_up_with_subqueries(|node| {
        let Some(with) = With::of(&node) else { return Ok(Transformed::no(node)) };
        let mut definitions: Vec<Arc<Definition>> = Vec::new();
        for query in &with.queries {
            let plan = with_definitions(query.plan.clone(), &definitions)?;
            keys += 1;
            // No name in a statement has such a sign.
            let key = format!("{}\u{1}{keys}", query.name);
            definitions.push(Arc::new(Definition { key, plan, computed: Computed::Once }));
        }
        with_definitions(with.main.clone(), &definitions).map(Transformed::yes)
    })
    .data()
}

/// A plan that reads definitions in place of gathered queries.
fn with_definitions(plan: LogicalPlan, definitions: &[Arc<Definition>]) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match cte_read(&node) {
        Some(CteTable { name, schema, source: Source::Gathered(place) }) => {
            let source = Source::Defined(Arc::clone(definitions.get(place).ok_or_else(lost)?));
            Ok(Transformed::yes(CteTable { name, schema, source }.scan()?))
        }
        _ => Ok(Transformed::no(node)),
    })
    .data()
}

fn lost() -> DataFusionError {
    internal_datafusion_err!("a WITH query was lost")
}

/// The definition that a node reads.
fn definition_read(node: &LogicalPlan) -> Option<Arc<Definition>> {
    match cte_read(node)?.source {
        Source::Defined(definition) => Some(definition),
        _ => None,
    }
}

/// What a plan reads, and how large it is without that.
#[derive(Debug, Default)]
struct Reads {
    nodes: usize,
    /// Places of definitions, each as often as it is read.
    read: Vec<usize>,
}

/// The WITH queries of a plan.
struct Queries {
    /// Each reads only those before it.
    definitions: Vec<Arc<Definition>>,
    /// Whether it is computed once.
    once: Vec<bool>,
    places: HashMap<String, usize>,
}

impl Queries {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut found = Found::default();
        let main = found.reads(plan)?;
        // Those that are found while it goes on are looked through as well: without recursion, as
        // there may be hundreds that read one another.
        let mut reads = Vec::new();
        while let Some(definition) = found.definitions.get(reads.len()).cloned() {
            reads.push(found.reads(&definition.plan)?);
        }
        let order = in_order(&main, &reads);
        let once = once(&found.definitions, &main, &reads, &order);
        let definitions: Vec<_> = order.iter().filter_map(|&at| found.definitions.get(at).cloned()).collect();
        let once = order.iter().filter_map(|&at| once.get(at).copied()).collect();
        let places = definitions.iter().enumerate().map(|(at, definition)| (definition.key.clone(), at)).collect();
        Ok(Self { definitions, once, places })
    }

    /// The plan with each query in the place that it has from now on.
    fn replaced(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let mut inlined: HashMap<usize, LogicalPlan> = HashMap::new();
        let mut queries: Vec<Cte> = Vec::new();
        let mut gathered: HashMap<usize, usize> = HashMap::new();
        for (at, definition) in self.definitions.iter().enumerate() {
            let plan = self.with_places(definition.plan.clone(), &inlined, &gathered)?;
            if self.once.get(at).copied().unwrap_or_default() {
                gathered.insert(at, queries.len());
                let name = definition.key.split('\u{1}').next().unwrap_or_default().to_owned();
                queries.push(Cte { name, plan });
            } else {
                inlined.insert(at, plan);
            }
        }
        let main = self.with_places(plan, &inlined, &gathered)?;
        Ok(if queries.is_empty() { main } else { With { queries, main }.into_plan() })
    }

    fn with_places(
        &self,
        plan: LogicalPlan,
        inlined: &HashMap<usize, LogicalPlan>,
        gathered: &HashMap<usize, usize>,
    ) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let Some(cte) = cte_read(&node) else { return Ok(Transformed::no(node)) };
            let Source::Defined(definition) = &cte.source else { return Ok(Transformed::no(node)) };
            let at = self.places.get(&definition.key).ok_or_else(lost)?;
            if let Some(plan) = inlined.get(at) {
                return Ok(Transformed::yes(plan.clone()));
            }
            let source = Source::Gathered(*gathered.get(at).ok_or_else(lost)?);
            Ok(Transformed::yes(CteTable { source, ..cte }.scan()?))
        })
        .data()
    }

    /// One that reads another holds it, and so on: to drop the first one would drop all, each
    /// inside the other.
    fn drop_in_order(mut self) {
        while self.definitions.pop().is_some() {}
    }
}

/// The definitions that were met so far.
#[derive(Default)]
struct Found {
    definitions: Vec<Arc<Definition>>,
    places: HashMap<String, usize>,
}

impl Found {
    fn reads(&mut self, plan: &LogicalPlan) -> Result<Reads> {
        let mut reads = Reads::default();
        let mut recursions = Vec::new();
        plan.apply_with_subqueries(|node| {
            reads.nodes += 1;
            if let Some(definition) = definition_read(node) {
                reads.read.push(self.place_of(definition));
            }
            if let LogicalPlan::RecursiveQuery(recursion) = node {
                recursions.push(Arc::clone(&recursion.recursive_term));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        // What a recursion reads, it reads again in each step.
        for term in recursions {
            term.apply_with_subqueries(|node| {
                reads.read.extend(definition_read(node).map(|definition| self.place_of(definition)));
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(reads)
    }

    fn place_of(&mut self, definition: Arc<Definition>) -> usize {
        let next = self.definitions.len();
        let place = *self.places.entry(definition.key.clone()).or_insert(next);
        if place == next {
            self.definitions.push(definition);
        }
        place
    }
}

/// Places of definitions, each behind those that it reads.
fn in_order(main: &Reads, reads: &[Reads]) -> Vec<usize> {
    let mut order = Vec::with_capacity(reads.len());
    let mut seen = vec![false; reads.len()];
    // A definition, and which of those it reads is next.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for &first in &main.read {
        open.push((first, 0));
        while let Some((at, next)) = open.pop() {
            let Some(read) = reads.get(at) else { continue };
            if next == 0 && std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match read.read.get(next) {
                Some(&inner) => open.extend([(at, next + 1), (inner, 0)]),
                None => order.push(at),
            }
        }
    }
    order
}

/// Which are computed once.
fn once(definitions: &[Arc<Definition>], main: &Reads, reads: &[Reads], order: &[usize]) -> Vec<bool> {
    let mut times = vec![0_usize; definitions.len()];
    reads.iter().chain([main]).flat_map(|reads| &reads.read).for_each(|&at| times[at] += 1);
    let mut once = vec![false; definitions.len()];
    let mut nodes = vec![0_usize; definitions.len()];
    for &at in order {
        let inner = reads[at].read.iter().map(|&inner| if once[inner] { 1 } else { nodes[inner] });
        nodes[at] = inner.fold(reads[at].nodes, usize::saturating_add);
        let copies = nodes[at].saturating_mul(times[at]);
        once[at] = match definitions[at].computed {
            Computed::Once => true,
            Computed::EachTime => times[at] > 1 && copies > WANTED_COPIES_NODES_MAX,
            Computed::OnceIfLarge | Computed::OnceIfRepeated => times[at] > 1 && copies > COPIES_NODES_MAX,
        };
    }
    // How often each would stand in the plan; whatever reads it is decided before.
    let mut copies = vec![0_usize; definitions.len()];
    main.read.iter().for_each(|&at| copies[at] += 1);
    for &at in order.iter().rev() {
        once[at] |= copies[at] > 1 && definitions[at].computed == Computed::OnceIfRepeated;
        let own = if once[at] { 1 } else { copies[at] };
        for &inner in &reads[at].read {
            copies[inner] = copies[inner].saturating_add(own);
        }
    }
    once
}
