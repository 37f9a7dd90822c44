//! E-mail addresses, read outwards from the `@`.

use crate::ascii::{ALNUM, ByteSet, at, before, cut};
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
    let start = local_start(bytes, sign)?;
    let (end, sound) = domain(bytes, sign + 1)?;
    // `git@host:path` and `user@host:path` are addresses of machines.
    let machine = cut(bytes, start, sign) == b"git"
        || at(bytes, end) == b':' && at(bytes, end + 1).is_ascii_lowercase();
    // The user part of a URL belongs to the URL.
    let lead = cut(bytes, start.saturating_sub(96), start);
    let in_url = memchr::memmem::rfind(lead, b"://").is_some_and(|scheme| {
        cut(lead, scheme + 3, lead.len()).iter().all(|byte| {
            byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<')
        })
    });
    let followed = matches!(at(bytes, end), b'_' | b'(') || at(bytes, end) == b'@';
    (sound && !machine && !in_url && !followed)
        .then(|| Hit::datum(start, end, Coded::Email.index(), 0.9))
}

/// Where the local part that ends at `sign` begins; `None`: there is none.
fn local_start(bytes: &[u8], sign: usize) -> Option<usize> {
    if before(bytes, sign) == b'"' {
        return quoted_start(bytes, sign);
    }
    let low = sign.saturating_sub(LOCAL_BYTES_MAX);
    let mut start = sign;
    while start > low {
        start = match before(bytes, start) {
            byte if LOCAL.has(byte) => start - 1,
            byte if byte >= 0x80 => match letter_before(bytes, start) {
                Some(from) => from,
                None => break,
            },
            _ => break,
        };
    }
    // What is no letter at its start belongs to the text before.
    while start < sign && !at(bytes, start).is_ascii_alphanumeric() && at(bytes, start) < 0x80 {
        start += 1;
    }
    if start == sign {
        return ideographs_before(bytes, sign);
    }
    // `\nalice@...`, `%3Dalice@...`: the escape is not part of the address.
    if before(bytes, start) == b'\\'
        && matches!(at(bytes, start), b'n' | b'r' | b't')
        && start + 1 < sign
    {
        start += 1;
    }
    if let Some(escape) = memchr::memrchr(b'%', cut(bytes, start, sign)) {
        start += (escape + 3).min(sign - start);
    }
    (start < sign).then_some(start)
}

/// `"jane doe"@x.com`: RFC 5322, 3.4.1.
fn quoted_start(bytes: &[u8], sign: usize) -> Option<usize> {
    let low = sign.saturating_sub(LOCAL_BYTES_MAX);
    let inner = cut(bytes, low, sign - 1);
    let quote = memchr::memrchr(b'"', inner)?;
    let name = cut(inner, quote + 1, inner.len());
    let sound =
        !name.is_empty() && !name.iter().any(|byte| byte.is_ascii_control() || *byte == b',');
    sound.then_some(low + quote)
}

/// Where a letter of an alphabet (not an ideograph, nor a sign) that ends at `end` begins.
fn letter_before(bytes: &[u8], end: usize) -> Option<usize> {
    let from = end.checked_sub(2)?;
    matches!(at(bytes, from), 0xC3..=0xD4 | 0xD7..=0xDB).then_some(from)
}

/// Where ideographs that end at `sign` begin. Within Chinese text nobody can say where an address begins: of a
/// long run its end is taken.
fn ideographs_before(bytes: &[u8], sign: usize) -> Option<usize> {
    const IDEOGRAPHS_MAX: usize = 4;
    let mut start = sign;
    while sign - start < 3 * IDEOGRAPHS_MAX
        && let Some(from) = start.checked_sub(3).filter(|from| is_ideograph(bytes, *from))
    {
        start = from;
    }
    (start < sign).then_some(start)
}

fn is_ideograph(bytes: &[u8], place: usize) -> bool {
    matches!(at(bytes, place), 0xE4..=0xED) && at(bytes, place + 2) >= 0x80
}

/// Where the domain that begins at `from` ends, and whether it is one.
fn domain(bytes: &[u8], from: usize) -> Option<(usize, bool)> {
    let mut end = from;
    while end - from < DOMAIN_BYTES_MAX {
        let byte = at(bytes, end);
        end += if DOMAIN.has(byte) {
            1
        } else if byte >= 0x80 {
            match international_label(bytes, from, end) {
                Some(len) => len,
                None => break,
            }
        } else {
            break;
        };
    }
    while end > from && !is_label_byte(before(bytes, end)) {
        end -= 1;
    }
    let domain = cut(bytes, from, end);
    let top = domain.rsplit(|byte| *byte == b'.').next()?;
    let labels = domain.split(|byte| *byte == b'.').count();
    let named = top.iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80)
        || top.starts_with(b"xn--");
    let sound = labels >= 2
        && domain.split(|byte| *byte == b'.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && is_label_byte(at(label, 0))
                && is_label_byte(before(label, label.len()))
        })
        && (2..=24).contains(&top.len())
        && named
        && !NOT_TOP
            .iter()
            .any(|not| top.eq_ignore_ascii_case(not) && !(labels > 2 && *not == b"app"));
    Some((end, sound))
}

fn is_label_byte(byte: u8) -> bool {
    ALNUM.has(byte) || byte >= 0x80
}

/// The length of a letter at `place` of a domain that has letters beyond ASCII (RFC 5890). Ideographs belong to
/// it only where they began the label, and end with the names of top-level domains: Chinese text goes on
/// behind an address without a blank.
fn international_label(bytes: &[u8], from: usize, place: usize) -> Option<usize> {
    if matches!(at(bytes, place), 0xC3..=0xD4 | 0xD7..=0xDB) {
        return Some(2);
    }
    if !is_ideograph(bytes, place) {
        return None;
    }
    let label =
        from + cut(bytes, from, place).iter().rposition(|b| *b == b'.').map_or(0, |dot| dot + 1);
    let rest = cut(bytes, place, bytes.len());
    if place == label && label > from {
        return TOP_IDEOGRAPHS
            .iter()
            .find(|top| rest.starts_with(top.as_bytes()))
            .map(|top| top.len());
    }
    // A later label must come: `例子.中国`.
    let began = place == label || at(bytes, label) >= 0x80;
    let dot = rest.iter().take(63).position(|byte| *byte == b'.')?;
    let ahead = cut(rest, 0, dot).iter().all(|byte| *byte >= 0x80);
    let named =
        TOP_IDEOGRAPHS.iter().any(|top| cut(rest, dot + 1, rest.len()).starts_with(top.as_bytes()))
            || at(rest, dot + 1).is_ascii_alphabetic();
    (began && ahead && named).then_some(3)
}

/// Top-level domains in ideographs (IANA root zone), the longer before the shorter.
const TOP_IDEOGRAPHS: &[&str] = &[
    "公司",
    "网络",
    "網絡",
    "中国",
    "中國",
    "香港",
    "台湾",
    "台灣",
    "新加坡",
    "澳门",
    "澳門",
    "在线",
    "中文网",
    "网址",
    "网站",
    "我爱你",
    "集团",
    "商城",
    "商店",
    "移动",
    "公益",
    "政务",
    "组织机构",
    "机构",
    "한국",
    "닷컴",
    "みんな",
    "コム",
    "世界",
    "健康",
    "信息",
    "娱乐",
    "手机",
    "时尚",
    "游戏",
    "餐厅",
    "企业",
    "广东",
    "佛山",
];
