//! Connections that have not said yet who they are: port scans, probes, and clients in their first
//! milliseconds.

use std::collections::VecDeque;

use tokio::sync::oneshot;

/// Most at a time.
const STRANGERS_MAX: usize = 200;

/// All of them. Where there are too many, the one that has been silent for longest goes: silence
/// must not keep others out.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    /// The longest there first. The other end is dropped by those who introduced themselves or
    /// left.
    waiting: VecDeque<oneshot::Sender<()>>,
}

/// One of them, until this is dropped.
#[derive(Debug)]
pub(crate) struct Stranger(oneshot::Receiver<()>);

impl Strangers {
    pub(crate) fn one_more(&mut self) -> Stranger {
        if self.waiting.len() >= STRANGERS_MAX {
            self.waiting.retain(|stranger| !stranger.is_closed());
        }
        if self.waiting.len() >= STRANGERS_MAX {
            self.one_goes();
        }
        let (sender, receiver) = oneshot::channel();
        self.waiting.push_back(sender);
        Stranger(receiver)
    }

    /// Sends away the one that has been silent for longest, if there is any.
    pub(crate) fn one_goes(&mut self) {
        while let Some(stranger) = self.waiting.pop_front() {
            // Those that are strangers no more cannot be told.
            if stranger.send(()).is_ok() {
                return;
            }
        }
    }
}

impl Stranger {
    /// Waits until there is no more room for it.
    pub(crate) async fn has_to_go(&mut self) {
        if (&mut self.0).await.is_err() {
            // Nobody accepts connections any more, so nobody asks for its place.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_to_go(stranger: &mut Stranger) -> bool {
        stranger.0.try_recv().is_ok()
    }

    #[test]
    fn the_longest_silent_goes_first() {
        let mut all = Strangers::default();
        let mut strangers: Vec<Stranger> = (0..STRANGERS_MAX).map(|_| all.one_more()).collect();
        assert!(!strangers.iter_mut().any(has_to_go));
        let _newest = all.one_more();
        let told: Vec<usize> = (0..STRANGERS_MAX).filter(|at| has_to_go(&mut strangers[*at])).collect();
        assert_eq!(told, [0]);
    }

    #[test]
    fn who_is_known_keeps_nobody_out() {
        let mut all = Strangers::default();
        let mut silent = all.one_more();
        for _ in 0..10 * STRANGERS_MAX {
            drop(all.one_more());
        }
        assert!(!has_to_go(&mut silent));
        all.one_goes();
        assert!(has_to_go(&mut silent));
    }
}
