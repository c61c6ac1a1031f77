//! Numbers that look random and are the same every time.

/// Makes all of the sample data another one.
const SEED: u64 = 0x5a3d_1e0f_7ab1_e001;

/// SplitMix64, begun anew for each thing that is made, so that its parts do not depend on what was
/// made before.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The numbers of thing `at` of a `kind`.
    pub(super) fn of(kind: u64, at: u64) -> Self {
        let mut random = Self(SEED ^ kind.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.0 = random.next() ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; `bound` is small and not 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    /// True in `percent` of 100 cases.
    pub(super) fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy, const N: usize>(&mut self, from: &[T; N]) -> T {
        from[self.below(N as u32) as usize]
    }

    pub(super) fn guid(&mut self) -> uuid::Uuid {
        uuid::Builder::from_random_bytes(((u128::from(self.next()) << 64) | u128::from(self.next())).to_be_bytes())
            .into_uuid()
    }
}
