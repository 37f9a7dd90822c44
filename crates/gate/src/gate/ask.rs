//! `ask`: a question to people in the middle of a decision.
//!
//! Nothing is reserved while it is open. After a yes the whole chain runs again; the yes counts only
//! if what it then asks is covered by what was agreed to, for the same call.

use super::Gate;
use super::decide::{Finding, call_key, resolve};
use crate::approval::{ApprovalAnswer, ApprovalReply, ApprovalRequest};
use crate::chain::Chain;
use crate::code::Code;
use crate::event::{Event, EventId, Name};
use crate::json::{Json, Object};
use crate::payload::Payload;
use crate::record::RecordKind;
use crate::ruleset::Ruleset;
use crate::scrub::scrub_json;
use crate::vote::Verdict;
use crate::wire;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// A yes, and to what it was given.
pub(super) struct Agreed {
    request: ApprovalRequest,
    by: BTreeSet<Name>,
}

impl Agreed {
    /// The approval that the yes was given under.
    pub(super) fn approval(&self) -> Name {
        Name::clone(&self.request.id)
    }

    /// What holds after the chain ran again: the yes counts only for the call and the people that
    /// were asked.
    pub(super) fn resolve(self, chain: &Chain<'_>, ruleset: &Ruleset, event: &Event) -> Finding {
        let joined = chain.joined();
        let finding = resolve(&joined, ruleset, event.kind());
        if finding.verdict != Verdict::Ask {
            return finding;
        }
        let approval = Some(self.request.id);
        let covered = joined.who().is_subset(&self.by)
            && call_digest(event, &chain.current) == self.request.call_digest;
        if !covered {
            let reason = "the call or who must agree to it changed while a person was asked";
            let refused = Finding::refuse(Code::ApprovalRequired, reason, finding.hook);
            return Finding { approval, ..refused };
        }
        Finding { hook: finding.hook, approval, ..Finding::allow() }
    }
}

impl Gate {
    /// Asks. Gives the yes, or what holds without one.
    pub(super) async fn ask(
        &self,
        ruleset: &Ruleset,
        event: &Event,
        chain: &Chain<'_>,
        asked: &Finding,
    ) -> Result<Agreed, Finding> {
        let Some(approver) = &self.approver else {
            return Err(unreachable_finding(asked));
        };
        let mut request = self.request(event, chain, asked);
        let ApprovalReply { approval, answer } = approver.ask(&request).await;
        request.id = approval;
        if self.record_answer(event, &request, &answer, ruleset).await.is_err() {
            if matches!(answer, ApprovalAnswer::Approved { .. }) {
                approver.release(&request.id, &request.call).await;
            }
            let reason = "the answer could not be recorded";
            return Err(Finding::refuse(Code::LedgerUnavailable, reason, asked.hook.clone()));
        }
        let refuse = |code: Code, reason: String| {
            let mut finding = Finding::refuse(code, reason, asked.hook.clone());
            finding.approval = Some(Name::clone(&request.id));
            Err(finding)
        };
        match answer {
            ApprovalAnswer::Approved { by } => Ok(Agreed { request, by }),
            ApprovalAnswer::Denied { by, reason } => {
                refuse(Code::ApprovalDenied, format!("`{by}` said no: {reason}"))
            }
            ApprovalAnswer::Expired => {
                let reason = format!("nobody answered in time: {}", request.reason);
                refuse(Code::ApprovalExpired, reason)
            }
            ApprovalAnswer::Cancelled => {
                refuse(Code::ApprovalCancelled, "the question was taken back".to_owned())
            }
            ApprovalAnswer::Pending => {
                let reason = format!(
                    "a person is asked to confirm (approval {}): {}; the same call may be made again \
                     once they have answered",
                    request.id, request.reason
                );
                refuse(Code::ApprovalRequired, reason).map_err(|mut finding: Finding| {
                    let remedy = format!("answer it: tollgate approvals approve {}", request.id);
                    if let Some(refusal) = &mut finding.refusal {
                        refusal.remedy = Some(remedy.into());
                    }
                    finding
                })
            }
            ApprovalAnswer::LeftToHost => Err(Finding {
                verdict: Verdict::Ask,
                hook: asked.hook.clone(),
                refusal: asked.refusal.clone(),
                approval: Some(Name::clone(&request.id)),
                ..Finding::allow()
            }),
            ApprovalAnswer::TooMany { waiting } => {
                let reason = format!(
                    "{}; it needs a person, and {waiting} earlier questions of this session are \
                     unanswered",
                    request.reason
                );
                Err(Finding::refuse(Code::ApprovalRequired, reason, asked.hook.clone()))
            }
            ApprovalAnswer::Failed { cause } => Err(failed_finding(asked, cause)),
            ApprovalAnswer::Unreachable => Err(unreachable_finding(asked)),
        }
    }

