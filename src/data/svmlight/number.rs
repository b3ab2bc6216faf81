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
        at = digits(text, from, &mut mantissa);
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
            let bits = (rng.below(1 << 32) as u64) << 32 | rng.below(1 << 32) as u64;
            let value = f64::from_bits(bits);
            if value.is_finite() {
                for text in [format!("{value}"), format!("{value:e}"), format!("{value:.3}")] {
                    let (read, len) = number(text.as_bytes()).unwrap();
                    let wanted: f64 = text.parse().unwrap();
                    assert_eq!((read.to_bits(), len), (wanted.to_bits(), text.len()), "{text}");
                }
            }
        }
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
