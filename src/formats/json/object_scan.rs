//! Finding the end of a JSON object without looking at what is in it.

/// A scan for the closing brace that matches an opening one, which goes on over pieces of any size.
///
/// Works on blocks of 64 bytes, each turned into bit masks of its quotes, backslashes and brackets,
/// so that the cost does not depend on how many strings there are. What lies between braces is not
/// checked: that is the decoder's part.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ObjectScan {
    depth: u64,
    /// All ones inside a string, else 0.
    in_string: u64,
    /// True if the last byte was a backslash that escapes the next one.
    escaping: bool,
}

const BLOCK: usize = 64;

impl ObjectScan {
    /// Scans on; `bytes` begin where the last piece ended, the first one with the opening brace.
    /// Returns where the object ends, behind its closing brace; `None` if it goes on.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for (i, block) in blocks.iter().enumerate() {
            if let Some(end) = self.block(block, BLOCK) {
                return Some(i * BLOCK + end);
            }
        }
        if rest.is_empty() {
            return None;
        }
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        Some(blocks.len() * BLOCK + self.block(&last, rest.len())?)
    }

    /// `bytes` of the block are text, the others blanks.
    fn block(&mut self, block: &[u8; BLOCK], bytes: usize) -> Option<usize> {
        let masks = Masks::of(block);
        let mut quotes = masks.quotes;
        if masks.backslashes != 0 || self.escaping {
            quotes &= !self.escaped(masks.backslashes, bytes);
        }
        // Bit i of the running parity of quotes says whether byte i is inside a string.
        let mut inside = quotes;
        for shift in [1, 2, 4, 8, 16, 32] {
            inside ^= inside << shift;
        }
        inside ^= self.in_string;
        self.in_string = ((inside as i64) >> 63) as u64;
        let closing = masks.closing & !inside;
        let mut brackets = (masks.opening & !inside) | closing;
        while brackets != 0 {
            let at = brackets.trailing_zeros();
            if closing >> at & 1 == 0 {
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Some(at as usize + 1);
                }
            }
            brackets &= brackets - 1;
        }
        None
    }

    /// The bytes that a backslash before them escapes.
    fn escaped(&mut self, backslashes: u64, bytes: usize) -> u64 {
        let mut escaped = u64::from(self.escaping);
        let mut left = backslashes & !escaped;
        self.escaping = false;
        while left != 0 {
            let at = left.trailing_zeros();
            if at as usize + 1 == bytes {
                self.escaping = true;
                break;
            }
            escaped |= 2 << at;
            // Neither this one nor the one it escapes begins an escape.
            left &= !(3 << at);
        }
        escaped
    }
}

/// Bit i stands for byte i.
struct Masks {
    quotes: u64,
    backslashes: u64,
    opening: u64,
    closing: u64,
}

impl Masks {
    fn of(block: &[u8; BLOCK]) -> Masks {
        let mut masks = Masks { quotes: 0, backslashes: 0, opening: 0, closing: 0 };
        for (i, word) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let at = 8 * i;
            masks.quotes |= equal_bytes(word, b'"') << at;
            masks.backslashes |= equal_bytes(word, b'\\') << at;
            // '{' and '[', and '}' and ']', differ in one bit, which no other byte with the rest
            // shares.
            let folded = word | 0x2020_2020_2020_2020;
            masks.opening |= equal_bytes(folded, b'{') << at;
            masks.closing |= equal_bytes(folded, b'}') << at;
        }
        masks
    }
}

/// Bit i of the result says whether byte i of the word (from its least one) equals `byte`.
fn equal_bytes(word: u64, byte: u8) -> u64 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let differing = word ^ u64::from_ne_bytes([byte; 8]);
    let zero = !(((differing & LOW_BITS) + LOW_BITS) | differing | LOW_BITS);
    (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests;
