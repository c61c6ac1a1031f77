//! Bytes that are almost what a reader expects.

use super::Dice;

/// Makes inputs out of whole ones: a few changes each, of bits, lengths, and pieces.
#[derive(Debug)]
pub struct Mutator<'a> {
    /// Whole inputs, of which there must be some.
    seeds: &'a [Vec<u8>],
    /// What means something to the reader: marks, names, numbers at their limits.
    tokens: &'a [&'a [u8]],
}

/// Changes of one input, at most.
const CHANGES_MAX: usize = 6;
/// Bytes of an input, at most: pieces are doubled now and then.
const BYTES_MAX: usize = 1 << 20;
/// Numbers where length fields and counters break.
const LIMITS: [u64; 11] =
    [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF];

impl<'a> Mutator<'a> {
    /// Changes these inputs, with these tokens.
    pub fn new(seeds: &'a [Vec<u8>], tokens: &'a [&'a [u8]]) -> Self {
        Self { seeds, tokens }
    }

    /// The next input.
    pub fn next(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.seeds[dice.below(self.seeds.len())].clone();
        for _ in 0..1 + dice.below(CHANGES_MAX) {
            self.change(dice, &mut bytes);
        }
        bytes
    }

    fn change(&self, dice: &mut Dice, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            bytes.extend(self.piece(dice));
            return;
        }
        let at = dice.below(bytes.len());
        match dice.below(10) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => bytes[at] = dice.next_u64() as u8,
            2 => bytes[at] = bytes[at].wrapping_add(dice.pick(&[1, 255])),
            3 => number(dice, bytes, at),
            4 => {
                let end = end(dice, bytes, at);
                bytes.drain(at..end);
            }
            5 => {
                let piece = self.piece(dice);
                bytes.splice(at..at, piece);
            }
            6 => {
                let (piece, end) = (self.piece(dice), end(dice, bytes, at));
                bytes.splice(at..end, piece);
            }
            7 if bytes.len() < BYTES_MAX / 2 => {
                let piece = bytes[at..end(dice, bytes, at)].to_vec();
                let to = dice.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            8 => bytes.truncate(at),
            _ => {
                let other = &self.seeds[dice.below(self.seeds.len())];
                let from = dice.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }

    /// A token, a byte again and again, or noise.
    fn piece(&self, dice: &mut Dice) -> Vec<u8> {
        match dice.below(4) {
            0 => vec![dice.next_u64() as u8; 1 + dice.below(40)],
            1 => (0..1 + dice.below(12)).map(|_| dice.next_u64() as u8).collect(),
            _ if self.tokens.is_empty() => vec![b'0' + dice.below(10) as u8],
            _ => self.tokens[dice.below(self.tokens.len())].to_vec(),
        }
    }
}

/// Where a piece that begins here ends: mostly it is short.
fn end(dice: &mut Dice, bytes: &[u8], at: usize) -> usize {
    let rest = bytes.len() - at;
    let most = if dice.chance(4) { rest } else { rest.min(16) };
    at + 1 + dice.below(most)
}

/// Puts a number at a limit, or near one, in the place of what is there.
fn number(dice: &mut Dice, bytes: &mut [u8], at: usize) {
    let number = dice.pick(&LIMITS).wrapping_add(dice.pick(&[0, 0, 1, u64::MAX]));
    let width = dice.pick(&[1, 2, 4, 8]);
    let little = number.to_le_bytes();
    let big = number.to_be_bytes();
    let written = if dice.chance(2) { &little[..width] } else { &big[8 - width..] };
    for (to, from) in bytes[at..].iter_mut().zip(written) {
        *to = *from;
    }
}
