//! What was found: the words of a finding and of its rule.
//!
//! A finding never holds the datum itself, only where it stands and a preview that shows no more than
//! a mask may. All enums are closed, so that a consumer that forgets one does not compile.

use std::fmt;
use std::ops::Range;

/// What sort of datum was found. The wire names are the `snake_case` of [`Kind::name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A machine's credential: key, token, webhook address.
    Secret,
    /// A private key in text form (PEM and the like), body included.
    PrivateKey,
    /// A password, also inside a URL or connection string.
    Password,
    /// An e-mail address.
    Email,
    /// A telephone number.
    Phone,
    /// A payment card number (ISO/IEC 7812).
    Card,
    /// An international bank account number (ISO 13616).
    Iban,
    /// A number by which a state knows a person.
    NationalId,
    /// A machine-readable passport line (ICAO Doc 9303).
    Passport,
    /// An IPv4 or IPv6 address.
    IpAddress,
    /// A MAC address.
    MacAddress,
    /// The address of a crypto-currency account.
    CryptoAddress,
    /// A date of birth.
    BirthDate,
    /// A postal address.
    Address,
    /// The name of a person.
    Person,
    /// The name of an organization (only by a model).
    Organization,
    /// The name of a place (only by a model).
    Place,
    /// What a custom rule of the policy finds.
    Custom,
}

/// The groups that a policy asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Secrets, private keys and passwords.
    Secrets,
    /// Personal data that carries its own proof (format, check digit, context).
    Pii,
    /// Names of persons: found by cue and list, or by a model; less sure than the rest.
    Names,
    /// Custom rules.
    Custom,
}

impl Kind {
    /// Every kind, in the order of declaration.
    pub const ALL: [Self; 18] = [
        Self::Secret,
        Self::PrivateKey,
        Self::Password,
        Self::Email,
        Self::Phone,
        Self::Card,
        Self::Iban,
        Self::NationalId,
        Self::Passport,
        Self::IpAddress,
        Self::MacAddress,
        Self::CryptoAddress,
        Self::BirthDate,
        Self::Address,
        Self::Person,
        Self::Organization,
        Self::Place,
        Self::Custom,
    ];

    /// The name in policies and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::PrivateKey => "private_key",
            Self::Password => "password",
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Card => "card",
            Self::Iban => "iban",
            Self::NationalId => "national_id",
            Self::Passport => "passport",
            Self::IpAddress => "ip_address",
            Self::MacAddress => "mac_address",
            Self::CryptoAddress => "crypto_address",
            Self::BirthDate => "birth_date",
            Self::Address => "address",
            Self::Person => "person",
            Self::Organization => "organization",
            Self::Place => "place",
            Self::Custom => "custom",
        }
    }

    /// The word inside a label mask: `EMAIL` in `[EMAIL]`.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Secret => "SECRET",
            Self::PrivateKey => "PRIVATE_KEY",
            Self::Password => "PASSWORD",
            Self::Email => "EMAIL",
            Self::Phone => "PHONE",
            Self::Card => "CARD",
            Self::Iban => "IBAN",
            Self::NationalId => "NATIONAL_ID",
            Self::Passport => "PASSPORT",
            Self::IpAddress => "IP_ADDRESS",
            Self::MacAddress => "MAC_ADDRESS",
            Self::CryptoAddress => "CRYPTO_ADDRESS",
            Self::BirthDate => "BIRTH_DATE",
            Self::Address => "ADDRESS",
            Self::Person => "PERSON",
            Self::Organization => "ORGANIZATION",
            Self::Place => "PLACE",
            Self::Custom => "REDACTED",
        }
    }

    /// The group it belongs to.
    #[must_use]
    pub const fn category(self) -> Category {
        match self {
            Self::Secret | Self::PrivateKey | Self::Password => Category::Secrets,
            Self::Email
            | Self::Phone
            | Self::Card
            | Self::Iban
            | Self::NationalId
            | Self::Passport
            | Self::IpAddress
            | Self::MacAddress
            | Self::CryptoAddress
            | Self::BirthDate
            | Self::Address => Category::Pii,
            Self::Person | Self::Organization | Self::Place => Category::Names,
            Self::Custom => Category::Custom,
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How bad it is when the datum gets out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Hardly harmful alone.
    Low,
    /// Harmful to one person or account.
    Medium,
    /// Opens an account or service.
    High,
    /// Opens money, an organisation or an infrastructure.
    Critical,
}

impl Severity {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a finding takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The datum is masked.
    Active,
    /// The rule is on trial (`dry_run`, or outside its rollout): counted, not masked.
    DryRun,
}

/// One secret or personal datum, and where it stands.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// First byte, in the text as it was given (before any folding or decoding).
    pub start: usize,
    /// One past the last byte, in the text as it was given.
    pub end: usize,
    /// Line on which it starts, counted from 1.
    pub line: usize,
    /// Id of the rule, such as `github-pat`.
    pub rule: RuleId,
    /// What sort of datum.
    pub kind: Kind,
    /// How bad.
    pub severity: Severity,
    /// How sure, from 0 to 1.
    pub score: f32,
    /// Whether it takes effect.
    pub standing: Standing,
    /// A preview that is safe to show: at most a quarter of a secret, nothing of a short one.
    pub masked: String,
}

impl Finding {
    /// The bytes that hold the datum.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Id of a rule: built in, or named by the policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(std::borrow::Cow<'static, str>);

impl RuleId {
    pub(crate) const fn fixed(id: &'static str) -> Self {
        Self(std::borrow::Cow::Borrowed(id))
    }

    pub(crate) fn named(id: &str) -> Self {
        Self(std::borrow::Cow::Owned(id.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<&str> for RuleId {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}
