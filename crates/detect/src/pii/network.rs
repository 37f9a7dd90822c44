//! Network addresses: what points to a person's connection or device, not to the machine itself.

use crate::ascii::{at, before, cut};
use crate::pii::{Datum, ends};
use crate::rules::Coded;

/// A public IPv4 address. Private, local and documentation ranges are nobody's.
pub(crate) fn ipv4(bytes: &[u8], start: usize) -> Option<Datum> {
    let mut parts = [0u32; 4];
    let mut place = start;
    for (index, part) in parts.iter_mut().enumerate() {
        let from = place;
        while at(bytes, place).is_ascii_digit() && place - from < 4 {
            *part = *part * 10 + u32::from(at(bytes, place) - b'0');
            place += 1;
        }
        let len = place - from;
        if len == 0 || len > 3 || *part > 255 || len > 1 && at(bytes, from) == b'0' {
            return None;
        }
        if index < 3 {
            if at(bytes, place) != b'.' {
                return None;
            }
            place += 1;
        }
    }
    let dotted = at(bytes, place) == b'.' && at(bytes, place + 1).is_ascii_alphanumeric();
    // `Chrome/120.0.0.0`, `pkg-1.2.3.4`, `==1.2.3.4`: a version.
    let second = start.checked_sub(2).map_or(0, |i| at(bytes, i));
    let versioned = match before(bytes, start) {
        b'/' => second != b'/',
        b'-' | b'v' | b'^' | b'~' => true,
        b'=' => matches!(second, b'=' | b'>' | b'<' | b'~'),
        _ => false,
    };
    let local = matches!(
        parts,
        [0 | 10 | 127 | 224..=255, ..]
            | [169, 254, ..]
            | [192, 168, ..]
            | [172, 16..=31, ..]
            | [100, 64..=127, ..]
            | [192, 0, 2, _]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [198, 18 | 19, ..]
            | [_, 0, 0, 0]
            | [1..=9, 0..=30, 0..=30, 0..=30]
    );
    let version_like = matches!(parts, [1..=9, ..]) && parts != [1, 1, 1, 1];
    let base = if version_like { 0.3 } else { 0.45 };
    (!dotted && !versioned && !local && (ends(bytes, place) || at(bytes, place) == b':'))
        .then(|| Datum::new(start, place, Coded::Ipv4, base))
}

/// A global unicast IPv6 address (2000::/3), without the documentation range.
pub(crate) fn ipv6(bytes: &[u8], start: usize) -> Option<Datum> {
    let rest = cut(bytes, start, start + 40);
    let len = rest.iter().take_while(|byte| byte.is_ascii_hexdigit() || **byte == b':').count();
    let text = cut(rest, 0, len);
    let text = text.strip_suffix(b":").filter(|head| !head.ends_with(b":")).unwrap_or(text);
    // Shorter forms than this leave no sure trace in the census.
    if text.iter().filter(|byte| **byte == b':').count() < 3 {
        return None;
    }
    let address: std::net::Ipv6Addr = std::str::from_utf8(text).ok()?.parse().ok()?;
    let [first, second, ..] = address.segments();
    let global = (0x2000..0x4000).contains(&first) && !(first == 0x2001 && second == 0x0db8);
    let end = start + text.len();
    (global && ends(bytes, end)).then(|| Datum::new(start, end, Coded::Ipv6, 0.7))
}

/// Six pairs of hex digits, joined by one separator, of a real device.
pub(crate) fn mac(bytes: &[u8], start: usize) -> Option<Datum> {
    let sep = at(bytes, start + 2);
    if !matches!(sep, b':' | b'-') {
        return None;
    }
    let end = start + 17;
    let text = cut(bytes, start, end);
    let formed = text.len() == 17
        && text.iter().enumerate().all(|(place, byte)| {
            if place % 3 == 2 { *byte == sep } else { byte.is_ascii_hexdigit() }
        });
    let first = text.first().copied().unwrap_or(0);
    let varied = text.iter().filter(|byte| **byte != sep).any(|byte| *byte != first);
    // A bare clock or a chain of decimal pairs is no device; one letter among twelve digits is.
    let letters = text.iter().any(u8::is_ascii_alphabetic);
    let longer = at(bytes, end) == sep || !ends(bytes, end);
    (formed && varied && letters && !longer).then(|| Datum::new(start, end, Coded::Mac, 0.7))
}
