//! Asking people by way of the disk: the question is kept, somebody answers it with `tollgate
//! approvals`, and the call passes when it comes again (or, where the policy lets it wait, at once).
//!
//! What stands on the disk was written by somebody who could write there, so a yes counts only by the
//! rules of the policy in force: it was signed by those who may answer, where the policy names keys.

use crate::knowledge;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tollgate_gate::{
    ApprovalAnswer, ApprovalReply, ApprovalRequest, Approver, CallKey, Clock, Name, Scrub, Soon,
};
use tollgate_policy::{AnalysedEffects, PolicySettings, ToolFacts};
use tollgate_store::approvals::{Answer, Stands};
use tollgate_store::{Approval, ApprovalState, Approvals, DiskState, PublicKey};

/// How long a question stands when the policy does not say, in milliseconds.
const EXPIRES_MS: u64 = 15 * 60 * 1_000;
/// Longest time that a call waits for an answer, in milliseconds: below what agent programs wait for
/// their hooks. An adapter that knows its host's time sets another.
pub const WAIT_MS_MAX: u64 = 50_000;
/// Unanswered questions of one tree of sessions; with more, what asks is refused.
pub const WAITING_MAX: usize = 8;
/// How often a waiting call looks for its answer.
const LOOK: Duration = Duration::from_millis(200);
/// Most lines of effects that are kept of a question.
const EFFECTS_MAX: usize = 200;

/// Whose answer counts, by the policy in force.
#[derive(Debug, Clone, Default)]
pub struct AnswerRules {
    keys: BTreeMap<String, PublicKey>,
    groups: BTreeMap<String, Vec<String>>,
}

/// What the answers to a question come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Not all who must have said yes.
    Open,
    /// All who must have, and in whose names.
    Yes(BTreeSet<Name>),
    /// Somebody who may said no.
    No(Answer),
}

impl AnswerRules {
    /// The rules of these settings.
    pub fn of(settings: &PolicySettings) -> AnswerRules {
        let key = |(name, key): (&String, &String)| Some((name.clone(), PublicKey::parse(key)?));
        AnswerRules {
            keys: settings.approvers.iter().filter_map(key).collect(),
            groups: settings.own_groups.clone(),
        }
    }

    /// Whether answers are to be signed: the policy names keys.
    pub fn wants_signatures(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The key of somebody who signs.
    pub fn key_of(&self, user: &str) -> Option<&PublicKey> {
        self.keys.get(user)
    }

    /// Whether somebody may answer a question that is put to these.
    pub fn may_answer(&self, user: &str, who: &[Name]) -> bool {
        let has_key = !self.wants_signatures() || self.keys.contains_key(user);
        has_key && (who.is_empty() || who.iter().any(|who| self.speaks_for(user, who)))
    }

    fn speaks_for(&self, user: &str, who: &str) -> bool {
        let in_group = |members: &Vec<String>| members.iter().any(|member| member == user);
        user == who || self.groups.get(who).is_some_and(in_group)
    }

    /// Whether an answer counts: its person may give it, and has signed it where that is wanted.
    fn counts(&self, approval: &Approval, answer: &Answer) -> bool {
        let is_signed = match self.keys.get(&*answer.by) {
            Some(key) => answer.is_signed_by(key, approval),
            None => !self.wants_signatures(),
        };
        is_signed && self.may_answer(&answer.by, &approval.who)
    }

    /// What the answers to a question come to.
    pub fn outcome(&self, approval: &Approval) -> Outcome {
        let counting = || approval.answers.iter().filter(|answer| self.counts(approval, answer));
        if let Some(no) = counting().find(|answer| !answer.yes) {
            return Outcome::No(no.clone());
        }
        let said_yes: Vec<&Answer> = counting().collect();
        let has_spoken = |who: &&Name| said_yes.iter().any(|yes| self.speaks_for(&yes.by, who));
        if said_yes.is_empty() || !approval.who.iter().all(|who| has_spoken(&who)) {
            return Outcome::Open;
        }
        let people = said_yes.iter().map(|answer| Name::clone(&answer.by));
        Outcome::Yes(people.chain(approval.who.iter().cloned()).collect())
    }

    /// Where a question stands with these answers.
    pub fn state(&self, approval: &Approval) -> ApprovalState {
        match self.outcome(approval) {
            Outcome::Open => ApprovalState::Pending,
            Outcome::Yes(_) => ApprovalState::Approved,
            Outcome::No(_) => ApprovalState::Denied,
        }
    }
}

/// Asks people by way of the disk.
pub struct DiskApprover {
    approvals: Approvals,
    state: Arc<DiskState>,
    clock: Arc<dyn Clock>,
    scrub: Arc<dyn Scrub>,
    policy: RwLock<Arc<Policy>>,
    wait_ms_max: u64,
    /// The approvals that calls wait for, by the request of each.
    waiting: Mutex<HashMap<Name, Name>>,
}

/// A call that waits, until it does not.
struct Waits<'a> {
    approver: &'a DiskApprover,
    request: &'a Name,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.approver.waiting().remove(self.request);
    }
}

