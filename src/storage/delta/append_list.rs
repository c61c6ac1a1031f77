//! An append-only list, for one writer at a time and readers beside it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Items of the first piece; each further one is twice as long.
const FIRST_PIECE: usize = 32;
const PIECES: usize = 32;

/// Items in the order in which they came. Writers take turns, which is for the caller to see to;
/// readers never wait.
#[derive(Debug)]
pub(super) struct AppendList<T> {
    pieces: [OnceLock<Box<[OnceLock<T>]>>; PIECES],
    len: AtomicUsize,
}

impl<T> Default for AppendList<T> {
    fn default() -> Self {
        Self { pieces: [const { OnceLock::new() }; PIECES], len: AtomicUsize::new(0) }
    }
}

impl<T> AppendList<T> {
    /// Adds an item at the end; gives its place.
    pub(super) fn push(&self, item: T) -> usize {
        let place = self.len();
        let (piece, at) = piece_of(place);
        let items = self.pieces[piece].get_or_init(|| (0..FIRST_PIECE << piece).map(|_| OnceLock::new()).collect());
        let added = items[at].set(item);
        debug_assert!(added.is_ok(), "writers take turns");
        self.len.store(place + 1, Ordering::Release);
        place
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// The item at a place; none if nothing has come there yet.
    pub(super) fn get(&self, place: usize) -> Option<&T> {
        let (piece, at) = piece_of(place);
        self.pieces.get(piece)?.get()?.get(at)?.get()
    }

    /// The items that are there now, the oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let mut left = self.len();
        let pieces = self.pieces.iter().map_while(OnceLock::get).map(move |items| {
            let taken = left.min(items.len());
            left -= taken;
            &items[..taken]
        });
        let pieces: Vec<&[OnceLock<T>]> = pieces.collect();
        pieces.into_iter().flatten().filter_map(OnceLock::get)
    }
}

/// The piece that a place lies in, and where.
fn piece_of(place: usize) -> (usize, usize) {
    let piece = (place / FIRST_PIECE + 1).ilog2() as usize;
    (piece, place - FIRST_PIECE * ((1 << piece) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_where_they_came_while_others_read() {
        const ITEMS: usize = 20_000;
        let list = AppendList::default();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..ITEMS).for_each(|item| assert_eq!(list.push(item), item)));
            let mut seen = 0;
            while seen < ITEMS {
                seen = list.len();
                assert!(list.iter().copied().take(seen).eq(0..seen));
                assert!(seen == 0 || list.get(seen - 1) == Some(&(seen - 1)));
            }
        });
        assert!(list.iter().rev().copied().eq((0..ITEMS).rev()));
        assert_eq!((list.len(), list.get(ITEMS), list.get(usize::MAX / 64)), (ITEMS, None, None));
    }
}
