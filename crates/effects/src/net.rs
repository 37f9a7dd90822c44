//! Names of hosts and devices in the many ways they are written.
//!
//! Refused: resolving a name; that would be a contact of its own.

use crate::mark;
use std::net::IpAddr;

/// The host in an address, a `user@host:port`, or a bare name; lower case. `None` if there is none.
pub(crate) fn host_of(text: &str) -> Option<String> {
    let text = text.trim();
    let after_scheme = match text.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest,
        None => text.strip_prefix("//").unwrap_or(text),
    };
    let authority = after_scheme.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let host = if let Some(rest) = authority.strip_prefix('[') {
        rest.split(']').next().unwrap_or_default()
    } else if authority.matches(':').count() > 1 {
        authority
    } else {
        authority.split(':').next().unwrap_or_default()
    };
    let host = host.trim_end_matches('.');
    if host.is_empty() || host.contains(char::is_whitespace) {
        return None;
    }
    if mark::has_mark(host) {
        // A known domain below an unknown name is known well enough: `$BUCKET.example.com`.
        return Some(host.to_lowercase());
    }
    Some(numeric(host).unwrap_or_else(|| host.to_lowercase()))
}

/// Whether a host is this machine, by its name or a loopback address.
pub(crate) fn is_own(host: &str) -> bool {
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host == "localhost" || host.ends_with(".localhost")
}

/// Addresses written as one number, in octal or in hexadecimal: `0xA9FEA9FE`, `2852039166`.
fn numeric(host: &str) -> Option<String> {
    let parse = |piece: &str| -> Option<u32> {
        if let Some(hex) = piece.strip_prefix("0x").or_else(|| piece.strip_prefix("0X")) {
            return u32::from_str_radix(hex, 16).ok();
        }
        if piece.len() > 1 && piece.starts_with('0') {
            return u32::from_str_radix(piece, 8).ok();
        }
        piece.parse().ok()
    };
    let pieces: Vec<&str> = host.split('.').collect();
    let numbers: Vec<u32> = pieces.iter().map(|p| parse(p)).collect::<Option<_>>()?;
    let value = match numbers.as_slice() {
        [all] => *all,
        [a, rest] if *a < 256 && *rest < 1 << 24 => (a << 24) | rest,
        [a, b, rest] if *a < 256 && *b < 256 && *rest < 1 << 16 => (a << 24) | (b << 16) | rest,
        [a, b, c, d] if [a, b, c, d].iter().all(|n| **n < 256) => {
            (a << 24) | (b << 16) | (c << 8) | d
        }
        _ => return None,
    };
    let [a, b, c, d] = value.to_be_bytes();
    Some(format!("{a}.{b}.{c}.{d}"))
}

/// Whether `/dev/NAME` is a disk, a part of one, or memory.
pub(crate) fn is_disk(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "dm-", "md", "mem",
        "kmem", "port", "block/", "nbd", "zvol",
    ];
    let known = name.split(mark::is_mark).next().unwrap_or_default();
    PREFIXES.iter().any(|prefix| known.starts_with(prefix))
        || (mark::has_mark(name) && known.len() < 3)
}

/// Whether a word looks like an address with a scheme.
pub(crate) fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    !rest.is_empty() && !scheme.is_empty() && scheme.len() < 12 && {
        scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'-')
    }
}

/// `host:path` or `user@host:path` as scp and rsync take it: the host.
pub(crate) fn remote_host(text: &str) -> Option<&str> {
    if is_url(text) {
        return Some(text);
    }
    let (host, rest) = text.split_once(':')?;
    let letter = host.len() == 1 && host.bytes().all(|b| b.is_ascii_alphabetic());
    let drive = letter && rest.starts_with(['/', '\\']);
    (!host.is_empty() && !host.contains('/') && !drive).then_some(host)
}
