//! The things that are no files: the words by which a policy names what is destroyed, escalated,
//! published, made to last or shown.
//!
//! One list a verb, and nothing outside of them: the program table does not load with another word,
//! so a policy that misspells one can be told. Refused: words that only one program knows.

use crate::effect::Verb;

const DESTROYS: &[&str] = &[
    "backups",
    "boot",
    "branch",
    "cloud",
    "cloud-object",
    "cluster",
    "cluster-object",
    "container",
    "containers",
    "crontab",
    "database",
    "dev-database",
    "disk",
    "environment",
    "firmware",
    "history",
    "history-file",
    "infrastructure-state",
    "keys",
    "logs",
    "machine",
    "mirror",
    "packages",
    "registry",
    "release",
    "remote-branch",
    "remote-object",
    "secrets",
    "shared-history",
    "shredded-file",
    "system",
    "tag",
    "test-database",
    "toolchain",
    "users",
    "volumes",
    "work",
];

const ESCALATES: &[&str] = &[
    "attack-tool",
    "camera",
    "capability",
    "clock",
    "cloud-rights",
    "cluster-rights",
    "database-rights",
    "docker-socket",
    "execution-policy",
    "firewall",
    "fleet",
    "global-install",
    "guards",
    "host-from-container",
    "infrastructure",
    "kernel",
    "kernel-module",
    "kernel-setting",
    "keys",
    "microphone",
    "mount",
    "namespace",
    "network",
    "network-capture",
    "owner-tree",
    "package-owners",
    "package-sources",
    "packages",
    "permissions",
    "raw-disk",
    "remote-settings",
    "root",
    "secrets",
    "setuid",
    "system",
    "system-configuration",
    "tls-checks",
    "trust-store",
    "users",
    "vault",
    "world-writable",
    "world-writable-tree",
];

const PERSISTS: &[&str] = &[
    "agent-tools",
    "at",
    "cron",
    "gh-alias",
    "git-config",
    "git-hooks",
    "registry-run",
    "service",
];

const PUBLISHES: &[&str] = &[
    "app-store",
    "asciinema",
    "chart",
    "clojars",
    "cocoapods",
    "conda",
    "crates.io",
    "function",
    "gist",
    "git-remote",
    "hackage",
    "hex",
    "huggingface",
    "image",
    "ipfs",
    "jsr",
    "maven",
    "merge",
    "npm",
    "nuget",
    "pypi",
    "release",
    "repository",
    "rubygems",
    "site",
    "workflow-run",
];

const EXPOSES: &[&str] = &[
    "app-config",
    "cloud-key",
    "cloud-secret",
    "cluster-secrets",
    "credential-store",
    "git-credentials",
    "keychain",
    "password-store",
    "private-key",
    "registry",
    "token",
    "vault-secret",
];

/// `input`: what is piped in; `computed`: a value that is only known when it runs; `data`: what a
/// request carries; `upload`: a file as a whole; `web-search`: the words of a search.
const SENDS: &[&str] = &["computed", "data", "input", "upload", "web-search"];

/// The things that `verb` can act on, in the order of the alphabet; none for verbs of paths, programs
/// and hosts.
pub const fn things(verb: Verb) -> &'static [&'static str] {
    match verb {
        Verb::Destroys => DESTROYS,
        Verb::Escalates => ESCALATES,
        Verb::Persists => PERSISTS,
        Verb::Publishes => PUBLISHES,
        Verb::Exposes => EXPOSES,
        Verb::Sends => SENDS,
        Verb::Listens => &["port"],
        Verb::Reads | Verb::Writes | Verb::Deletes | Verb::Runs | Verb::Contacts | Verb::Does => {
            &[]
        }
    }
}

/// Words in the names of databases that every run of the tests makes anew.
const FOR_TESTS: &[&str] =
    &["test", "tests", "testing", "tmp", "temp", "scratch", "ci", "e2e", "spec", "memory"];
/// Words in the names of databases that a developer fills, and can fill again.
const FOR_DEVELOPERS: &[&str] = &["dev", "devel", "development", "local", "sandbox", "playground"];
/// Words that end like those and mean something else.
const NOT_FOR_TESTS: &[&str] = &["latest", "contest", "attest", "protest", "greatest"];

/// What a destroyed database is by the words of the command: one for tests is made anew every day, one for
/// development can be, unless the command speaks of production as well. Without such a word it is `usual`.
pub(crate) fn database(command: &str, usual: &'static str) -> &'static str {
    if is_production(command) {
        return "database";
    }
    let command = command.to_ascii_lowercase().replace("/dev/", "/");
    let has = |is: &dyn Fn(&str) -> bool| {
        let mut words = command.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| is(word.trim_end_matches(|c: char| c.is_ascii_digit())))
    };
    let is_glued = |word: &str| {
        (word.ends_with("test") || word.starts_with("test")) && !NOT_FOR_TESTS.contains(&word)
    };
    if has(&|word| is_glued(word) || FOR_TESTS.contains(&word)) {
        "test-database"
    } else if has(&|word| FOR_DEVELOPERS.contains(&word)) {
        "dev-database"
    } else {
        usual
    }
}

/// Whether a command speaks of what customers use.
pub(crate) fn is_production(command: &str) -> bool {
    let mut words = command.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| {
        ["prod", "production", "live"].iter().any(|known| word.eq_ignore_ascii_case(known))
    })
}

/// Whether `thing` is one that `verb` can act on. The history of a branch has the branch's name in it.
pub(crate) fn is_thing(verb: Verb, thing: &str) -> bool {
    things(verb).contains(&thing)
        || (verb == Verb::Destroys && thing.starts_with(crate::program::git::HISTORY_OF))
}
