//! Context words: what stands around a datum makes it surer or less sure.
//!
//! A word counts within a fixed distance to the left and, within the unit, a shorter one to the right,
//! or in the name of the JSON key that holds the value. The lists are short on purpose: a word is in
//! them because the datum is ambiguous without it.

use crate::ascii::{cut, find_folded, has_any_word};
use crate::pii::phone;
use crate::rules::Coded;

/// How far to the left a word counts, in bytes.
pub(crate) const LEFT_BYTES: usize = 64;
/// How far to the right, in bytes.
const RIGHT_BYTES: usize = 32;
const RAISE: f32 = 0.35;
const LOWER: f32 = 0.35;

struct Words {
    raise: &'static [&'static str],
    lower: &'static [&'static str],
}

const NUMBERISH: &[&str] = &[
    "order",
    "invoice",
    "trace",
    "timestamp",
    "epoch",
    "ticket",
    "tracking",
    "sku",
    "serial",
    "build",
    "revision",
    "commit",
    "version",
    "isbn",
    "uuid",
    "hash",
    "offset",
    "checksum",
    "request",
    "订单",
    "单号",
    "编号",
    "时间戳",
    "流水",
];
/// Besides the words for telephone themselves.
const PHONE: &[&str] = &["call", "sms", "contact", "hotline", "联系", "号码", "短信"];
const CARD: &[&str] = &[
    "card",
    "credit",
    "debit",
    "visa",
    "mastercard",
    "amex",
    "payment",
    "pan",
    "cvv",
    "cc",
    "银行卡",
    "卡号",
    "信用卡",
];
const NETWORK: &[&str] = &[
    "ip",
    "ips",
    "addr",
    "address",
    "client",
    "remote",
    "host",
    "from",
    "user",
    "login",
    "peer",
    "visitor",
    "source",
    "src",
    "来源",
    "登录",
    "remote_addr",
    "x-forwarded-for",
];
const VERSION: &[&str] = &[
    "version", "ver", "release", "build", "upgrade", "chrome", "firefox", "safari", "webkit",
    "oid", "版本", "v",
];

fn words(coded: Coded) -> Words {
    let (raise, lower): (&'static [&'static str], &'static [&'static str]) = match coded {
        Coded::PhoneCn | Coded::PhoneNational => (PHONE, NUMBERISH),
        Coded::PhoneInternational => (PHONE, &[]),
        Coded::Card => (CARD, NUMBERISH),
        Coded::IdUsSsn => (&["ssn", "social", "security", "taxpayer", "tin"], NUMBERISH),
        Coded::IdUkNino => (&["nino", "insurance", "ni"], &["sku", "part", "serial", "model"]),
        Coded::IdUkNhs => (&["nhs", "patient"], NUMBERISH),
        Coded::IdFrNir => (&["nir", "insee", "sécurité", "securite", "sociale"], NUMBERISH),
        Coded::IdEsDni => (&["dni", "nie", "nif", "identidad"], &["sku", "part", "serial"]),
        Coded::IdDeTax => (
            &["steuer", "steuer-id", "steueridentifikationsnummer", "idnr", "steuernummer", "tax"],
            NUMBERISH,
        ),
        Coded::IdInAadhaar => (&["aadhaar", "aadhar", "uidai", "uid"], NUMBERISH),
        Coded::IdInPan => (&["pan", "income", "permanent"], &["sku", "part", "serial", "model"]),
        Coded::IdBrCpf => (&["cpf"], NUMBERISH),
        Coded::IdBrCnpj => (&["cnpj"], &[]),
        Coded::IdJpMyNumber => (&["マイナンバー", "個人番号", "mynumber", "my number"], NUMBERISH),
        Coded::IdKrRrn => (&["rrn", "주민", "resident"], NUMBERISH),
        Coded::IdSgNric => (&["nric", "fin", "identity"], &["sku", "part"]),
        Coded::IdCn => (&["身份证", "证件", "id card", "resident"], &[]),
        Coded::Ipv4 | Coded::Ipv6 => (NETWORK, VERSION),
        Coded::Mac => (&["mac", "ether", "hwaddr", "bssid", "device"], &[]),
        Coded::Ethereum | Coded::Bitcoin => {
            (&["wallet", "address", "eth", "btc", "send", "pay", "钱包"], &["contract", "token"])
        }
        Coded::PrivateKey
        | Coded::PasswordAssignment
        | Coded::SecretAssignment
        | Coded::KeyAssignment
        | Coded::UrlPassword
        | Coded::BearerHeader
        | Coded::BasicHeader
        | Coded::CookieHeader
        | Coded::CommandPassword
        | Coded::DeviceSecret
        | Coded::PgpassLine
        | Coded::DigestHeader
        | Coded::MarkedLine
        | Coded::Email
        | Coded::Iban
        | Coded::IdItCodiceFiscale
        | Coded::PassportMrz
        | Coded::BirthDate
        | Coded::PostalAddress
        | Coded::PersonCued
        | Coded::PersonListed
        | Coded::PersonZh
        | Coded::PersonModel
        | Coded::OrganizationModel
        | Coded::PlaceModel => (&[], &[]),
    };
    Words { raise, lower }
}

/// The score of a datum at `start..end` of the unit's text, given its base score and its key's name.
pub(crate) fn score(
    bytes: &[u8],
    start: usize,
    end: usize,
    coded: Coded,
    base: f32,
    key: &[u8],
) -> f32 {
    let words = words(coded);
    if words.raise.is_empty() && words.lower.is_empty() {
        return base;
    }
    let left = cut(bytes, start.saturating_sub(LEFT_BYTES), start);
    // Context ends with the line: the line above speaks of something else.
    let left = memchr::memrchr(b'\n', left).map_or(left, |line| cut(left, line + 1, left.len()));
    let right = cut(bytes, end, (end + RIGHT_BYTES).min(bytes.len()));
    let in_key = |word: &&str| {
        let word = word.as_bytes();
        (word.len() > 3 || !key.is_ascii() || key.len() < 8) && find_folded(key, word).is_some()
    };
    let stands = |list: &[&str]| {
        has_any_word(left, list)
            || has_any_word(right, list)
            || !key.is_empty() && list.iter().any(in_key)
    };
    let phone = matches!(coded, Coded::PhoneCn | Coded::PhoneInternational | Coded::PhoneNational)
        && stands(phone::CUES);
    // `203.0.113.7 - - [`: a line of a web server begins with its client.
    let client = coded == Coded::Ipv4 && left.is_empty() && right.starts_with(b" - ");
    let raise = if phone || client || stands(words.raise) { RAISE } else { 0.0 };
    // What speaks for the datum outweighs what speaks against it.
    let lower = if raise == 0.0 && stands(words.lower) { LOWER } else { 0.0 };
    (base + raise - lower).clamp(0.0, 0.99)
}
