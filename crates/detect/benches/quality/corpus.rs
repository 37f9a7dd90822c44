//! A labelled corpus from templates and a seed: invented data with valid checksums in frames of many
//! kinds, between decoys that only look like data.
//!
//! The check digits are computed here by code of its own, not by the detector's. Names, words and
//! frames are not the ones in the detector's lists, as far as they could be chosen so; a third of the
//! persons' names are in no list at all.

use tollgate_detect::{Kind, Rule, rules};

/// A text and what is in it.
pub(crate) struct Document {
    pub(crate) text: String,
    pub(crate) labels: Vec<Label>,
}

/// A datum of the corpus.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
    pub(crate) frame: &'static str,
}

/// SplitMix64.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len() as u64) as usize]
    }

    fn from(&mut self, symbols: &str, len: u64) -> String {
        let symbols: Vec<char> = symbols.chars().collect();
        (0..len).map(|_| symbols[self.below(symbols.len() as u64) as usize]).collect()
    }

    fn digits(&mut self, len: u64) -> String {
        self.from("0123456789", len)
    }
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";

fn value(char: char) -> u64 {
    u64::from(char.to_digit(36).unwrap_or(0))
}

fn luhn_digit(body: &str) -> u64 {
    let sum: u64 = body
        .chars()
        .rev()
        .enumerate()
        .map(|(place, char)| {
            let digit = value(char) * if place % 2 == 0 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    (10 - sum % 10) % 10
}

fn card(dice: &mut Dice) -> String {
    let (prefix, len) =
        [("4", 16), ("53", 16), ("37", 15), ("6011", 16), ("62", 16)][dice.below(5) as usize];
    let body = format!("{prefix}{}", dice.digits(len - 1 - prefix.len() as u64));
    let number = format!("{body}{}", luhn_digit(&body));
    let groups: &[usize] = if len == 15 { &[4, 6, 5] } else { &[4, 4, 4, 4] };
    match dice.below(3) {
        0 => number,
        form => grouped(&number, groups, if form == 1 { " " } else { "-" }),
    }
}

fn grouped(digits: &str, groups: &[usize], glue: &str) -> String {
    let mut rest = digits;
    let parts: Vec<&str> = groups
        .iter()
        .map(|len| {
            let (head, tail) = rest.split_at(*len);
            rest = tail;
            head
        })
        .collect();
    parts.join(glue)
}

fn iban(dice: &mut Dice) -> String {
    let (country, body) = match dice.below(3) {
        0 => ("DE", dice.digits(18)),
        1 => ("FR", dice.digits(23)),
        _ => ("GB", format!("{}{}", dice.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 4), dice.digits(14))),
    };
    let rest = format!("{body}{country}00").chars().fold(0, |rest, char| {
        let digit = value(char);
        (rest * if digit > 9 { 100 } else { 10 } + digit) % 97
    });
    let compact = format!("{country}{:02}{body}", 98 - rest);
    if dice.below(2) == 0 {
        return compact;
    }
    let chars: Vec<char> = compact.chars().collect();
    chars.chunks(4).map(|chunk| chunk.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

fn national_id(dice: &mut Dice) -> (String, &'static str) {
    match dice.below(7) {
        0 => (id_cn(dice), "身份证号"),
        1 => (
            format!(
                "{:03}-{:02}-{:04}",
                100 + dice.below(500),
                1 + dice.below(99),
                1 + dice.below(9999)
            ),
            "SSN",
        ),
        2 => {
            let prefix = dice.pick(&["AB", "CE", "JG", "PW"]);
            (
                format!("{prefix}{}{}", dice.digits(6), dice.pick(&["A", "B", "C", "D"])),
                "National Insurance no.",
            )
        }
        3 => {
            let birth = format!("{:02}{:02}", 40 + dice.below(60), 1 + dice.below(12));
            let body = format!("{}{birth}75{}", 1 + dice.below(2), dice.digits(6));
            let number: u64 = body.parse().unwrap();
            (format!("{body}{:02}", 97 - number % 97), "NIR")
        }
        4 => {
            let number = dice.below(90_000_000) + 10_000_000;
            (
                format!("{number}{}", &"TRWAGMYFPDXBNJZSQVHLCKE"[(number % 23) as usize..][..1]),
                "DNI",
            )
        }
        5 => (cpf(dice), "CPF"),
        _ => {
            let digits = dice.digits(7);
            let weighted = digits.chars().zip([2, 7, 6, 5, 4, 3, 2]);
            let sum: u64 = weighted.map(|(char, weight)| value(char) * weight).sum();
            (format!("S{digits}{}", &"JZIHGFEDCBA"[(sum % 11) as usize..][..1]), "NRIC")
        }
    }
}

fn id_cn(dice: &mut Dice) -> String {
    let region = dice.pick(&["110105", "310104", "440305", "510107"]);
    let birth =
        format!("{}{:02}{:02}", 1950 + dice.below(55), 1 + dice.below(12), 1 + dice.below(28));
    let body = format!("{region}{birth}{}", dice.digits(3));
    let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let sum: u64 = body.chars().zip(weights).map(|(char, weight)| value(char) * weight).sum();
    format!("{body}{}", &"10X98765432"[(sum % 11) as usize..][..1])
}

fn cpf(dice: &mut Dice) -> String {
    let mut digits: Vec<u64> = (0..9).map(|_| dice.below(10)).collect();
    for _ in 0..2 {
        let len = digits.len() as u64;
        let sum: u64 =
            digits.iter().enumerate().map(|(i, digit)| digit * (len + 1 - i as u64)).sum();
        digits.push(sum * 10 % 11 % 10);
    }
    let text: String = digits.iter().map(u64::to_string).collect();
    format!("{}.{}.{}-{}", &text[..3], &text[3..6], &text[6..9], &text[9..])
}

fn phone(dice: &mut Dice) -> (String, &'static str) {
    match dice.below(6) {
        0 | 1 => {
            let number =
                format!("1{}{}", dice.pick(&["38", "59", "77", "86", "98"]), dice.digits(8));
            match dice.below(3) {
                0 => (grouped(&number, &[3, 4, 4], " "), "手机"),
                1 => (format!("+86 {number}"), "联系电话"),
                _ => (number, "手机号"),
            }
        }
        2 => (format!("+44 20 7{} {}", dice.digits(3), dice.digits(4)), "phone"),
        3 => (
            format!(
                "({}) 5{}-{}",
                dice.pick(&["415", "212", "617"]),
                dice.digits(2).replace("11", "12"),
                dice.digits(4)
            ),
            "call",
        ),
        4 => (format!("+49 30 {}", dice.digits(7)), "Telefon"),
        _ => (
            format!(
                "{}-4{}-{}",
                dice.pick(&["503", "312", "206"]),
                dice.digits(2).replace("11", "12"),
                dice.digits(4)
            ),
            "mobile",
        ),
    }
}

const FIRST: &[&str] = &[
    "Jennifer",
    "Thomas",
    "Giulia",
    "Priya",
    "Oliver",
    "Hannah",
    "Tamsin",
    "Bartholomew",
    "Siobhan",
    "Eleni",
    "Thabo",
    "Linnea",
];
const LAST: &[&str] = &[
    "Whitfield",
    "Okonkwo",
    "Bergström",
    "Castellano",
    "Dunne",
    "Papadakis",
    "Mbeki",
    "Kowalczyk",
    "Hartley",
    "Novak",
];
const ZH: &[&str] =
    &["王建国", "李晓梅", "张伟", "陈思远", "赵敏", "欧阳修文", "刘洋", "黄志强", "周杰", "吴秀英"];

fn person(dice: &mut Dice) -> String {
    format!("{} {}", dice.pick(FIRST), dice.pick(LAST))
}

pub(crate) fn password(dice: &mut Dice) -> String {
    let len = 9 + dice.below(8);
    let mut text = dice.from("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", len);
    text.insert(4, ['!', '#', '-', '@', '_'][dice.below(4) as usize]);
    text.insert(7, '7');
    text
}

/// Frames in which the three best scanners miss more than half.
pub(crate) const HARD: &[(&str, &str)] = &[
    ("escaped json", r#"{\"user\": \"svc\", \"{k}\": \"{v}\"}"#),
    ("name/value", r#"  {"name": "{k}", "value": "{v}"},"#),
    ("xml element", "  <{k}>{v}</{k}>"),
    ("xml attribute", r#"  <add key="{k}" value="{v}" />"#),
    ("yaml literal", "{k}: |\n  {v}\nnext: 1"),
    ("yaml folded", "{k}: >-\n    {v}\nnext: 1"),
    ("url query", "GET https://svc.internal.net/v2/x?{k}={v}&page=2"),
    ("basic auth url", "git clone https://deploy:{v}@git.internal.net/a/b"),
    ("csv", "{k},{v},2026-01-02"),
    ("comment", "# {k} {v}"),
    ("comment with colon", "// old {k}: {v}"),
    ("sql table", "| {k} | {v} | 2026 |"),
    ("sql insert", "INSERT INTO settings VALUES (7, '{k}', '{v}');"),
    ("append", "config.{k} += \"{v}\""),
];

/// Frames that every scanner knows.
pub(crate) const PLAIN: &[(&str, &str)] = &[
    ("assignment", "{k} = \"{v}\""),
    ("env", "export {k}={v}"),
    ("yaml", "{k}: {v}"),
    ("json", r#"  "{k}": "{v}","#),
    ("argument", "connect(host, {k}='{v}')"),
    ("flag", "./run --{k} {v} --verbose"),
];

pub(crate) const KEYS: &[&str] = &[
    "password",
    "db_password",
    "api_key",
    "client_secret",
    "access_token",
    "SERVICE_TOKEN",
    "authToken",
];

type Line = (String, Option<Label>);

/// One line and its label.
fn datum_line(dice: &mut Dice, tokens: &[&'static Rule]) -> Line {
    match dice.below(14) {
        0..=4 => secret_line(dice, tokens),
        5..=9 => number_line(dice),
        10..=11 => context_line(dice),
        _ => person_line(dice),
    }
}

fn line(before: &str, datum: &str, after: &str, kind: Kind) -> Line {
    let label =
        Label { start: before.len(), end: before.len() + datum.len(), kind, frame: "prose" };
    (format!("{before}{datum}{after}"), Some(label))
}

/// Rules whose tokens carry their own mark.
pub(crate) fn marked() -> Vec<&'static Rule> {
    rules()
        .filter(|rule| {
            let token = rule.sample(1);
            token.is_some_and(|token| rule.keywords.iter().any(|keyword| token.contains(keyword)))
        })
        .collect()
}

fn secret_line(dice: &mut Dice, tokens: &[&'static Rule]) -> Line {
    let frames = if dice.below(2) == 0 { HARD } else { PLAIN };
    let (name, template) = frames[dice.below(frames.len() as u64) as usize];
    if dice.below(5) < 2 {
        let key = dice.pick(KEYS);
        return framed(template, key, &password(dice), Kind::Password, name);
    }
    let rule = tokens[dice.below(tokens.len() as u64) as usize];
    let Some(token) = rule.sample(dice.next()) else { return (String::new(), None) };
    let key = dice.pick(&["value", "setting_7", "credential"]);
    framed(template, key, &token, Kind::Secret, name)
}

fn number_line(dice: &mut Dice) -> Line {
    match dice.below(5) {
        0 => {
            let local = dice.pick(&["t.whitfield", "sales+eu", "li.wei88", "info", "o_dunne"]);
            let host = dice.pick(&["corp-mail.net", "uni.edu.cn", "firma.de", "startup.io"]);
            let before = dice.pick(&["please write to ", "From: ", "邮箱：", "contact="]);
            line(before, &format!("{local}@{host}"), "", Kind::Email)
        }
        1 => {
            let (number, word) = phone(dice);
            line(&format!("{word}: "), &number, " after six", Kind::Phone)
        }
        2 => {
            let before = dice.pick(&["paid with ", "card number ", "charged "]);
            line(before, &card(dice), " today", Kind::Card)
        }
        3 => line("transfer to ", &iban(dice), " please", Kind::Iban),
        _ => {
            let (number, word) = national_id(dice);
            line(&format!("{word} "), &number, " on file", Kind::NationalId)
        }
    }
}

fn context_line(dice: &mut Dice) -> Line {
    match dice.below(6) {
        0 => {
            let (a, b, c, d) =
                (80 + dice.below(20), 40 + dice.below(200), dice.below(255), 1 + dice.below(254));
            line("client ", &format!("{a}.{b}.{c}.{d}"), " connected", Kind::IpAddress)
        }
        1 => {
            let pairs: Vec<String> = (0..6).map(|_| format!("{:02x}", dice.below(256))).collect();
            line("ether ", &pairs.join(":"), " up", Kind::MacAddress)
        }
        2 => {
            let date = format!(
                "{}-{:02}-{:02}",
                1950 + dice.below(50),
                1 + dice.below(12),
                1 + dice.below(28)
            );
            line("born on ", &date, "", Kind::BirthDate)
        }
        _ => {
            let street = dice.pick(&["Mill", "Oak", "Harbour"]);
            let city = dice.pick(&["Leeds", "Dover", "Bath"]);
            line(
                "address: ",
                &format!("{} {street} Street, {city}", 1 + dice.below(300)),
                "",
                Kind::Address,
            )
        }
    }
}

fn person_line(dice: &mut Dice) -> Line {
    if dice.below(2) == 0 {
        let cue = dice.pick(&["Dear ", "", "name: ", "Mr. ", "we met "]);
        return line(cue, &person(dice), " yesterday", Kind::Person);
    }
    let frames =
        [("联系人：", "，请尽快联系"), ("", "先生您好"), ("今天见到了", "。"), ("姓名 ", "")];
    let (before, after) = frames[dice.below(4) as usize];
    line(before, dice.pick(ZH), after, Kind::Person)
}

pub(crate) fn framed(
    template: &str,
    key: &str,
    datum: &str,
    kind: Kind,
    frame: &'static str,
) -> (String, Option<Label>) {
    let text = template.replace("{k}", key);
    let start = text.find("{v}").unwrap_or(0);
    (text.replace("{v}", datum), Some(Label { start, end: start + datum.len(), kind, frame }))
}

/// Look-alikes, by class.
pub(crate) const DECOYS: &[&str] = &[
    "uuid",
    "sha",
    "epoch",
    "stamp",
    "version",
    "integrity",
    "placeholder",
    "order number",
    "image",
    "code",
    "private ip",
    "amount",
];

pub(crate) fn decoy(dice: &mut Dice, class: &str) -> String {
    match class {
        "uuid" => {
            let hex = dice.from(HEX, 32);
            let word = dice.pick(&["request", "id:", "trace_id ="]);
            format!(
                "{word} {}-{}-4{}-a{}-{}",
                &hex[..8],
                &hex[8..12],
                &hex[13..16],
                &hex[17..20],
                &hex[20..]
            )
        }
        "sha" => {
            let len = if dice.below(2) == 0 { 40 } else { 64 };
            format!(
                "{} {}",
                dice.pick(&["commit", "sha256", "etag:", "merge of"]),
                dice.from(HEX, len)
            )
        }
        "integrity" => format!("\"integrity\": \"sha512-{}==\",", dice.from(ALNUM, 86)),
        "image" => {
            format!("<img src=\"data:image/png;base64,iVBORw0KGgo{}\">", dice.from(ALNUM, 200))
        }
        "code" => dice.pick(CODE).to_owned(),
        "placeholder" => format!("{} = {}", dice.pick(KEYS), dice.pick(FILL_INS)),
        _ => number_decoy(dice, class),
    }
}

fn number_decoy(dice: &mut Dice, class: &str) -> String {
    match class {
        "epoch" => {
            let seconds = 1_600_000_000 + dice.below(200_000_000);
            format!("at {seconds} for {} ms", 1_600_000_000_000 + dice.below(200_000_000_000))
        }
        "stamp" => {
            let day = format!("2024{:02}{:02}", 1 + dice.below(12), 1 + dice.below(28));
            let time = format!("{:02}{:02}{:02}", dice.below(24), dice.below(60), dice.below(60));
            format!("migrations/{day}{time}_add_index.sql")
        }
        "version" => {
            let word = dice.pick(&["version", "Chrome", "upgrade to", "release"]);
            format!(
                "{word} {}.{}.{}.{}",
                dice.below(20),
                dice.below(30),
                dice.below(20),
                dice.below(20)
            )
        }
        "order number" => {
            let len = 9 + dice.below(9);
            format!(
                "{} {} was shipped",
                dice.pick(&["order", "invoice", "ticket"]),
                dice.digits(len)
            )
        }
        "private ip" => {
            let address = dice.pick(&["127.0.0.1", "10.1.2.3", "192.168.0.10", "0.0.0.0"]);
            format!("listening on {address}:{}", 1000 + dice.below(60000))
        }
        _ => format!(
            "total {}.{:02} of {},{}.00 EUR",
            dice.below(9999),
            dice.below(100),
            dice.below(999),
            dice.digits(3)
        ),
    }
}

const FILL_INS: &[&str] = &[
    "YOUR_API_KEY",
    "\"<secret>\"",
    "${SECRET}",
    "changeme",
    "\"xxxxxxxx\"",
    "os.environ[\"TOKEN\"]",
    "\"********\"",
];

const CODE: &[&str] = &[
    "let token = self.lexer.next_token()?;",
    "if password != confirm_password { return Err(Mismatch); }",
    "for (key, value) in map.iter_mut() {",
    "const MAX_TOKENS: usize = 4096;",
    "def get_secret(name: str, key: str = None) -> Secret:",
    "public static final String PASSWORD_FIELD = \"password\";",
    "auth = HTTPBasicAuth(user, get_password())",
    "assert response.headers[\"authorization\"] is None",
    "primary_key = Column(Integer, primary_key=True)",
    "secretKeyRef: {name: db-secret, key: password}",
];

/// The corpus of a seed.
pub(crate) fn documents(seed: u64, count: usize) -> Vec<Document> {
    let mut dice = Dice(seed);
    let tokens = marked();
    (0..count)
        .map(|_| {
            let mut document = Document { text: String::new(), labels: Vec::new() };
            for _ in 0..6 + dice.below(8) {
                let (line, label) = if dice.below(2) == 0 {
                    datum_line(&mut dice, &tokens)
                } else {
                    let class = dice.pick(DECOYS);
                    (decoy(&mut dice, class), None)
                };
                let base = document.text.len();
                document.labels.extend(label.map(|label| Label {
                    start: label.start + base,
                    end: label.end + base,
                    ..label
                }));
                document.text.push_str(&line);
                document.text.push('\n');
            }
            document
        })
        .collect()
}
