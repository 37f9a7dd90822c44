//! Session state on disk: the contract, several processes at once, and files that cannot be used.

use crate::rig::wait;
use crate::state_contract::LAWS;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tollgate_gate::state::{Entry, Trace};
use tollgate_gate::{
    Aborted, CallKey, Claim, Clock as _, Code, Counted, Counters, Name, Quota, Session, State,
    StateError,
};
use tollgate_store::{DiskState, HostProcess, SystemClock};

const FOLDER_VARIABLE: &str = "TOLLGATE_TEST_STATE_FOLDER";
/// Calls that each process asks for, and how many may go through in all.
const CALLS: u64 = 40;
const MAX: u64 = 50;
const PROCESSES: usize = 3;

fn open(folder: &Path) -> DiskState {
    DiskState::new(folder, Arc::new(SystemClock::new()), None)
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    (dir, folder)
}

fn attempt() -> Entry {
    Entry { count: Counters { tool_calls_attempted: 1, ..Counters::default() }, call: None }
}

fn abort(state: &DiskState, id: &str) {
    let aborted = Aborted { code: Code::HookDenied, reason: "enough".into(), hook: None };
    wait(state.abort(&Session::new(id), aborted)).unwrap();
}

/// The files of sessions.
fn files(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder.join("sessions")).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.file_name().unwrap().len() == 64).collect()
}

#[test]
fn the_state_on_disk_keeps_the_contract() {
    for (law, holds) in LAWS {
        println!("{law}");
        let (_dir, folder) = place();
        holds(&|| Arc::new(open(&folder)));
    }
}

#[test]
fn one_open_state_keeps_the_contract_as_well() {
    for (law, holds) in LAWS {
        println!("{law}");
        let (_dir, folder) = place();
        let state: Arc<dyn State> = Arc::new(open(&folder));
        holds(&|| Arc::clone(&state));
    }
}

#[test]
#[ignore = "the child of the test below; it does nothing by itself"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let (state, clock) = (open(folder.as_ref()), SystemClock::new());
    let session = Session::new("kid").with_parent("root");
    let quota = Quota::Count { max: MAX, counted: Counted::Executed };
    let claims = [Claim { hook: "limit".into(), key: "all".into(), quota }];
    for at in 0..CALLS {
        let call = format!("{}-{at}", std::process::id());
        wait(state.enter(&session, attempt())).unwrap();
        let key = CallKey { session: "kid".into(), call: call.into() };
        if wait(state.reserve(&key, &claims, clock.now(), 60_000)).unwrap().is_ok() {
            println!("through {at}");
        }
    }
}

