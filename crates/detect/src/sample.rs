//! Makes texts of a rule's form, so that tests and benches need no text that looks like a live key.
//!
//! A small generator of its own (SplitMix64) keeps samples the same on every machine. Nothing made here
//! is secret or meant to be hard to guess.

use crate::digest::{base62_of_six, crc32, hex};
use crate::pattern::{Part, Pattern};
use crate::rule::{Check, Form, Rule};

/// Longest run made for an open-ended part, in bytes beyond its least.
const SLACK_BYTES: usize = 24;

/// Makes samples from a seed.
pub(crate) struct Maker(u64);

impl Maker {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x746F_6C6C_6761_7465)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    fn run(&mut self, symbols: &[u8], len: usize) -> Vec<u8> {
        (0..len).filter_map(|_| symbols.get(self.below(symbols.len())).copied()).collect()
    }

    /// A token of the rule's pattern.
    pub(crate) fn token(&mut self, rule: &Rule) -> Option<String> {
        if rule.form == Form::Code {
            return None;
        }
        let pattern = Pattern::parse(rule.pattern, rule.keywords).ok()?;
        let mut out = Vec::new();
        for part in pattern.parts() {
            match part {
                Part::Literal(literal) => out.extend_from_slice(literal),
                Part::OneOf { options, .. } => {
                    let chosen = self.below(options.len());
                    out.extend_from_slice(options.get(chosen)?);
                }
                Part::Run { set, min, max } => {
                    // Letters and digits only, where the set has any: other signs end tokens in prose.
                    let plain: Vec<u8> = set.bytes().filter(u8::is_ascii_alphanumeric).collect();
                    let all: Vec<u8> = set.bytes().collect();
                    let symbols = if plain.is_empty() { &all } else { &plain };
                    let len = min + self.below((max - min).min(SLACK_BYTES) + 1);
                    out.extend(self.run(symbols, len));
                }
            }
        }
        repair(rule.check, &mut out);
        String::from_utf8(out).ok()
    }

    /// Fills `{token}`, `{alnum:N}`, `{digits:N}` and `{base64:N}` in a template.
    pub(crate) fn fill(&mut self, rule: &Rule, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((head, tail)) = rest.split_once('{') {
            out.push_str(head);
            let filled = tail
                .split_once('}')
                .and_then(|(name, after)| Some((self.part(rule, name)?, after)));
            match filled {
                Some((text, after)) => {
                    out.push_str(&text);
                    rest = after;
                }
                None => {
                    out.push('{');
                    rest = tail;
                }
            }
        }
        out.push_str(rest);
        out
    }

    fn part(&mut self, rule: &Rule, name: &str) -> Option<String> {
        const SYMBOLS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/";
        if name == "token" {
            return self.token(rule);
        }
        let (class, len) = name.split_once(':')?;
        let len = len.parse().ok()?;
        let symbols = match class {
            "alnum" => SYMBOLS.get(..62)?,
            "digits" => SYMBOLS.get(..10)?,
            "base64" => SYMBOLS,
            _ => return None,
        };
        String::from_utf8(self.run(symbols, len)).ok()
    }
}

/// Makes the checksum right.
fn repair(check: Check, token: &mut Vec<u8>) {
    match check {
        Check::Crc32Base62 => {
            let len = token.len();
            let sum = len.checked_sub(36).and_then(|from| token.get(from..len - 6)).map(crc32);
            if let Some(sum) = sum {
                token.truncate(len - 6);
                token.extend_from_slice(&base62_of_six(sum));
            }
        }
        Check::Crc32Hex => {
            token.truncate(token.len().saturating_sub(9));
            let sum = hex(&crc32(token).to_be_bytes());
            token.push(b'_');
            token.extend_from_slice(sum.as_bytes());
        }
        Check::Jwt => {
            // Header `{"alg":"HS256","typ":"JWT"}`; the rest of the token stays as it was made.
            let tail = token
                .iter()
                .position(|byte| *byte == b'.')
                .and_then(|dot| token.get(dot..))
                .map(<[u8]>::to_vec);
            *token = b"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9".to_vec();
            token.extend(tail.unwrap_or_default());
        }
        Check::None | Check::Bech32 => {}
    }
}