/// What of the policy in force matters here.
struct Policy {
    rules: AnswerRules,
    effects: AnalysedEffects,
}

impl Policy {
    fn of(settings: &PolicySettings, facts: &ToolFacts) -> Policy {
        Policy { rules: AnswerRules::of(settings), effects: knowledge::analysed(facts) }
    }
}

impl DiskApprover {
    /// Asks by way of this folder of state, by the rules of these settings.
    pub(crate) fn new(
        folder: &Path,
        state: Arc<DiskState>,
        clock: Arc<dyn Clock>,
        scrub: Arc<dyn Scrub>,
        settings: &PolicySettings,
        wait_ms_max: u64,
    ) -> DiskApprover {
        let policy = RwLock::new(Arc::new(Policy::of(settings, &settings.tools)));
        let (approvals, waiting) = (Approvals::new(folder), Mutex::default());
        DiskApprover { approvals, state, clock, scrub, policy, wait_ms_max, waiting }
    }

    /// Goes by the rules of another policy from now on.
    pub(crate) fn go_by(&self, settings: &PolicySettings) {
        let policy = Arc::new(Policy::of(settings, &settings.tools));
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Name, Name>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a question back that a call waits for, unless another call waits for it too.
    fn take_back_now(&self, request: &ApprovalRequest) -> ApprovalReply {
        let approval = self.waiting().remove(&request.id);
        let Some(approval) = approval else {
            return ApprovalReply::to(request, ApprovalAnswer::Cancelled);
        };
        if !self.waiting().values().any(|other| *other == approval) {
            // One that was answered meanwhile stays as it is: the call does not run by it. That it was
            // taken back is told here, so a later call like it asks anew.
            let _ = self.approvals.cancel(&approval, self.clock.now());
            let _ = self.approvals.tell(&approval);
        }
        ApprovalReply { approval, answer: ApprovalAnswer::Cancelled }
    }

    async fn ask_now(&self, request: &ApprovalRequest) -> Result<ApprovalReply, Arc<str>> {
        let policy = self.policy();
        let question = self.question(request, &policy)?;
        let now = self.clock.now();
        let wait = request.wait_ms.map(|wait_ms| now.plus_millis(wait_ms.min(self.wait_ms_max)));
        // A session that is not known has no past in which somebody could have said yes.
        let root = self.state.session(&question.root).map_err(said)?;
        let since = root.map_or(now, |root| root.answers_since);
        let stands = self.approvals.put(&question, WAITING_MAX, since, now).map_err(said)?;
        let mut asked = match stands {
            Stands::TooMany(waiting) => {
                return Ok(ApprovalReply::to(request, ApprovalAnswer::TooMany { waiting }));
            }
            Stands::Expired(past) => return Ok(reply(&past, ApprovalAnswer::Expired)),
            Stands::Cancelled(past) => return Ok(reply(&past, ApprovalAnswer::Cancelled)),
            Stands::Waits(asked) | Stands::Answered(asked) => asked,
        };
        self.waiting().insert(Name::clone(&request.id), Name::clone(&asked.id));
        let _waits = Waits { approver: self, request: &request.id };
        loop {
            if let Some(answer) = self.answer_of(&asked, &request.call, &policy.rules)? {
                if matches!(answer, ApprovalAnswer::Expired | ApprovalAnswer::Cancelled) {
                    self.approvals.tell(&asked.id).map_err(said)?;
                }
                return Ok(reply(&asked, answer));
            }
            if wait.is_none_or(|until| self.clock.now() >= until) {
                return Ok(reply(&asked, ApprovalAnswer::Pending));
            }
            self.clock.sleep(LOOK).await;
            let again = self.approvals.show(&asked.id, self.clock.now()).map_err(said)?;
            asked = again.ok_or("the question is gone")?;
        }
    }

    /// The answer, if there is one; a yes is given out with it.
    fn answer_of(
        &self,
        asked: &Approval,
        call: &CallKey,
        rules: &AnswerRules,
    ) -> Result<Option<ApprovalAnswer>, Arc<str>> {
        Ok(Some(match asked.state {
            ApprovalState::Pending => return Ok(None),
            ApprovalState::Expired => ApprovalAnswer::Expired,
            ApprovalState::Cancelled => ApprovalAnswer::Cancelled,
            ApprovalState::Denied => denied(asked, rules),
            ApprovalState::Claimed | ApprovalState::Used | ApprovalState::Settled => {
                return Err("the same call is being let through already".into());
            }
            ApprovalState::Approved => match rules.outcome(asked) {
                Outcome::No(_) => denied(asked, rules),
                Outcome::Open => {
                    let id = &asked.id;
                    let cause = "by the policy in force these answers do not count";
                    return Err(
                        format!("approval {id}: {cause}; cancel it, or answer it anew").into()
                    );
                }
                Outcome::Yes(by) => {
                    let claim = || self.approvals.claim(&asked.id, call, self.clock.now());
                    let given = asked.is_for_session() || claim().map_err(said)?;
                    if !given {
                        return Err("the same call is being let through already".into());
                    }
                    ApprovalAnswer::Approved { by }
                }
            },
        }))
    }

    fn question(&self, request: &ApprovalRequest, policy: &Policy) -> Result<Approval, Arc<str>> {
        let (session, now) = (&request.session, self.clock.now());
        let (effects, effects_digest) = self.effects(request, &policy.effects);
        let known = self.state.session(&session.id).map_err(said)?;
        let expires_ms = request.expires_ms.unwrap_or(EXPIRES_MS);
        Ok(Approval {
            id: Name::clone(&request.id),
            state: ApprovalState::Pending,
            hook: Name::clone(&request.hook),
            call_digest: Name::clone(&request.call_digest),
            effects_digest,
            session: Name::clone(&session.id),
            root: known.map_or_else(|| Name::clone(&session.id), |known| known.root),
            user: session.user.clone(),
            agent: session.agent.clone(),
            host: session.host.clone(),
            cwd: session.cwd.clone(),
            subject: Name::clone(&request.subject),
            reason: self.scrubbed(&request.reason),
            shown: request.shown.text(),
            effects,
            who: request.who.iter().cloned().collect(),
            asked_at: now,
            expires_at: now.plus_millis(expires_ms),
            changed_at: now,
            came: None,
            answers: Vec::new(),
        })
    }

    /// What the call would do, scrubbed, and the digest of that by which a standing answer holds. Where
    /// something about it is not known, the digest is of the exact arguments as well.
    fn effects(&self, request: &ApprovalRequest, source: &AnalysedEffects) -> (Vec<String>, Name) {
        let (lines, all_known) = match request.payload.tool_call() {
            Some(call) => source.lines(call, &request.session),
            None => (vec![format!("calls the model {}", request.subject)], false),
        };
        let mut hasher = Sha256::new();
        hasher.update(format!("{}:{}\n", request.subject.len(), request.subject));
        for line in &lines {
            hasher.update(format!("{}:{line}\n", line.len()));
        }
        if !all_known {
            let part = request.payload.part().unwrap_or_default();
            hasher.update(part.canonical_text());
        }
        let mut digest = String::from("sha256:");
        for byte in hasher.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(digest, "{byte:02x}");
        }
        let more = lines.len().saturating_sub(EFFECTS_MAX);
        let mut shown: Vec<String> =
            lines.iter().take(EFFECTS_MAX).map(|line| self.scrubbed(line)).collect();
        if more > 0 {
            shown.push(format!("and {more} more"));
        }
        (shown, digest.into())
    }