fn spawn(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "state::child", "--ignored", "--nocapture"])
        .env(FOLDER_VARIABLE, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn processes_on_one_state_let_exactly_as_many_through_as_may_and_count_every_call() {
    let (_dir, folder) = place();
    let children: Vec<Child> = (0..PROCESSES).map(|_| spawn(&folder)).collect();
    let mut through = 0;
    for mut child in children {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        through += lines.filter(|line| line.as_ref().unwrap().contains("through")).count() as u64;
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(through, MAX);
    for id in ["kid", "root"] {
        let shown = open(&folder).session(id).unwrap().unwrap();
        assert_eq!(shown.counters.tool_calls_attempted, CALLS * PROCESSES as u64, "{id}");
    }
}

#[test]
fn an_event_without_limits_opens_no_database_and_names_are_hashes() {
    let (_dir, folder) = place();
    let state = open(&folder);
    assert!(!folder.exists(), "nothing is made before it is needed");
    wait(state.enter(&Session::new("../../etc/passwd"), attempt())).unwrap();
    let key = CallKey { session: "../../etc/passwd".into(), call: "1".into() };
    wait(state.settle(&key, &Default::default(), SystemClock::new().now())).unwrap();
    let made: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(made, [folder.join("sessions")]);
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    let files = files(&folder);
    assert_eq!(files.len(), 1);
    assert_eq!(fs::metadata(&files[0]).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_damaged_session_is_closed_and_not_begun_anew() {
    let (_dir, folder) = place();
    abort(&open(&folder), "s");
    let file = &files(&folder)[0];
    let whole = fs::read(file).unwrap();
    fs::write(file, &whole[..whole.len() - 9]).unwrap();
    let view = wait(open(&folder).enter(&Session::new("s"), Entry::default())).unwrap();
    assert!(view.aborted.is_some(), "its end is kept twice");
    for damage in [vec![b'x'; whole.len()], whole[..99].to_vec()] {
        fs::write(file, damage).unwrap();
        let refused = wait(open(&folder).enter(&Session::new("s"), attempt()));
        let Err(StateError::Store(said)) = refused else { panic!("{refused:?}") };
        assert!(said.contains("is damaged"), "{said}");
        let child = Session::new("kid").with_parent("s");
        wait(open(&folder).enter(&child, attempt())).unwrap_err();
    }
    fs::write(file, whole).unwrap();
    assert!(wait(open(&folder).enter(&Session::new("s"), attempt())).unwrap().aborted.is_some());
}

/// What two processes do in one session, turn by turn, each with the file open.
#[test]
fn what_another_process_does_in_a_session_is_seen_at_the_next_step() {
    let (_keep, folder) = place();
    let (one, other) = (open(&folder), open(&folder));
    let session = Session::new("s");
    let attempts = |state: &DiskState| {
        wait(state.enter(&session, attempt())).unwrap().counters.tool_calls_attempted
    };
    let turns: Vec<u64> =
        [&one, &other, &one, &one, &other, &other, &other, &one].map(attempts).to_vec();
    assert_eq!(turns, [1, 2, 3, 4, 5, 6, 7, 8]);
    let label = Trace { labels: vec!["tainted".into()], ..Trace::default() };
    wait(other.leave(&session, &label)).unwrap();
    let view = wait(one.enter(&session, attempt())).unwrap();
    assert!(view.labels.contains(&Name::from("tainted")));
    abort(&other, "s");
    assert!(wait(one.enter(&session, attempt())).unwrap().aborted.is_some());
    // One that is forgotten and made again is another one.
    for file in files(&folder) {
        fs::remove_file(file).unwrap();
    }
    let view = wait(one.enter(&session, attempt())).unwrap();
    assert_eq!((view.counters.tool_calls_attempted, view.aborted), (1, None));
}

#[test]
fn a_session_of_a_newer_program_is_refused_and_left_alone() {
    let (_dir, folder) = place();
    abort(&open(&folder), "s");
    let file = &files(&folder)[0];
    let mut text = fs::read(file).unwrap();
    let at = text.windows(17).position(|part| part == b"tollgate-session ").unwrap() + 17;
    text[at] = b'2';
    fs::write(file, &text).unwrap();
    let refused = wait(open(&folder).enter(&Session::new("s"), attempt()));
    assert!(refused.unwrap_err().to_string().contains("newer Tollgate"));
    assert_eq!(fs::read(file).unwrap(), text);
}

#[test]
fn another_sessions_file_in_the_place_of_one_is_refused() {
    let (_dir, folder) = place();
    abort(&open(&folder), "ended");
    let ended = files(&folder)[0].clone();
    wait(open(&folder).enter(&Session::new("free"), attempt())).unwrap();
    let free = files(&folder).into_iter().find(|file| *file != ended).unwrap();
    fs::copy(&free, &ended).unwrap();
    wait(open(&folder).enter(&Session::new("ended"), attempt())).unwrap_err();
}

#[test]
fn limits_that_cannot_be_read_close() {
    let (_dir, folder) = place();
    let (state, now) = (open(&folder), SystemClock::new().now());
    wait(state.enter(&Session::new("s"), attempt())).unwrap();
    let quota = Quota::Count { max: 9, counted: Counted::Executed };
    let claims = [Claim { hook: "limit".into(), key: "all".into(), quota }];
    let key = CallKey { session: "s".into(), call: "1".into() };
    wait(state.reserve(&key, &claims, now, 1000)).unwrap().unwrap();
    drop(state);
    fs::write(folder.join("limits.db"), vec![b'x'; 8192]).unwrap();
    for ending in ["db-wal", "db-shm"] {
        let _ = fs::remove_file(folder.join("limits").with_extension(ending));
    }
    let refused = wait(open(&folder).reserve(&key, &claims, now, 1000));
    assert!(
        matches!(&refused, Err(StateError::Store(said)) if said.contains("damaged")),
        "{refused:?}"
    );
    let refused = wait(open(&folder).peek(&claims, now));
    assert!(matches!(refused, Err(StateError::Store(_))));
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    let (_dir, folder) = place();
    wait(open(&folder).enter(&Session::new("s"), attempt())).unwrap();
    fs::set_permissions(folder.join("sessions"), Permissions::from_mode(0o777)).unwrap();
    let refused = wait(open(&folder).enter(&Session::new("s"), attempt()));
    assert!(refused.unwrap_err().to_string().contains("others may write"));
}

#[test]
fn a_held_session_is_waited_for_and_then_goes_on() {
    let (_dir, folder) = place();
    wait(open(&folder).enter(&Session::new("s"), attempt())).unwrap();
    let file = File::open(&files(&folder)[0]).unwrap();
    file.lock().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(open(&folder).enter(&Session::new("s"), attempt())));
        std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(!waiting.is_finished());
        file.unlock().unwrap();
        assert_eq!(waiting.join().unwrap().unwrap().counters.tool_calls_attempted, 2);
    });
}

#[test]
#[ignore = "the child of the test below; it does nothing by itself"]
fn read_only_child() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let refused = wait(open(folder.as_ref()).enter(&Session::new("s"), attempt()));
    println!("refused {}", refused.unwrap_err());
}

