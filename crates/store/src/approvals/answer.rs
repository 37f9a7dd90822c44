//! An answer to a question, and the text that is signed for it.

use super::Approval;
use crate::hash::{parse_hex, write_hex};
use crate::key::PublicKey;
use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use tollgate_gate::{Name, Timestamp};

/// For what an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For this call, once.
    Once,
    /// A yes: for calls of this session with the same effects.
    Session,
    /// A no: for calls in this folder with the same effects, until it is taken back.
    Never,
}

impl Scope {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Once => "once",
            Scope::Session => "session",
            Scope::Never => "never",
        }
    }

    fn from_name(name: &str) -> Option<Scope> {
        [Scope::Once, Scope::Session, Scope::Never].into_iter().find(|scope| scope.name() == name)
    }
}

/// What one person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Who.
    pub by: Name,
    /// Whether it is a yes.
    pub yes: bool,
    /// For what it holds.
    pub scope: Scope,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// The signature over [`answer_text`]; none for an answer of somebody without a key.
    pub signature: Option<[u8; 64]>,
}

impl Answer {
    /// Whether this key has signed it as an answer to this question.
    pub fn is_signed_by(&self, key: &PublicKey, approval: &Approval) -> bool {
        let text = answer_text(approval, self);
        self.signature.is_some_and(|signature| key.has_signed(text.as_bytes(), &signature))
    }
}

impl Approval {
    /// Whether what was answered is a yes for the session, of everyone who answered.
    pub fn is_for_session(&self) -> bool {
        let for_session = |answer: &Answer| answer.yes && answer.scope == Scope::Session;
        !self.answers.is_empty() && self.answers.iter().all(for_session)
    }

    /// Whether all that was answered was given since then.
    pub(super) fn is_given_since(&self, since: Timestamp) -> bool {
        self.answers.iter().all(|answer| answer.at >= since)
    }
}

/// What is signed: all that the answer holds for. Names stand behind their lengths, so that no text can
/// pass for another. The time is not in it: a key that lives elsewhere signs at another time than the
/// answer is taken, and an answer holds for one question only.
pub fn answer_text(approval: &Approval, answer: &Answer) -> String {
    format!(
        "tollgate-answer 1\napproval {}\ncall {}\neffects {}\nhook {}:{}\nroot {}:{}\n\
         answer {} {}\nby {}:{}\nreason {}:{}\n",
        approval.id,
        approval.call_digest,
        approval.effects_digest,
        approval.hook.len(),
        approval.hook,
        approval.root.len(),
        approval.root,
        if answer.yes { "yes" } else { "no" },
        answer.scope.name(),
        answer.by.len(),
        answer.by,
        answer.reason.len(),
        answer.reason,
    )
}

/// The answers to a question.
pub(super) fn of(db: &Transaction<'_>, approval: &str) -> rusqlite::Result<Vec<Answer>> {
    let all = "SELECT by, yes, scope, reason, at, signature FROM answers WHERE approval = ?1
               ORDER BY at, by";
    db.prepare(all)?.query_map([approval], read)?.collect()
}

/// An answer that stands for questions like this one: a yes for the session, or a no for good.
pub(super) fn standing(
    db: &Transaction<'_>,
    question: &Approval,
    session_since: Timestamp,
) -> rusqlite::Result<Option<Approval>> {
    let like = format!(
        "{} WHERE hook = ?1 AND effects_digest = ?2 AND (
           (state = 'approved' AND root = ?3 AND who = ?4 AND id IN
             (SELECT approval FROM answers WHERE yes = 1 AND scope = 'session')
             AND id NOT IN (SELECT approval FROM answers WHERE scope <> 'session' OR at < ?6))
           OR (state = 'denied' AND cwd IS ?5 AND id IN
             (SELECT approval FROM answers WHERE yes = 0 AND scope = 'never')))
         ORDER BY state DESC LIMIT 1",
        super::SELECT
    );
    let values = params![
        &*question.hook,
        &*question.effects_digest,
        &*question.root,
        super::who_text(&question.who)?,
        question.cwd.as_deref(),
        super::millis(session_since)
    ];
    let Some((mut found, _)) = db.query_row(&like, values, super::read).optional()? else {
        return Ok(None);
    };
    found.answers = of(db, &found.id)?;
    Ok(Some(found))
}

/// Puts an answer; a later one of the same person takes the place of theirs.
pub(super) fn put(db: &Transaction<'_>, approval: &str, answer: &Answer) -> rusqlite::Result<()> {
    let signature = answer.signature.map(|signature| {
        let mut text = Vec::new();
        write_hex(&signature, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let at = i64::try_from(answer.at.millis()).unwrap_or(i64::MAX);
    let (by, scope) = (&*answer.by, answer.scope.name());
    let put = "INSERT OR REPLACE INTO answers VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values = params![approval, by, answer.yes, scope, answer.reason, at, signature];
    db.execute(put, values).map(drop)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Answer> {
    let (scope, signature): (String, Option<String>) = (row.get(2)?, row.get(5)?);
    let unread = super::unread;
    let signature = signature.map(|text| parse_hex(&text).ok_or_else(|| unread("no signature")));
    Ok(Answer {
        by: row.get::<_, String>(0)?.into(),
        yes: row.get(1)?,
        scope: Scope::from_name(&scope).ok_or_else(|| unread("no scope of an answer"))?,
        reason: row.get(3)?,
        at: super::time(row, 4)?,
        signature: signature.transpose()?,
    })
}