    fn scrubbed(&self, text: &str) -> String {
        self.scrub.scrub(None, text).unwrap_or_else(|| text.to_owned())
    }
}

fn denied(asked: &Approval, rules: &AnswerRules) -> ApprovalAnswer {
    let no = match rules.outcome(asked) {
        Outcome::No(no) => Some(no),
        Outcome::Open | Outcome::Yes(_) => asked.answers.iter().find(|answer| !answer.yes).cloned(),
    };
    match no {
        Some(no) => ApprovalAnswer::Denied { by: no.by, reason: no.reason.into() },
        None => ApprovalAnswer::Denied { by: "nobody known".into(), reason: "".into() },
    }
}

fn reply(approval: &Approval, answer: ApprovalAnswer) -> ApprovalReply {
    ApprovalReply { approval: Name::clone(&approval.id), answer }
}

fn said(error: impl std::fmt::Display) -> Arc<str> {
    error.to_string().into()
}

impl Approver for DiskApprover {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        Soon::later(async move {
            let asked = self.ask_now(request).await;
            let failed = |cause| ApprovalReply::to(request, ApprovalAnswer::Failed { cause });
            asked.unwrap_or_else(failed)
        })
    }

    fn take_back<'a>(&'a self, request: &'a ApprovalRequest) -> Soon<'a, ApprovalReply> {
        Soon::now(self.take_back_now(request))
    }

    fn run<'a>(&'a self, approval: &'a Name, call: &'a CallKey) -> Soon<'a, Result<(), Arc<str>>> {
        let run = || {
            // Noted first: a note without a call costs a look, the reverse would leave it unsettled.
            self.state.note_approved(call).map_err(said)?;
            match self.approvals.run(approval, call, self.clock.now()).map_err(said)? {
                true => Ok(()),
                false => Err("the yes was used by another call".into()),
            }
        };
        Soon::now(run())
    }

    fn release<'a>(&'a self, approval: &'a Name, call: &'a CallKey) -> Soon<'a, ()> {
        // A claim that stays frees itself.
        let _ = self.approvals.release(approval, call, self.clock.now());
        Soon::now(())
    }
}
