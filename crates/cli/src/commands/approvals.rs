//! `tollgate approvals`: questions to people, and their answers.
//!
//! An answer is given by a person at a terminal of their own, after the question was shown; it is a
//! record before it has an effect. What an agent has started is refused, and so is a yes that was typed
//! ahead or piped in. Where the policy names approvers, only a signed answer counts.

use crate::args::{
    AnswerArguments, ApprovalsArguments, ApprovalsCommand, Format, Globals, NoFor, YesFor,
};
use crate::commands::sessions::ago;
use crate::desk::{Desk, LINE_CHARS_MAX, misplaced};
use crate::exit::{Exit, Failure};
use crate::ids;
use crate::output::{answer, say};
use crate::table::{Cell, Column, Look, table};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate::approver::AnswerRules;
use tollgate::gate::text::shown;
use tollgate::gate::{Name, RecordKind, Session};
use tollgate::person::Terminal;
use tollgate::places::user_name;
use tollgate::policy::Loaded;
use tollgate::store::approvals::{Answer, AnswerError, Scope, SealError, answer_text};
use tollgate::store::{Approval, ApprovalState, Approvals, ApproverKey, DatabaseError, SealedKey};

/// The sealed key, in the folder of keys.
const KEY_FILE: &str = "approver.key";
/// Longest line of a question, in characters.
const SHOWN_CHARS_MAX: usize = 2_000;
/// Most lines of effects that are shown.
const EFFECTS_SHOWN_MAX: usize = 40;

pub(crate) fn run(globals: &Globals, arguments: &ApprovalsArguments) -> Result<Exit, Failure> {
    let desk = Desk::new(globals)?;
    let folder = desk.places.state().map_err(|error| misplaced(&error))?;
    let approvals = Approvals::new(&folder);
    match &arguments.command {
        ApprovalsCommand::List { all, form } => list(&desk, &approvals, *all, form.format()),
        ApprovalsCommand::Show { id, form } => show(&desk, &approvals, id, form.format()),
        ApprovalsCommand::Approve { answer, scope } => {
            let scope = if *scope == YesFor::Session { Scope::Session } else { Scope::Once };
            give(&desk, &approvals, answer, true, scope)
        }
        ApprovalsCommand::Deny { answer, scope } => {
            let scope = if *scope == NoFor::Never { Scope::Never } else { Scope::Once };
            give(&desk, &approvals, answer, false, scope)
        }
        ApprovalsCommand::Cancel { id, reason } => cancel(&desk, &approvals, id, reason),
    }
}

fn list(desk: &Desk, approvals: &Approvals, all: bool, format: Format) -> Result<Exit, Failure> {
    let mut found = approvals.list(desk.now()).map_err(|error| unusable(&error))?;
    let least = ids::least(found.iter().map(|approval| &*approval.id));
    found.retain(|approval| all || approval.state == ApprovalState::Pending);
    if format == Format::Json {
        let found: Vec<Value> = found.iter().map(as_json).collect();
        answer(&format!("{}\n", json!({ "version": 1, "approvals": found })))?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        say(if all { "no questions are kept\n" } else { "no question waits for an answer\n" })?;
        return Ok(Exit::Done);
    }
    let columns = [
        Column::text("APPROVAL", least),
        Column::text("STATE", 8),
        Column::text("TOOL", 8),
        Column::text("WHY", 12),
        Column::text("HOOK", 8),
        Column::text("ASKED", 7),
    ];
    let rows: Vec<Vec<Cell>> = found
        .iter()
        .map(|approval| {
            vec![
                Cell::plain(&*approval.id),
                Cell::new(approval.state.name(), look(approval.state)),
                Cell::plain(&*approval.subject),
                Cell::plain(&approval.reason),
                Cell::plain(&*approval.hook),
                Cell::new(ago(approval.asked_at, desk.now()), Look::Dim),
            ]
        })
        .collect();
    answer(&table(&columns, &rows))?;
    Ok(Exit::Done)
}

fn look(state: ApprovalState) -> Look {
    match state {
        ApprovalState::Pending => Look::Bold,
        ApprovalState::Approved | ApprovalState::Claimed | ApprovalState::Used => Look::Green,
        ApprovalState::Denied => Look::Red,
        ApprovalState::Expired | ApprovalState::Cancelled | ApprovalState::Settled => Look::Dim,
    }
}

fn show(desk: &Desk, approvals: &Approvals, id: &str, format: Format) -> Result<Exit, Failure> {
    let approval = find(desk, approvals, id)?;
    match format {
        Format::Json => {
            answer(&format!("{}\n", json!({ "version": 1, "approval": as_json(&approval) })))?;
        }
        Format::Text => say(&question_text(&approval))?,
    }
    Ok(Exit::Done)
}