    /// What becomes of a yes that was given: a call that goes through by it uses it up now, or does not
    /// go through; for any other it is free again.
    pub(super) async fn close_asked(
        &self,
        event: &Event,
        given: Name,
        finding: Finding,
    ) -> Finding {
        let Some(approver) = &self.approver else { return finding };
        let key = call_key(event);
        if !finding.goes_through() || finding.approval.is_none() {
            approver.release(&given, &key).await;
            return finding;
        }
        let Err(cause) = approver.run(&given, &key).await else { return finding };
        // What was reserved for it is given back: it does not run.
        let _ = self.state.settle(&key, &Default::default(), self.clock.now()).await;
        let failed = failed_finding(&finding, cause);
        Finding { approval: finding.approval, ..failed }
    }

    /// A yes that was given out and whose call does not run after all.
    pub(super) async fn release_approval(&self, approval: &Option<Name>, event: &Event) {
        if let (Some(approver), Some(approval)) = (&self.approver, approval) {
            approver.release(approval, &call_key(event)).await;
        }
    }

    fn request(&self, event: &Event, chain: &Chain<'_>, asked: &Finding) -> ApprovalRequest {
        let joined = chain.joined();
        let part = chain.current.part().unwrap_or_default();
        ApprovalRequest {
            id: EventId::made(chain.now).to_string().into(),
            event_id: event.id.clone(),
            session: Arc::clone(&event.session),
            subject: event.payload.subject().unwrap_or_default().into(),
            shown: scrub_json(&*self.scrub, &part).unwrap_or_else(|| (*part).clone()),
            call_digest: call_digest(event, &chain.current),
            rewritten: chain.is_rewritten(),
            who: joined.who().clone(),
            hook: asked.hook.clone().unwrap_or_default(),
            reason: asked.refusal.as_ref().map(|r| Arc::clone(&r.reason)).unwrap_or_default(),
            expires_ms: joined.expires_ms(),
            wait_ms: joined.wait_ms(),
            payload: chain.current.clone(),
            call: call_key(event),
        }
    }

    async fn record_answer(
        &self,
        event: &Event,
        request: &ApprovalRequest,
        answer: &ApprovalAnswer,
        ruleset: &Ruleset,
    ) -> Result<(), crate::ledger::LedgerError> {
        let (state, by, reason) = match answer {
            ApprovalAnswer::Approved { by } => ("approved", by.iter().cloned().collect(), None),
            ApprovalAnswer::Denied { by, reason } => {
                ("denied", vec![Name::clone(by)], Some(&**reason))
            }
            ApprovalAnswer::Expired => ("expired", Vec::new(), None),
            ApprovalAnswer::Cancelled => ("cancelled", Vec::new(), None),
            ApprovalAnswer::Pending => ("pending", Vec::new(), None),
            ApprovalAnswer::LeftToHost => ("left_to_host", Vec::new(), None),
            ApprovalAnswer::Unreachable => ("unreachable", Vec::new(), None),
            ApprovalAnswer::TooMany { .. } => ("too_many", Vec::new(), None),
            ApprovalAnswer::Failed { cause } => ("failed", Vec::new(), Some(&**cause)),
        };
        let mut record = self.new_record(RecordKind::Approval);
        record.session = Some(self.scrubbed_session(&event.session));
        record.approval = Some(Name::clone(&request.id));
        record.decision = Some(self.scrubbed_id(&event.id));
        record.hook = Some(Name::clone(&request.hook)).filter(|hook| !hook.is_empty());
        record.policy = Some(Arc::clone(ruleset.digest()));
        let mut detail = Object::new();
        detail.insert("state", state);
        detail.insert("by", by.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        detail.insert("call", &*request.call_digest);
        let reason = reason.map(|text| self.scrub.scrub(None, text).unwrap_or_else(|| text.into()));
        detail.insert("reason", reason);
        record.detail = Some(detail.into());
        self.ledger.append(record, ruleset.settings().durability).await
    }
}

/// Approvals cannot be read or written: the model hears that, the person hears why.
fn failed_finding(asked: &Finding, cause: Arc<str>) -> Finding {
    let reason = "a person would have had to confirm this, and approvals are not available";
    let mut finding = Finding::refuse(Code::ApprovalRequired, reason, asked.hook.clone());
    if let Some(refusal) = &mut finding.refusal {
        refusal.remedy = Some(cause);
    }
    finding
}

fn unreachable_finding(asked: &Finding) -> Finding {
    let why = asked.refusal.as_ref().map(|refusal| &*refusal.reason).unwrap_or_default();
    let reason = format!("a person would have had to confirm this, and none can be reached: {why}");
    Finding::refuse(Code::ApprovalRequired, reason, asked.hook.clone())
}

/// The digest of the exact call: host, session, cwd, tool, server and every argument as it will run.
/// The id that a host gives to each call is left out: the same call made again has another one.
fn call_digest(event: &Event, payload: &Payload) -> Name {
    let session = &event.session;
    let mut call = Object::new();
    call.insert("host", session.host.as_deref());
    call.insert("session", &*session.id);
    call.insert("cwd", session.cwd.as_deref());
    let mut payload = wire::payload_json(payload, None);
    if let Json::Object(fields) = &mut payload {
        fields.remove("call_id");
    }
    call.insert("payload", payload);
    let text = Json::from(call).canonical_text();
    let mut digest = String::from("sha256:");
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest.into()
}
