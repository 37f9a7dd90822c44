//! What every vault keeps to: one list of laws that each is put through. Crates with a vault of their own
//! include this file by its path.

use std::sync::Arc;
use tollgate_gate::{Vault, VaultOwner};

/// Opens the vault: always the same one, as processes that come and go would.
pub(crate) type Open<'a> = &'a dyn Fn() -> Arc<dyn Vault>;

/// A law in words, and its trial.
type Law = (&'static str, fn(Open<'_>));

/// The laws, each to be tried on a vault of its own.
pub(crate) const LAWS: &[Law] = &[
    ("what was kept is there, in the order in which it came", kept_in_order),
    ("one datum has one placeholder, which tells nothing of it", one_placeholder),
    ("another session and another tenant have nothing of it", owners_are_apart),
    ("any text can be kept", any_text),
    ("what comes at the same time is all kept", at_once),
];

const ALICE: VaultOwner<'_> = VaultOwner { tenant: "acme", session: "s1" };

fn values(vault: &dyn Vault, owner: VaultOwner<'_>) -> Vec<(String, String)> {
    let kept = vault.kept(owner).unwrap();
    kept.iter().map(|one| (one.placeholder.to_string(), one.value.0.to_string())).collect()
}

fn kept_in_order(open: Open<'_>) {
    assert!(values(&*open(), ALICE).is_empty());
    let first = open().keep(ALICE, "EMAIL", "a@x.io").unwrap().to_string();
    let second = open().keep(ALICE, "PHONE", "13812345678").unwrap().to_string();
    assert_eq!(
        values(&*open(), ALICE),
        [(first, "a@x.io".to_owned()), (second, "13812345678".to_owned())]
    );
}

fn one_placeholder(open: Open<'_>) {
    let first = open().keep(ALICE, "EMAIL", "a@x.io").unwrap();
    assert_eq!(open().keep(ALICE, "EMAIL", "a@x.io").unwrap(), first);
    let other = open().keep(ALICE, "EMAIL", "b@x.io").unwrap();
    assert_ne!(first, other);
    assert!(first.starts_with("[EMAIL:v") && first.ends_with(']') && !first.contains("a@x"));
}

fn owners_are_apart(open: Open<'_>) {
    let first = open().keep(ALICE, "EMAIL", "a@x.io").unwrap();
    for other in [
        VaultOwner { session: "s2", ..ALICE },
        VaultOwner { tenant: "other", ..ALICE },
        VaultOwner { tenant: "acmes", session: "1" },
        VaultOwner { tenant: "", session: "acmes1" },
    ] {
        assert!(values(&*open(), other).is_empty(), "{other:?}");
        assert_ne!(open().keep(other, "EMAIL", "a@x.io").unwrap(), first, "{other:?}");
    }
}

fn any_text(open: Open<'_>) {
    for (number, value) in ["", "\u{0}\u{7f}", "\"\\\n", "张三😀", "[EMAIL:v0]"].iter().enumerate()
    {
        open().keep(ALICE, "X", value).unwrap();
        let kept = values(&*open(), ALICE);
        assert_eq!(kept.get(number).map(|(_, value)| value.as_str()), Some(*value));
    }
}

fn at_once(open: Open<'_>) {
    let vaults: Vec<Arc<dyn Vault>> = (0..4).map(|_| open()).collect();
    std::thread::scope(|scope| {
        for (thread, vault) in vaults.iter().enumerate() {
            scope.spawn(move || {
                for number in 0..10 {
                    vault.keep(ALICE, "X", &format!("{thread} {number}")).unwrap();
                    vault.keep(ALICE, "X", "of all").unwrap();
                }
            });
        }
    });
    assert_eq!(values(&*open(), ALICE).len(), 41);
}
