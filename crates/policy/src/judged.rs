//! The verdict of a replay: where nobody can be asked, the gate refuses what it would ask about; to
//! tests, explanations and backtests that still is an `ask`.

use tollgate_gate::{Code, Decision, Verdict};

/// The verdict that the policy gives, whether or not a person can be reached.
pub(crate) fn verdict(decision: &Decision) -> Verdict {
    let wanted_approval =
        decision.verdict == Verdict::Deny && decision.code == Some(Code::ApprovalRequired);
    let asked = match &decision.hook {
        None => true,
        Some(hook) => decision
            .votes
            .iter()
            .any(|cast| cast.hook == *hook && cast.vote_kind() == Some(Verdict::Ask)),
    };
    if wanted_approval && asked { Verdict::Ask } else { decision.verdict }
}
