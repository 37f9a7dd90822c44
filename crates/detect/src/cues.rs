//! The words that lead to rules: a text is searched for all of them at once (`prefilter.rs`), and only what one of
//! them leads to is tried.
//!
//! The list is made when this is compiled, and so is the table of those of secrets alone, which records are
//! scrubbed by: a process that lives for one call finds it ready.

use crate::finding::Category;
use crate::rule::Form;
use crate::rules::{COUNT, Coded, RULES};
use crate::value::Strength;
use crate::{calls, devices, keys, names, pii, secrets};

/// What a keyword leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cue {
    Token(usize),
    Near(usize),
    Assign(Strength),
    Block,
    Bearer,
    Basic,
    Command,
    Cookie,
    Marked,
    Birth,
    Address,
    Encoded,
    Statement,
    Device,
    Pgpass,
    Digest,
    Oracle,
    Call,
    Piped,
    /// A name that may be that of a column.
    Column,
    Custom(usize),
    NameCued,
    NameListed,
    ZhCued,
    ZhTitle,
    ZhRight,
}

/// Which rules have to be on for a word to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// This one.
    Rule(usize),
    /// One of those that read what a name is assigned.
    Assigned,
    /// None: what it leads to is no rule.
    Always,
}

const ASSIGNED: [Coded; 3] =
    [Coded::PasswordAssignment, Coded::SecretAssignment, Coded::KeyAssignment];

impl Gate {
    pub(crate) fn is_open(self, on: impl Fn(usize) -> bool) -> bool {
        match self {
            Gate::Rule(index) => on(index),
            Gate::Assigned => ASSIGNED.into_iter().any(|coded| on(coded.index())),
            Gate::Always => true,
        }
    }

    #[expect(clippy::indexing_slicing, reason = "checked when this is compiled")]
    const fn is_of_secrets(self) -> bool {
        match self {
            Gate::Rule(index) => matches!(RULES[index].kind.category(), Category::Secrets),
            Gate::Assigned | Gate::Always => true,
        }
    }
}

/// A word that leads to something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    pub(crate) text: &'static str,
    /// How much of it is the keyword; the rest is what may stand behind.
    pub(crate) len: usize,
    /// Whether the case of its letters matters.
    pub(crate) exact: bool,
    pub(crate) cue: Cue,
    pub(crate) gate: Gate,
}

/// Every word.
pub(crate) static ALL: [Word; list::<0>(false).count] = list(false).words;

/// The words of secrets.
pub(crate) static SECRETS: [Word; list::<0>(true).count] = list(true).words;

struct List<const N: usize> {
    words: [Word; N],
    /// How many there are, also where there is no room for them.
    count: usize,
    secrets_only: bool,
}

impl<const N: usize> List<N> {
    #[expect(clippy::indexing_slicing, reason = "checked when this is compiled")]
    const fn push(&mut self, text: &'static str, len: usize, exact: bool, cue: Cue, gate: Gate) {
        if self.secrets_only && !gate.is_of_secrets() {
            return;
        }
        if self.count < N {
            self.words[self.count] = Word { text, len, exact, cue, gate };
        }
        self.count += 1;
    }