#[test]
fn a_folder_that_cannot_be_written_closes() {
    const NOBODY: u32 = 65_534;
    let (dir, folder) = place();
    fs::create_dir(&folder).unwrap();
    // Only root can give a folder away; everybody else is refused by the mode alone.
    let given = std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).is_ok();
    fs::set_permissions(&folder, Permissions::from_mode(0o500)).unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    // The test program may lie where another user cannot reach it.
    let program = dir.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&program);
    command.args(["--exact", "state::read_only_child", "--ignored", "--nocapture"]);
    command.env(FOLDER_VARIABLE, &folder).current_dir("/");
    if given {
        command.uid(NOBODY).gid(NOBODY);
    }
    let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(told.contains("refused ") && told.contains("Permission denied"), "{told}");
}

#[test]
fn a_session_is_listed_shown_ended_and_resumed() {
    let (_dir, folder) = place();
    let host = HostProcess { pid: 7, started: 9 };
    let state = DiskState::new(&folder, Arc::new(SystemClock::new()), Some(host));
    let session = Session::new("kid").with_parent("s").with_user("alice").with_agent("coder");
    wait(state.enter(&session, attempt())).unwrap();
    let trace = Trace { labels: vec!["tainted".into()], ..Trace::default() };
    wait(state.leave(&session, &trace)).unwrap();
    let shown = state.session("kid").unwrap().unwrap();
    assert_eq!((shown.user.as_deref(), &*shown.root), (Some("alice"), "s"));
    assert_eq!((shown.hosts, shown.labels), (vec![host], vec!["tainted".into()]));
    let aborted = Aborted { code: Code::SessionAborted, reason: "by hand".into(), hook: None };
    assert!(state.end("s", &aborted).unwrap());
    assert!(!state.end("s", &aborted).unwrap(), "it was ended already");
    assert!(wait(state.enter(&session, Entry::default())).unwrap().aborted.is_some());
    assert_eq!(state.resume("s").unwrap(), Some(aborted));
    assert_eq!(state.resume("s").unwrap(), None);
    assert!(wait(state.enter(&session, Entry::default())).unwrap().aborted.is_none());
    let all: Vec<_> = state.sessions().unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(all.len(), 2);
    assert!(state.session("none").unwrap().is_none());
}