/// Takes an answer: shown, asked, signed where that is wanted, recorded, written.
fn give(
    desk: &Desk,
    approvals: &Approvals,
    arguments: &AnswerArguments,
    yes: bool,
    scope: Scope,
) -> Result<Exit, Failure> {
    let approval = find(desk, approvals, &arguments.id)?;
    if approval.state != ApprovalState::Pending {
        let message = format!("approval {} is {}", approval.id, approval.state.name());
        return Err(Failure::usage(message, "`tollgate approvals list` names those that wait"));
    }
    if arguments.reason.trim().is_empty() {
        return Err(Failure::usage("a reason is wanted", "say why: --reason \"...\""));
    }
    let policy = desk.load()?;
    let rules = AnswerRules::of(&policy.settings);
    let by = arguments.by.clone().unwrap_or_else(user_name);
    may_answer(&rules, &approval, &by)?;
    let reason = arguments.reason.clone();
    let mut given = Answer { by: by.into(), yes, scope, reason, at: desk.now(), signature: None };
    if arguments.print {
        answer(&answer_text(&approval, &given))?;
        return Ok(Exit::Done);
    }
    if let Some(file) = &arguments.signature {
        given.signature = Some(read_signature(file)?);
    } else {
        say(&question_text(&approval))?;
        let mut terminal = terminal()?;
        let word = if yes { "Approve" } else { "Deny" };
        let question = format!("{word} it ({})?", scope.name());
        if !terminal.agrees(&question).map_err(|error| no_terminal(&error))? {
            say("not answered: the question still stands\n")?;
            return Ok(Exit::No);
        }
        if rules.wants_signatures() {
            let key = open_key(desk, arguments.key.as_deref(), &mut terminal)?;
            given.signature = Some(key.sign(&answer_text(&approval, &given)));
        }
    }
    let signed = check_signature(&rules, &approval, &given)?;
    record(desk, &policy, &approval, &given, signed)?;
    let answered = approvals.answer(&approval.id, &given, |all| rules.state(all), desk.now());
    let answered = answered.map_err(|error| not_taken(&error))?;
    say(match answered.state {
        ApprovalState::Pending => "answered; others must answer as well\n",
        ApprovalState::Approved => "approved: the call passes when it is made again\n",
        ApprovalState::Denied
        | ApprovalState::Expired
        | ApprovalState::Cancelled
        | ApprovalState::Claimed
        | ApprovalState::Used
        | ApprovalState::Settled => "denied\n",
    })?;
    Ok(Exit::Done)
}

fn may_answer(rules: &AnswerRules, approval: &Approval, by: &str) -> Result<(), Failure> {
    if !rules.may_answer(by, &approval.who) {
        let who: Vec<&str> = approval.who.iter().map(|who| &**who).collect();
        let who = if who.is_empty() { "an approver".to_owned() } else { who.join(", ") };
        let message = format!("`{}` may not answer this", shown(by, LINE_CHARS_MAX));
        let remedy = format!("the policy wants the answer of {}", shown(&who, LINE_CHARS_MAX));
        return Err(Failure::usage(message, remedy));
    }
    if !rules.wants_signatures() && by != user_name() {
        return Err(Failure::usage(
            "an answer in another's name has to be signed",
            "name their key in the policy: `approvers: { NAME: \"ed25519:...\" }`",
        ));
    }
    Ok(())
}

/// Whether it is signed, by the key of whoever gives it.
fn check_signature(
    rules: &AnswerRules,
    approval: &Approval,
    given: &Answer,
) -> Result<bool, Failure> {
    let Some(key) = rules.key_of(&given.by) else {
        return match given.signature {
            None => Ok(false),
            Some(_) => Err(Failure::usage(
                "the policy holds no key to check this signature with",
                "name it in the policy: `approvers: { NAME: \"ed25519:...\" }`",
            )),
        };
    };
    if given.is_signed_by(key, approval) {
        return Ok(true);
    }
    Err(Failure::usage(
        format!("this is not the signature of `{}`", shown(&given.by, LINE_CHARS_MAX)),
        "sign what --print prints, with the key that the policy names",
    ))
}

fn terminal() -> Result<Terminal, Failure> {
    Terminal::open().map_err(|error| no_terminal(&error))
}

fn no_terminal(error: &std::io::Error) -> Failure {
    Failure::usage(
        format!("an answer needs a person at a terminal: {error}"),
        "run it in a terminal of your own, or hand in a signature with --signature",
    )
}

fn key_file(desk: &Desk, named: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = desk.places.keys().map_err(|error| misplaced(&error))?;
    Ok(named.map_or_else(|| folder.join(KEY_FILE), Path::to_owned))
}

