//! One pass that counts classes of bytes in blocks of sixteen, so that only promising stretches are
//! read closely.
//!
//! Personal data have no keyword; what they have is digits, an `@`, colons or a long unbroken run. The
//! counting loops are plain enough for the compiler to vectorise, which makes the pass cost a fraction
//! of a nanosecond a byte, and every datum of the kinds below leaves its trace in one or two
//! neighbouring blocks.

const BLOCK_BYTES: usize = 16;
/// Fewest digits in two neighbouring blocks of a number worth reading.
const DIGITS_MIN: u8 = 4;
/// Fewest colons in two neighbouring blocks of an address worth reading.
const COLONS_MIN: u8 = 3;

/// What a stretch is worth reading for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trace {
    /// Many digits.
    Digits,
    /// Many colons.
    Colons,
    /// A run without a break: base64, hex, base58.
    Run,
    /// An `@` (the stretch is that one byte).
    At,
}

#[derive(Default, Clone, Copy)]
struct Counts {
    digits: u8,
    colons: u8,
    ats: u8,
    breaks: u8,
}

fn count(block: &[u8; BLOCK_BYTES]) -> Counts {
    let mut counts = Counts::default();
    for byte in block {
        counts.digits += u8::from(byte.wrapping_sub(b'0') < 10);
    }
    for byte in block {
        counts.colons += u8::from(*byte == b':');
    }
    for byte in block {
        counts.ats += u8::from(*byte == b'@');
    }
    for byte in block {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        // `+` to `9` holds the digits, `+`, `-`, `/` and also `,` and `.`, which end the run later.
        let other = byte.wrapping_sub(b'+') < 15;
        let more = *byte == b'_' || *byte == b'=';
        counts.breaks += u8::from(!(letter | other | more));
    }
    counts
}

/// A stretch that is growing.
#[derive(Default)]
struct Zone {
    open: Option<usize>,
    end: usize,
}

impl Zone {
    fn step(&mut self, hot: bool, start: usize, end: usize) -> Option<(usize, usize)> {
        if hot {
            self.open.get_or_insert(start);
            self.end = end;
            return None;
        }
        self.open.take().map(|open| (open, self.end))
    }
}

/// Calls `found` with every stretch worth reading. Stretches of one trace come in order and do not
/// overlap.
pub(crate) fn scan(bytes: &[u8], mut found: impl FnMut(Trace, usize, usize)) {
    let mut before = Counts::default();
    let (mut digits, mut colons, mut runs) = (Zone::default(), Zone::default(), Zone::default());
    for (index, chunk) in bytes.chunks(BLOCK_BYTES).enumerate() {
        let start = index * BLOCK_BYTES;
        let end = start + chunk.len();
        let here = if let Ok(block) = <&[u8; BLOCK_BYTES]>::try_from(chunk) {
            count(block)
        } else {
            let mut padded = [b' '; BLOCK_BYTES];
            for (place, byte) in padded.iter_mut().zip(chunk) {
                *place = *byte;
            }
            count(&padded)
        };
        let wide = start.saturating_sub(BLOCK_BYTES);
        if here.ats > 0 {
            for place in memchr::memchr_iter(b'@', chunk) {
                found(Trace::At, start + place, start + place + 1);
            }
        }
        if let Some((from, to)) = digits.step(here.digits + before.digits >= DIGITS_MIN, wide, end)
        {
            found(Trace::Digits, from, to);
        }
        if let Some((from, to)) = colons.step(here.colons + before.colons >= COLONS_MIN, wide, end)
        {
            found(Trace::Colons, from, to);
        }
        if let Some((from, to)) = runs.step(here.breaks == 0, start, end) {
            found(Trace::Run, from, to);
        }
        before = here;
    }
    for (trace, zone) in [(Trace::Digits, digits), (Trace::Colons, colons), (Trace::Run, runs)] {
        if let Some(open) = zone.open {
            found(trace, open, zone.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Trace, scan};

    #[test]
    fn every_kind_of_datum_leaves_its_trace_wherever_it_stands() {
        let cases = [
            (Trace::Digits, "13812345678"),
            (Trace::Digits, "AB123456C"),
            (Trace::Colons, "aa:bb:cc:dd:ee:ff"),
            (Trace::Run, "abcdefghijklmnopqrstuvwxyzabcde"),
            (Trace::At, "a@b.io"),
        ];
        for (trace, datum) in cases {
            for lead in 0..40 {
                let text = format!("{}{datum}  ", " ".repeat(lead));
                let mut covered = false;
                scan(text.as_bytes(), |kind, from, to| {
                    covered |= kind == trace && from < lead + datum.len() && to > lead;
                });
                assert!(covered, "{text}");
            }
        }
    }
}
