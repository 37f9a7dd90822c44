//! Names of hosts and devices in the many ways they are written.
//!
//! Refused: resolving a name; that would be a contact of its own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::mark;

/// Domains whose names stand for the address that is written in them: `10.0.0.1.nip.io`.
const ADDRESS_DOMAINS: &[&str] = &[
    ".nip.io",
    ".sslip.io",
    ".xip.io",
    ".traefik.me",
    ".backname.io",
    ".localtls.com",
    ".1u.ms",
    ".ip.addr.tools",
];

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
    Some(canonical(host))
}

/// Whether an address leads to this machine or the network at home.
pub(crate) fn is_local(address: &str) -> bool {
    host_of(address).is_some_and(|host| match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_unspecified(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    })
}

/// One spelling for a host: percent signs, wide dots and digits, numbers of any base, version 4 inside
/// of version 6, and names that stand for an address.
fn canonical(host: &str) -> String {
    let host = narrow(&percent_decoded(host)).to_lowercase();
    let host = host.trim_end_matches('.');
    if let Some(address) = numeric(host) {
        return address;
    }
    // A zone (`fe80::1%eth0`) is no part of the address.
    let plain = host.split('%').next().unwrap_or_default();
    if let Ok(ip) = plain.parse::<Ipv6Addr>() {
        return inner_address(ip).map_or_else(|| ip.to_string(), |ip| ip.to_string());
    }
    let spelled = ADDRESS_DOMAINS.iter().find_map(|domain| host.strip_suffix(domain));
    spelled.and_then(spelled_address).unwrap_or_else(|| host.to_owned())
}

/// The address of version 4 that one of version 6 stands for: mapped, compatible, translated, 6to4.
fn inner_address(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let last = || {
        let [.., a, b, c, d] = ip.octets();
        Ipv4Addr::new(a, b, c, d)
    };
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 || low > 1 => Some(last()),
        [0, 0, 0, 0, 0, 0xFFFF, _, _] | [0, 0, 0, 0, 0xFFFF, 0, _, _] => Some(last()),
        [0x64, 0xFF9B, ..] => Some(last()),
        [0x2002, high, low, ..] => Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        _ => None,
    }
}

/// `x.169.254.169.254`, `x-169-254-169-254`, `a9fea9fe`, before one of [`ADDRESS_DOMAINS`].
fn spelled_address(front: &str) -> Option<String> {
    let last = front.rsplit('.').next().unwrap_or_default();
    let hex = last.rsplit('-').next().unwrap_or_default();
    if hex.len() == 8
        && let Ok(value) = u32::from_str_radix(hex, 16)
    {
        return Some(Ipv4Addr::from(value).to_string());
    }
    let numbers: Vec<&str> = front.rsplit(['.', '-']).take(4).collect();
    let numbers: Option<Vec<u8>> = numbers.iter().rev().map(|n| n.parse().ok()).collect();
    match numbers.as_deref() {
        Some([a, b, c, d]) => Some(Ipv4Addr::new(*a, *b, *c, *d).to_string()),
        _ => None,
    }
}

fn percent_decoded(host: &str) -> String {
    if !host.contains('%') || host.contains(':') {
        return host.to_owned();
    }
    let bytes = host.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = host.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code.filter(|_| *byte == b'%') {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Wide letters and digits, digits in circles and other dots, as a resolver takes them.
fn narrow(host: &str) -> String {
    let plain = |c: char| match c {
        '\u{3002}' | '\u{FF0E}' | '\u{FF61}' => '.',
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        '\u{2460}'..='\u{2468}' => char::from_u32(u32::from(c) - 0x2460 + 0x31).unwrap_or(c),
        '\u{24EA}' => '0',
        c => c,
    };
    host.chars().map(plain).collect()
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
