//! Regular expressions, globs and networks of conditions: checked when the policy is loaded, compiled
//! once at their first use, matched in linear time.
//!
//! Patterns are literals. A pattern out of an event would let a stranger choose what is compiled.

use super::limits::{REGEX_BYTES_MAX, REGEX_COMPILED_BYTES_MAX};
use memchr::memmem::Finder;
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::sync::OnceLock;
use tollgate_gate::Glob;

/// A text that compiles into `T` once, when it is first used.
pub(super) struct Lazy<T> {
    text: Box<str>,
    compiled: OnceLock<Option<Box<T>>>,
}

pub(super) type RegexPattern = Lazy<Regex>;
pub(super) type GlobPattern = Lazy<Glob>;
/// A part that texts are searched for.
pub(super) type PartPattern = Lazy<Finder<'static>>;
pub(super) type CidrPattern = Lazy<Cidr>;

/// What a pattern's text compiles into.
pub(super) trait Compile: Sized {
    fn compile(text: &str) -> Result<Self, String>;
}

impl<T: Compile> Lazy<T> {
    /// Compiles now, to know that it can be.
    pub(super) fn checked(text: &str) -> Result<Lazy<T>, String> {
        let compiled = T::compile(text)?;
        Ok(Lazy { text: text.into(), compiled: OnceLock::from(Some(Box::new(compiled))) })
    }

    /// The pattern as it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The compiled pattern; `None` only when a snapshot holds one that never was valid.
    pub(super) fn get(&self) -> Option<&T> {
        self.compiled.get_or_init(|| T::compile(&self.text).ok().map(Box::new)).as_deref()
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Lazy<T> {
        Lazy { text: self.text.clone(), compiled: OnceLock::new() }
    }
}

impl<T> PartialEq for Lazy<T> {
    fn eq(&self, other: &Lazy<T>) -> bool {
        self.text == other.text
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl<T> Serialize for Lazy<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de, T> Deserialize<'de> for Lazy<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Lazy<T>, D::Error> {
        let text = Box::<str>::deserialize(deserializer)?;
        Ok(Lazy { text, compiled: OnceLock::new() })
    }
}

impl Compile for Regex {
    fn compile(text: &str) -> Result<Regex, String> {
        if text.len() > REGEX_BYTES_MAX {
            return Err(format!("regular expression longer than {REGEX_BYTES_MAX} bytes"));
        }
        RegexBuilder::new(text)
            .size_limit(REGEX_COMPILED_BYTES_MAX)
            .dfa_size_limit(REGEX_COMPILED_BYTES_MAX)
            .build()
            .map_err(|error| last_line(&error.to_string()))
    }
}

/// The regex crate draws the pattern with a caret; its last line says what is wrong.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

impl Compile for Finder<'static> {
    fn compile(text: &str) -> Result<Finder<'static>, String> {
        Ok(Finder::new(text).into_owned())
    }
}

impl Compile for Glob {
    fn compile(text: &str) -> Result<Glob, String> {
        Glob::text(text).map_err(|error| error.to_string())
    }
}

/// A network: an address and how many of its leading bits count (RFC 4632, RFC 4291).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cidr {
    network: IpAddr,
    bits: u32,
}

impl Compile for Cidr {
    fn compile(text: &str) -> Result<Cidr, String> {
        let bad = || format!("`{text}` is no network such as `10.0.0.0/8` or `fd00::/8`");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| bad())?;
        let width = if network.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => width,
            Some(bits) if bits.bytes().all(|b| b.is_ascii_digit()) => {
                bits.parse().map_err(|_| bad())?
            }
            Some(_) => return Err(bad()),
        };
        if bits > width { Err(bad()) } else { Ok(Cidr { network, bits }) }
    }
}

impl Cidr {
    /// Whether the address is in the network. An IPv4 address that is mapped into IPv6
    /// (`::ffff:10.0.0.1`, RFC 4291 section 2.5.5.2) counts as what it is.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let dropped = width.saturating_sub(self.bits);
            a.checked_shr(dropped).unwrap_or(0) == b.checked_shr(dropped).unwrap_or(0)
        };
        match (self.network, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            (IpAddr::V6(a), IpAddr::V4(_)) => match address {
                // Written as IPv6 on both sides: `ip_in("::ffff:10.0.0.1", "::/0")`.
                IpAddr::V6(b) => same(a.to_bits(), b.to_bits(), 128),
                IpAddr::V4(_) => false,
            },
            (IpAddr::V4(_), IpAddr::V6(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cidr, Compile};
    use regex::Regex;

    fn is_in(address: &str, network: &str) -> bool {
        Cidr::compile(network).unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn an_address_is_in_the_networks_whose_leading_bits_it_has() {
        assert!(is_in("10.1.2.3", "10.0.0.0/8"));
        assert!(!is_in("11.1.2.3", "10.0.0.0/8"));
        assert!(is_in("10.1.2.3", "0.0.0.0/0"));
        assert!(is_in("10.1.2.3", "10.1.2.3"));
        assert!(!is_in("10.1.2.4", "10.1.2.3/32"));
        assert!(is_in("fd12::1", "fd00::/8"));
        assert!(!is_in("fe80::1", "fd00::/8"));
        assert!(is_in("fe80::1", "::/0"));
    }

    #[test]
    fn a_mapped_address_cannot_hide_its_network() {
        assert!(is_in("::ffff:10.0.0.1", "10.0.0.0/8"));
        assert!(is_in("::ffff:10.0.0.1", "::ffff:0:0/96"));
        assert!(!is_in("10.0.0.1", "::/0"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for bad in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/+8", "10.0.0.0/", "host"] {
            assert!(Cidr::compile(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_regular_expression_has_a_bounded_size() {
        assert!(Regex::compile(r"^rm\s+-rf").is_ok());
        assert!(Regex::compile(&"a".repeat(2000)).is_err());
        assert!(Regex::compile(r"\w{200}{200}").is_err());
        assert!(Regex::compile("(").unwrap_err().contains("unclosed group"));
    }
}
