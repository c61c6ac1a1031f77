//! Which of several cursors is next.

/// Places of cursors that are not at their end: a heap, the one that precedes all others on top.
/// The cursors are the caller's, and so is their order, since a cursor moves while it is in here.
#[derive(Debug, Default)]
pub struct CursorHeap(Vec<usize>);

impl CursorHeap {
    /// A heap of these places; `precedes` says whether the cursor at one comes before that at
    /// another.
    pub fn new(places: impl Iterator<Item = usize>, precedes: impl Fn(usize, usize) -> bool) -> Self {
        let mut heap = Self(places.collect());
        for at in (0..heap.0.len() / 2).rev() {
            heap.sift_down(at, &precedes);
        }
        heap
    }

    /// The cursor that is next.
    pub fn top(&self) -> Option<usize> {
        self.0.first().copied()
    }

    /// The cursors among which is the one after the next.
    pub fn below_top(&self) -> &[usize] {
        self.0.get(1..self.0.len().min(3)).unwrap_or_default()
    }

    /// Restores the order after the top cursor has moved, or has come to its end.
    pub fn settle(&mut self, is_at_end: bool, precedes: impl Fn(usize, usize) -> bool) {
        if is_at_end && !self.0.is_empty() {
            self.0.swap_remove(0);
        }
        self.sift_down(0, &precedes);
    }

    fn sift_down(&mut self, mut at: usize, precedes: &impl Fn(usize, usize) -> bool) {
        loop {
            let left = 2 * at + 1;
            if left >= self.0.len() {
                return;
            }
            let right = left + 1;
            let least = if right < self.0.len() && precedes(self.0[right], self.0[left]) { right } else { left };
            if !precedes(self.0[least], self.0[at]) {
                return;
            }
            self.0.swap(at, least);
            at = least;
        }
    }
}
