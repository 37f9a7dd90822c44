//! The vault in memory keeps the contract; what goes back into a call stands in nothing that is kept.

use crate::rig::{Rig, call, hook, judge, running, tool_result};
use crate::vault_contract::LAWS;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tollgate_gate::{
    EventKind, Hook, Kept, MemoryVault, Opinion, Performed, Refusal, Reveal, Rewriting, Roles,
    ToolResult, Vault, VaultOwner, Vote,
};

const MAIL: &str = "jane@corp.io";
const OWNER: VaultOwner<'_> = VaultOwner { tenant: "", session: "s1" };

#[test]
fn the_vault_in_memory_keeps_the_contract() {
    for (law, holds) in LAWS {
        println!("{law}");
        let vault: Arc<dyn Vault> = Arc::new(MemoryVault::default());
        holds(&|| Arc::clone(&vault));
    }
}

/// A vault with one datum.
fn vault() -> (Arc<dyn Vault>, Kept) {
    let vault: Arc<dyn Vault> = Arc::new(MemoryVault::default());
    vault.keep(OWNER, "EMAIL", MAIL).unwrap();
    let kept = vault.kept(OWNER).unwrap()[0].clone();
    (vault, kept)
}

fn opener(kept: &Kept) -> Hook {
    let kept = kept.clone();
    hook("opener", EventKind::PreTool, Roles::REWRITE, move |_| {
        let reveal = Reveal {
            path: vec!["to".into()],
            placeholder: kept.placeholder.clone(),
            value: kept.value.clone(),
        };
        Ok(Opinion { reveals: vec![reveal], ..Opinion::default() })
    })
}

#[test]
fn what_runs_has_the_datum_and_what_is_judged_recorded_and_told_has_not() {
    let (vault, kept) = vault();
    let seen = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&seen);
    let judged = judge("judge", move |view| {
        assert!(!view.payload.part().unwrap().text().contains(MAIL));
        count.fetch_add(1, Ordering::Relaxed);
        Opinion::none()
    });
    let rig = Rig::with([judged, opener(&kept)], |builder| builder.vault(vault));
    let event = || call("send", &format!(r#"{{"to":"{}"}}"#, kept.placeholder));
    let ruling = rig.decide(event());
    assert!(running(&ruling).unwrap().contains(MAIL));
    assert!(!format!("{:?}", ruling.decision).contains(MAIL));
    assert_eq!(seen.load(Ordering::Relaxed), 2, "a judge that looked before votes again");
    drop(ruling);

    let back = ToolResult::success(format!("sent to {MAIL}"));
    let settled = rig.run_with(event(), Performed::Tool(back));
    let told = tool_result(&settled).content.text();
    assert!(told.contains(&*kept.placeholder) && !told.contains(MAIL), "{told}");
    assert!(!rig.book().contains(MAIL));
}

#[test]
fn a_refused_call_and_a_host_that_cannot_change_a_call_get_nothing() {
    let (vault, kept) = vault();
    let deny = judge("deny", |_| Opinion::vote(Vote::Deny(Refusal::because("no"))));
    let text = format!(r#"{{"to":"{}"}}"#, kept.placeholder);
    let rig = Rig::with([opener(&kept), deny], |builder| builder.vault(Arc::clone(&vault)));
    let ruling = rig.decide(call("send", &text));
    assert_eq!(running(&ruling), None);
    assert_eq!(ruling.decision.runs(), &ruling.decision.payload);

    let rig = Rig::with([opener(&kept)], |builder| builder.vault(vault));
    let mut event = call("send", &text);
    event.bounds.rewriting = Rewriting::Nothing;
    assert_eq!(running(&rig.decide(event)), None);
}
