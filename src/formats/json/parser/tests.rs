use super::string_stop;
use rowkey_model::rows::generated::Random;

#[test]
fn strings_stop_at_the_first_byte_that_is_not_plain() {
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let bytes: Vec<u8> =
            (0..random.below(40)).map(|_| if random.chance(12) { random.next_u64() as u8 } else { b'a' }).collect();
        let from = random.below(bytes.len() + 1);
        let plain = |b: &u8| *b != b'"' && *b != b'\\' && *b >= 0x20;
        let expected = from + bytes[from..].iter().take_while(|b| plain(b)).count();
        assert_eq!(string_stop(&bytes, from), expected, "seed {seed}: {bytes:?} from {from}");
    }
}