    #[expect(clippy::indexing_slicing, reason = "checked when this is compiled")]
    const fn push_all(&mut self, words: &[&'static str], exact: bool, cue: Cue, gate: Gate) {
        let mut at = 0;
        while at < words.len() {
            self.push(words[at], words[at].len(), exact, cue, gate);
            at += 1;
        }
    }
}

#[expect(clippy::indexing_slicing, reason = "checked when this is compiled")]
const fn list<const N: usize>(secrets_only: bool) -> List<N> {
    let empty = Word { text: "", len: 0, exact: true, cue: Cue::Block, gate: Gate::Always };
    let mut list = List { words: [empty; N], count: 0, secrets_only };
    let mut index = 0;
    while index < COUNT {
        let (words, gate) = (RULES[index].keywords, Gate::Rule(index));
        match RULES[index].form {
            Form::Token => list.push_all(words, true, Cue::Token(index), gate),
            Form::Near => list.push_all(words, false, Cue::Near(index), gate),
            Form::Code => {}
        }
        index += 1;
    }
    let mut at = 0;
    while at < keys::KEYWORDS.len() {
        let (keyword, strength) = keys::KEYWORDS[at];
        // The prefilter knows no word of two bytes, which is found with what may stand behind it.
        let words: &[&'static str] = if keyword.len() > 2 { &[keyword] } else { keys::PW };
        let mut form = 0;
        while form < words.len() {
            list.push(words[form], keyword.len(), false, Cue::Assign(strength), Gate::Assigned);
            form += 1;
        }
        at += 1;
    }
    let mut at = 0;
    while at < GROUPS.len() {
        let (coded, words, exact, cue) = GROUPS[at];
        list.push_all(words, exact, cue, Gate::Rule(coded.index()));
        at += 1;
    }
    list.push_all(&["base64", "b64", "atob"], false, Cue::Encoded, Gate::Always);
    list.push_all(
        &["create table", "insert into", "replace into"],
        false,
        Cue::Statement,
        Gate::Always,
    );
    list
}

/// The words of what code reads.
const GROUPS: &[(Coded, &[&str], bool, Cue)] = &[
    (Coded::PrivateKey, &["-----BEGIN ", "---- BEGIN "], true, Cue::Block),
    (Coded::BearerHeader, &["bearer "], false, Cue::Bearer),
    (Coded::BasicHeader, &["basic "], false, Cue::Basic),
    (Coded::CommandPassword, secrets::COMMAND_FLAGS, true, Cue::Command),
    (Coded::DeviceSecret, devices::DEVICE_CUES, true, Cue::Device),
    (Coded::PgpassLine, devices::PGPASS_CUES, false, Cue::Pgpass),
    (Coded::DigestHeader, devices::DIGEST_CUES, true, Cue::Digest),
    (Coded::UrlPassword, &["jdbc:oracle:thin:"], true, Cue::Oracle),
    (Coded::CommandPassword, secrets::PIPE_CUES, true, Cue::Piped),
    (Coded::PasswordAssignment, calls::CALL_CUES, true, Cue::Call),
    (Coded::CookieHeader, &["cookie: "], false, Cue::Cookie),
    (Coded::MarkedLine, &["SECRET", "机密", "绝密"], true, Cue::Marked),
    (Coded::BirthDate, BIRTH, false, Cue::Birth),
    (Coded::PostalAddress, ADDRESS, false, Cue::Address),
    (Coded::PhoneNational, pii::PERSONAL, false, Cue::Column),
    (Coded::PersonCued, names::WESTERN_CUES, true, Cue::NameCued),
    (Coded::PersonListed, names::GIVEN, true, Cue::NameListed),
    (Coded::PersonZh, names::ZH_CUES, true, Cue::ZhCued),
    (Coded::PersonZh, names::ZH_TITLES, true, Cue::ZhTitle),
    (Coded::PersonZh, names::ZH_RIGHTS, true, Cue::ZhRight),
];

const BIRTH: &[&str] = &[
    "date of birth",
    "date_of_birth",
    "dateOfBirth",
    "birth date",
    "birth_date",
    "birthdate",
    "birthday",
    "bday:",
    "born on",
    "d.o.b",
    "DOB:",
    "dob\"",
    "dob=",
    "DOB ",
    "出生日期",
    "出生年月",
    "生日",
    "生年月日",
    "geburtsdatum",
    "geboren am",
    "date de naissance",
    "fecha de nacimiento",
    "data di nascita",
    "생년월일",
];
const ADDRESS: &[&str] = &[
    "address",
    "addr:",
    "住址",
    "地址",
    "住所",
    "住在",
    "家住",
    "adresse",
    "anschrift",
    "dirección",
    "direccion",
    "domicilio",
    "endereço",
    "indirizzo",
    "адрес",
    "adres:",
    "adres ",
    "wohnort",
    "ship to",
    "deliver to",
    "lives at",
    "live at",
    "living at",
    "reside at",
    "resides at",
    "residing at",
    "wohnhaft in",
    "お届け先",
    "주소",
];
