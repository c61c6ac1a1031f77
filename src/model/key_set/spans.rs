//! Set algebra over sorted lists of disjoint spans, the same for one axis and for composite keys.

/// A non-empty stretch between two cuts of an ordered axis.
pub(super) trait Span: Sized + Clone {
    type Cut: Ord + Clone;

    const START: Self::Cut;
    const END: Self::Cut;

    /// The stretch between the cuts, `None` when nothing lies between them.
    fn between(lower: Self::Cut, upper: Self::Cut) -> Option<Self>;
    fn lower(&self) -> &Self::Cut;
    fn upper(&self) -> &Self::Cut;
}

/// Sorts spans and merges those that overlap or touch.
pub(super) fn normalise<S: Span>(mut spans: Vec<S>) -> Vec<S> {
    spans.sort_unstable_by(|a, b| a.lower().cmp(b.lower()));
    coalesce(spans)
}

/// Merges spans, sorted by lower cut, that overlap or touch.
fn coalesce<S: Span>(sorted: Vec<S>) -> Vec<S> {
    let mut merged: Vec<S> = Vec::with_capacity(sorted.len());
    for span in sorted {
        match merged.last_mut() {
            Some(last) if span.lower() <= last.upper() => {
                if span.upper() > last.upper()
                    && let Some(longer) = S::between(last.lower().clone(), span.upper().clone())
                {
                    *last = longer;
                }
            }
            _ => merged.push(span),
        }
    }
    merged
}

pub(super) fn union<S: Span>(a: &[S], b: &[S]) -> Vec<S> {
    let mut sorted = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if y.lower() < x.lower() => b.next(),
            (Some(_), _) => a.next(),
            (None, _) => b.next(),
        };
        match next {
            Some(span) => sorted.push(span.clone()),
            None => return coalesce(sorted),
        }
    }
}

pub(super) fn intersect<S: Span>(a: &[S], b: &[S]) -> Vec<S> {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut shared = Vec::new();
    // A search per span of the shorter list: a handful of spans against thousands costs a handful
    // of searches.
    for x in few {
        let from = many.partition_point(|y| y.upper() <= x.lower());
        for y in many.iter().skip(from).take_while(|y| y.lower() < x.upper()) {
            shared.extend(S::between(x.lower().max(y.lower()).clone(), x.upper().min(y.upper()).clone()));
        }
    }
    shared
}

pub(super) fn complement<S: Span>(spans: &[S]) -> Vec<S> {
    let mut gaps = Vec::with_capacity(spans.len() + 1);
    let mut from = S::START;
    for span in spans {
        gaps.extend(S::between(from, span.lower().clone()));
        from = span.upper().clone();
    }
    gaps.extend(S::between(from, S::END));
    gaps
}

/// A superset in at most `spans_max` spans (at least one): runs of neighbours are joined, equally
/// many in each.
pub(super) fn coarsen<S: Span>(spans: &[S], spans_max: usize) -> Vec<S> {
    let run = spans.len().div_ceil(spans_max.max(1)).max(1);
    let hull = |run: &[S]| S::between(run.first()?.lower().clone(), run.last()?.upper().clone());
    spans.chunks(run).filter_map(hull).collect()
}
