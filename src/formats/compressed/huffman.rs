//! The prefix codes of DEFLATE (RFC 1951, section 3.2.2).

/// Longest code, in bits.
pub(super) const CODE_BITS_MAX: u32 = 15;

/// A code, as a table that every `bits` bits of input are looked up in.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    bits: u32,
    /// Symbol times 16 plus the length of its code; 0 where no code begins so.
    table: Vec<u16>,
}

impl Code {
    /// The canonical code of these lengths, one for each symbol, 0 for those that do not occur. `None` if more codes of a length
    /// are asked for than there are.
    pub(super) fn of_lengths(lengths: &[u8]) -> Option<Code> {
        let mut counts = [0u32; CODE_BITS_MAX as usize + 1];
        for &length in lengths {
            *counts.get_mut(usize::from(length))? += 1;
        }
        counts[0] = 0;
        let bits = (1..=CODE_BITS_MAX).rev().find(|&bits| counts[bits as usize] > 0).unwrap_or(1);
        let mut next = [0u32; CODE_BITS_MAX as usize + 2];
        for length in 1..=CODE_BITS_MAX as usize {
            next[length + 1] = (next[length] + counts[length]) << 1;
            if next[length] + counts[length] > 1 << length {
                return None;
            }
        }
        let mut table = vec![0u16; 1 << bits];
        for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let code = next[usize::from(length)];
            next[usize::from(length)] += 1;
            // Codes are packed from their most significant bit on, everything else from the least.
            let reversed = code.reverse_bits() >> (32 - u32::from(length));
            let entry = (symbol as u16) << 4 | u16::from(length);
            for at in (reversed as usize..table.len()).step_by(1 << length) {
                table[at] = entry;
            }
        }
        Some(Code { bits, table })
    }

    /// The symbol and the length of the code that `ahead` begins with; `None` if none does.
    #[inline]
    pub(super) fn look_up(&self, ahead: u64) -> Option<(u16, u32)> {
        let entry = *self.table.get(ahead as usize & ((1 << self.bits) - 1))?;
        (entry != 0).then_some((entry >> 4, u32::from(entry & 15)))
    }
}
