//! Decimal numbers, read where they stand.

/// Powers of ten that a double is exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// Digits that a word holds for sure, and the integers that a double is exactly.
const DIGITS: usize = 19;
const EXACT: u64 = 1 << 53;

fn digits(text: &[u8], mut at: usize, value: &mut u64) -> usize {
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    at
}

/// The number of eight digits, where there are as many.
fn eight(text: &[u8]) -> Option<u64> {
    let bytes = text.first_chunk::<8>()?;
    let digits = u64::from_le_bytes(*bytes) ^ 0x3030_3030_3030_3030;
    if (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    // Pairs of digits, then fours of pairs weighted by 10^6, 10^4, 10^2 and 1.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let (even, odd) = (pairs & 0x0000_00ff_0000_00ff, (pairs >> 16) & 0x0000_00ff_0000_00ff);
    let sum = even.wrapping_mul(0x000f_4240_0000_0064);
    Some(sum.wrapping_add(odd.wrapping_mul(0x0000_2710_0000_0001)) >> 32)
}

/// The nearest double of the decimal number that `text` begins with, and its length.
///
/// One operation on two exact doubles is rounded once: only what has more digits than fit takes
/// the long way.
#[inline]
pub(super) fn number(text: &[u8]) -> Option<(f64, usize)> {
    let signed = matches!(text.first(), Some(b'-' | b'+'));
    let mut mantissa = 0;
    let whole = usize::from(signed);
    let mut at = digits(text, whole, &mut mantissa);
    let (mut count, mut behind) = (at - whole, 0);
    if text.get(at) == Some(&b'.') {
        let from = at + 1;
        at = from;
        // What stands behind the point is often as long as that.
        while let Some(value) = eight(&text[at..]) {
            mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(value);
            at += 8;
        }
        at = digits(text, at, &mut mantissa);
        behind = at - from;
        count += behind;
    }
    if count == 0 {
        return None;
    }
    let mut exponent = 0;
    if let Some(b'e' | b'E') = text.get(at) {
        let minus = text.get(at + 1) == Some(&b'-');
        let from = at + 1 + usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
        let mut size = 0;
        at = digits(text, from, &mut size);
        if at == from {
            return None;
        }
        // More digits than three take the long way, too.
        let size = if at - from > 3 { i64::from(i16::MAX) } else { size as i64 };
        exponent = if minus { -size } else { size };
    }
    let exponent = exponent - i64::try_from(behind).ok()?;
    if count <= DIGITS && mantissa <= EXACT && exponent.unsigned_abs() < POWERS.len() as u64 {
        let power = POWERS[exponent.unsigned_abs() as usize];
        let value = mantissa as f64;
        let value = if exponent < 0 { value / power } else { value * power };
        return Some((if text[0] == b'-' { -value } else { value }, at));
    }
    let value = std::str::from_utf8(&text[..at]).ok()?.parse().ok()?;
    Some((value, at))
}

/// The whole number that `text` begins with, and its length; at most [`u32::MAX`].
#[inline]
pub(super) fn whole(text: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0;
    let at = digits(text, 0, &mut value);
    match at {
        0 => None,
        1..=DIGITS => Some((u32::try_from(value).unwrap_or(u32::MAX), at)),
        _ => Some((u32::MAX, at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let given = "0 1 -1 +1 00 1. .5 -.5 0.1 1e3 1E-3 1e+22 1e23 9007199254740993 \
             123456789012345678901234567890 0.000000000000000000000000000001 1e-400 1e400 \
             2.2250738585072014e-308 4.9e-324 1.7976931348623157e308 3.14159265358979323846 \
             0.30000000000000004 1e0001 1e-99999999999999999999 -0 -0.0";
        for text in given.split_whitespace() {
            let (value, len) = number(text.as_bytes()).unwrap();
            let wanted: f64 = text.parse().unwrap();
            assert_eq!((value.to_bits(), len), (wanted.to_bits(), text.len()), "{text}");
        }
        for text in ["", "-", "x", ".", "e5", "nan", "inf", "-inf", "1e", "1e+"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(number(b"12:3"), Some((12.0, 2)));
        let mut rng = crate::rng::Rng::new(3);
        for _ in 0..20_000 {
            let bits = (0..4).fold(0, |bits, _| bits << 16 | rng.below(1 << 16) as u64);
            let value = f64::from_bits(bits);
            if value.is_finite() {
                let short = value % 10.0;
                for text in [
                    format!("{value}"),
                    format!("{value:e}"),
                    format!("{value:.3}"),
                    format!("{short:.8}"),
                    format!("{short:.9}"),
                ] {
                    let (read, len) = number(text.as_bytes()).unwrap();
                    let wanted: f64 = text.parse().unwrap();
                    assert_eq!((read.to_bits(), len), (wanted.to_bits(), text.len()), "{text}");
                }
            }
        }
    }

    #[test]
    fn eight_digits_are_read_at_once() {
        let mut rng = crate::rng::Rng::new(4);
        for _ in 0..10_000 {
            let value = rng.below(100_000_000);
            assert_eq!(eight(format!("{value:08}x").as_bytes()), Some(value as u64));
        }
        // Whatever stands in the place of a digit, at any place.
        for place in 0..8 {
            for byte in 0..=u8::MAX {
                let mut text = *b"12345678";
                text[place] = byte;
                assert_eq!(eight(&text).is_some(), byte.is_ascii_digit(), "{place} {byte}");
            }
        }
        assert_eq!(eight(b"1234567"), None);
    }

    #[test]
    fn whole_numbers_end_where_they_are_too_large() {
        assert_eq!(whole(b"0"), Some((0, 1)));
        assert_eq!(whole(b"4294967294:"), Some((u32::MAX - 1, 10)));
        assert_eq!(whole(b"99999999999999999999999"), Some((u32::MAX, 23)));
        assert_eq!(whole(b"18446744073709551617"), Some((u32::MAX, 20)));
        assert_eq!(whole(b"-1"), None);
    }
}