fn open_key(
    desk: &Desk,
    named: Option<&Path>,
    terminal: &mut Terminal,
) -> Result<ApproverKey, Failure> {
    let sealed = SealedKey::read(&key_file(desk, named)?).map_err(|error| sealed_key(&error))?;
    let passphrase = terminal.secret("Passphrase: ").map_err(|error| no_terminal(&error))?;
    sealed.open(&passphrase).map_err(|error| sealed_key(&error))
}

/// `tollgate keys approver new`.
pub(crate) fn make_key(desk: &Desk, named: Option<&Path>) -> Result<Exit, Failure> {
    let file = key_file(desk, named)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let made = std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700)
        .recursive(true)
        .create(folder);
    made.map_err(Failure::internal)?;
    let mut terminal = Terminal::open().map_err(|error| {
        Failure::usage(
            format!("the passphrase of a new key is typed at a terminal: {error}"),
            "run it in a terminal of your own",
        )
    })?;
    let secret = |terminal: &mut Terminal, question: &str| {
        terminal.secret(question).map_err(|error| no_terminal(&error))
    };
    let passphrase = secret(&mut terminal, "A passphrase for the new key: ")?;
    if secret(&mut terminal, "Once more: ")? != passphrase {
        return Err(Failure::usage("the two are not the same", "try again"));
    }
    let key = ApproverKey::fresh().map_err(Failure::internal)?;
    SealedKey::make(&file, &key, &passphrase).map_err(|error| sealed_key(&error))?;
    say(&format!(
        "{} holds the key, sealed.\nName it in your policy:\n\napprovers:\n  {}: \"ed25519:{}\"\n",
        file.display(),
        user_name(),
        key.public()
    ))?;
    Ok(Exit::Done)
}

/// A signature, from standard input or from a file for its owner only.
fn read_signature(file: &Path) -> Result<[u8; 64], Failure> {
    let unread = |error: std::io::Error| {
        Failure::usage(format!("the signature cannot be read: {error}"), "name a file, or -")
    };
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(1024).read_to_string(&mut text).map_err(unread)?;
    } else {
        let opened = OpenOptions::new().read(true).open(file).map_err(unread)?;
        if opened.metadata().map_err(unread)?.mode() & 0o077 != 0 {
            let message = format!("others may read or write `{}`", file.display());
            return Err(Failure::usage(message, format!("chmod 600 {}", file.display())));
        }
        opened.take(1024).read_to_string(&mut text).map_err(unread)?;
    }
    let digits = text.trim();
    let byte =
        |at: usize| digits.get(at * 2..at * 2 + 2).and_then(|d| u8::from_str_radix(d, 16).ok());
    let bytes: Option<Vec<u8>> = (0..64).map(byte).collect();
    let signature = bytes.filter(|_| digits.len() == 128).and_then(|bytes| bytes.try_into().ok());
    signature.ok_or_else(|| {
        Failure::usage("this is no signature", "128 hexadecimal digits: the 64 bytes of Ed25519")
    })
}

fn cancel(desk: &Desk, approvals: &Approvals, id: &str, reason: &str) -> Result<Exit, Failure> {
    let approval = find(desk, approvals, id)?;
    let policy = desk.load()?;
    let detail = [
        ("state", Some("cancelled".to_owned())),
        ("approval", Some(approval.id.to_string())),
        ("reason", Some(reason.to_owned())),
    ];
    desk.record_about(
        &policy,
        RecordKind::Approval,
        Some(&approval.hook),
        Some(&session_of(&approval)),
        &detail,
    )?;
    approvals.cancel(&approval.id, desk.now()).map_err(|error| not_taken(&error))?;
    say("cancelled\n")?;
    Ok(Exit::Done)
}

fn record(
    desk: &Desk,
    policy: &Loaded,
    approval: &Approval,
    given: &Answer,
    signed: bool,
) -> Result<(), Failure> {
    let detail = [
        ("state", Some(if given.yes { "yes" } else { "no" }.to_owned())),
        ("approval", Some(approval.id.to_string())),
        ("call", Some(approval.call_digest.to_string())),
        ("answered_by", Some(given.by.to_string())),
        ("for", Some(given.scope.name().to_owned())),
        ("reason", Some(given.reason.clone())),
        ("authentication", Some(if signed { "signed" } else { "unauthenticated" }.to_owned())),
    ];
    desk.record_about(
        policy,
        RecordKind::Approval,
        Some(&approval.hook),
        Some(&session_of(approval)),
        &detail,
    )
}

/// The session that asked.
fn session_of(approval: &Approval) -> Arc<Session> {
    Arc::new(Session {
        root: Some(Name::clone(&approval.root)),
        user: approval.user.clone(),
        agent: approval.agent.clone(),
        host: approval.host.clone(),
        cwd: approval.cwd.clone(),
        ..Session::new(Name::clone(&approval.session))
    })
}

