//! E-mail addresses, read outwards from the `@`.

use crate::ascii::{ALNUM, ByteSet, at, before, cut, run_end, run_start};
use crate::hit::Hit;
use crate::rules::Coded;

const LOCAL: ByteSet =
    ByteSet::of("._%+-'").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');
const DOMAIN: ByteSet =
    ByteSet::of("-.").with_range(b'0', b'9').with_range(b'a', b'z').with_range(b'A', b'Z');
/// RFC 5321, 4.5.3.1.
const LOCAL_BYTES_MAX: usize = 64;
const DOMAIN_BYTES_MAX: usize = 253;

/// Last labels that are no top-level domain but ends of file and unit names.
const NOT_TOP: &[&[u8]] = &[
    b"png",
    b"jpg",
    b"jpeg",
    b"gif",
    b"svg",
    b"webp",
    b"css",
    b"js",
    b"ts",
    b"jsx",
    b"tsx",
    b"json",
    b"html",
    b"xml",
    b"yaml",
    b"yml",
    b"py",
    b"rb",
    b"rs",
    b"go",
    b"java",
    b"txt",
    b"service",
    b"socket",
    b"target",
    b"timer",
    b"mount",
    b"lock",
    b"toml",
    b"route",
    b"get",
    b"post",
    b"property",
    b"setter",
    b"app",
    b"test",
    b"override",
    b"patch",
    b"fixture",
];

/// The address around the `@` at `sign`.
pub(crate) fn email(bytes: &[u8], sign: usize) -> Option<Hit> {
    let mut start = run_start(bytes, sign, LOCAL, LOCAL_BYTES_MAX);
    while start < sign && !at(bytes, start).is_ascii_alphanumeric() {
        start += 1;
    }
    if start == sign || !at(bytes, sign + 1).is_ascii_alphanumeric() {
        return None;
    }
    // `\nalice@...`, `%3Dalice@...`: the escape is not part of the address.
    if before(bytes, start) == b'\\'
        && matches!(at(bytes, start), b'n' | b'r' | b't')
        && start + 1 < sign
    {
        start += 1;
    }
    let local = cut(bytes, start, sign);
    if let Some(escape) = memchr::memrchr(b'%', local) {
        start += (escape + 3).min(local.len());
    }
    let domain_from = sign + 1;
    let run = run_end(bytes, domain_from, DOMAIN).min(domain_from + DOMAIN_BYTES_MAX);
    let mut end = run;
    while end > domain_from && !ALNUM.has(before(bytes, end)) {
        end -= 1;
    }
    let domain = cut(bytes, domain_from, end);
    let top = domain.rsplit(|byte| *byte == b'.').next()?;
    let labels = domain.split(|byte| *byte == b'.').count();
    let sound = labels >= 2
        && domain.split(|byte| *byte == b'.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && ALNUM.has(at(label, 0))
                && ALNUM.has(before(label, label.len()))
        })
        && (2..=24).contains(&top.len())
        && top.iter().all(u8::is_ascii_alphabetic)
        && !NOT_TOP
            .iter()
            .any(|not| top.eq_ignore_ascii_case(not) && !(labels > 2 && *not == b"app"));
    // `git@host:path` and `user@host:path` are addresses of machines.
    let machine = cut(bytes, start, sign) == b"git"
        || at(bytes, end) == b':'
            && ALNUM.has(at(bytes, end + 1))
            && at(bytes, end + 1).is_ascii_lowercase();
    // The user part of a URL belongs to the URL.
    let lead = cut(bytes, start.saturating_sub(96), start);
    let in_url = memchr::memmem::rfind(lead, b"://").is_some_and(|scheme| {
        cut(lead, scheme + 3, lead.len()).iter().all(|byte| {
            byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<')
        })
    });
    let followed = matches!(at(bytes, end), b'_' | b'(') || at(bytes, end) == b'@';
    (sound && start < sign && !machine && !in_url && !followed)
        .then(|| Hit::datum(start, end, Coded::Email.index(), 0.9))
}