/// The approval that is meant.
fn find(desk: &Desk, approvals: &Approvals, asked: &str) -> Result<Approval, Failure> {
    let mut all = approvals.list(desk.now()).map_err(|error| unusable(&error))?;
    let id = ids::meant(asked, "approval", all.iter().map(|approval| &*approval.id))?;
    let place = id.and_then(|id| all.iter().position(|approval| &*approval.id == id));
    place.map(|place| all.swap_remove(place)).ok_or_else(|| {
        let message = format!("there is no approval `{}`", shown(asked, LINE_CHARS_MAX));
        Failure::usage(message, "`tollgate approvals list --all` names those that are kept")
    })
}

/// The question as a person reads it.
fn question_text(approval: &Approval) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "{key:<10} {}", shown(value, SHOWN_CHARS_MAX));
        }
    };
    let of = |name: &Option<Name>| name.as_deref().unwrap_or_default().to_owned();
    line("approval", &approval.id);
    line("state", approval.state.name());
    line("tool", &approval.subject);
    line("why", &approval.reason);
    line("asked by", &format!("hook {}", approval.hook));
    line("arguments", &approval.shown);
    for effect in approval.effects.iter().take(EFFECTS_SHOWN_MAX) {
        line("it", effect);
    }
    let more = approval.effects.len().saturating_sub(EFFECTS_SHOWN_MAX);
    if more > 0 {
        line("it", &format!("... and {more} more"));
    }
    line("in", &of(&approval.cwd));
    line("session", &approval.session);
    line("user", &of(&approval.user));
    line("agent", &of(&approval.agent));
    line("host", &of(&approval.host));
    line("who", &approval.who.join(", "));
    line("until", &approval.expires_at.to_string());
    line("came of it", approval.came.as_deref().unwrap_or_default());
    for given in &approval.answers {
        let word = if given.yes { "yes" } else { "no" };
        let signed = if given.signature.is_some() { "signed" } else { "unauthenticated" };
        let text =
            format!("{word} ({}, {signed}) by {}: {}", given.scope.name(), given.by, given.reason);
        line("answer", &text);
    }
    out
}

fn as_json(approval: &Approval) -> Value {
    let answers: Vec<Value> = approval
        .answers
        .iter()
        .map(|given| {
            json!({
                "by": &*given.by,
                "yes": given.yes,
                "for": given.scope.name(),
                "reason": given.reason,
                "at": given.at.to_string(),
                "signed": given.signature.is_some(),
            })
        })
        .collect();
    json!({
        "id": &*approval.id,
        "state": approval.state.name(),
        "hook": &*approval.hook,
        "tool": &*approval.subject,
        "reason": approval.reason,
        "arguments": approval.shown,
        "effects": approval.effects,
        "call": &*approval.call_digest,
        "session": &*approval.session,
        "root": &*approval.root,
        "user": approval.user.as_deref(),
        "agent": approval.agent.as_deref(),
        "host": approval.host.as_deref(),
        "cwd": approval.cwd.as_deref(),
        "who": approval.who.iter().map(|who| &**who).collect::<Vec<_>>(),
        "asked_at": approval.asked_at.to_string(),
        "expires_at": approval.expires_at.to_string(),
        "changed_at": approval.changed_at.to_string(),
        "came": approval.came,
        "answers": answers,
    })
}

fn not_taken(error: &AnswerError) -> Failure {
    match error {
        AnswerError::Unknown(_) | AnswerError::Closed { .. } => {
            Failure::usage(error, "`tollgate approvals list` names those that wait")
        }
        AnswerError::Database(error) => unusable(error),
    }
}

fn sealed_key(error: &SealError) -> Failure {
    match error {
        SealError::Short => Failure::usage(error, "choose a longer one"),
        SealError::Wrong { .. } => Failure::usage(error, "type it again"),
        SealError::Exists { .. } => Failure::usage(error, "name another with --file"),
        SealError::NoKey { .. } | SealError::Io { .. } => {
            Failure::usage(error, "`tollgate keys approver new` makes one; name another with --key")
        }
    }
}

/// A file of the state that cannot be used.
pub(crate) fn unusable(error: &DatabaseError) -> Failure {
    match error {
        DatabaseError::Newer { .. } => Failure::usage(error, "use the newer program"),
        DatabaseError::Foreign { path, .. } | DatabaseError::Damaged { path, .. } => {
            let remedy = format!(
                "what needs it is refused; take it away to begin anew, with what it held lost: {}",
                path.display()
            );
            Failure::usage(error, remedy)
        }
        DatabaseError::Busy { .. } => Failure::usage(error, "try again"),
        DatabaseError::Unusable { .. } | DatabaseError::Folder(_) => Failure::internal(error),
    }
}
