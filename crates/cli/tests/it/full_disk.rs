//! A disk that is really full: a small file system in memory stands in the place of the state folder. Where no
//! file system may be mounted, a limit of file sizes stands in for it, and the test says so.

use crate::rig::{BINARY, Rig};
use serde_json::json;
use std::process::{Command, Output};

/// Calls before the disk is full, while it is, and when there is room again.
const SCRIPT: &str = r#"
set -eu
hook() { printf '%s' "$MESSAGE" | "$BINARY" --state "$STATE" --policy "$POLICY" hook claude-code; }
said() { code=0; hook >"$OUT/$1" 2>&1 || code=$?; echo "$1 $code"; }
mkdir -p -m 700 "$STATE"
if mount -t tmpfs -o size=4m,mode=700 tmpfs "$STATE" 2>/dev/null; then
  said before
  dd if=/dev/zero of="$STATE/filler" bs=4096 2>/dev/null || true
  # The ledger's file holds room in advance: calls pass, and are recorded, until that is used up.
  passed=0
  while [ $passed -lt 200 ]; do
    code=0; hook >"$OUT/full" 2>&1 || code=$?
    [ $code = 0 ] || break
    passed=$((passed + 1))
  done
  echo "full $code"
  echo "passed $passed"
  rm "$STATE/filler"
  said after
else
  echo "no mount"
  said before
  (trap '' XFSZ; ulimit -f 0; hook >/dev/null 2>"$OUT/full.err"; echo "full $?") || true
  said after
fi
records=$("$BINARY" --state "$STATE" --policy "$POLICY" audit list --json --limit 1000 --kind decision --verdict allow | wc -l)
echo "records $records"
code=0; "$BINARY" --state "$STATE" --policy "$POLICY" audit verify >"$OUT/verify" 2>&1 || code=$?
echo "verify $code"
"#;

fn run(rig: &Rig, apart: bool) -> Output {
    let message = json!({
        "session_id": "s", "transcript_path": "/t", "cwd": rig.path("project"),
        "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Read",
        "tool_use_id": "c1", "tool_input": {"file_path": "a.txt", "note": "word ".repeat(8_000)}});
    let shell = ["sh", "-c", SCRIPT];
    let mut command = Command::new(if apart { "unshare" } else { "sh" });
    if apart {
        command.arg("--mount").args(shell);
    } else {
        command.args(&shell[1..]);
    }
    command
        .env("BINARY", BINARY)
        .env("STATE", rig.path("state"))
        .env("POLICY", rig.path("user.yaml"))
        .env("OUT", rig.path("project"))
        .env("MESSAGE", message.to_string())
        .output()
        .unwrap()
}

#[test]
fn a_full_disk_refuses_and_when_there_is_room_again_the_ledger_goes_on_and_is_whole() {
    let rig = Rig::new();
    let probe = Command::new("unshare").args(["--mount", "true"]).output();
    let apart = probe.is_ok_and(|probe| probe.status.success());
    let ran = run(&rig, apart);
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    if !apart || out.contains("no mount") {
        eprintln!("NOT SHOWN: no file system may be mounted here; a limit of file sizes stood in");
    }
    let said = |what: &str| {
        let read = |name: &str| std::fs::read_to_string(rig.path(&format!("project/{name}")));
        format!("{out}{}", read(what).unwrap_or_default())
    };
    let number = |what: &str| {
        let line = out.lines().find_map(|line| line.strip_prefix(what));
        line.and_then(|rest| rest.trim().parse::<u64>().ok())
    };
    if let Some(passed) = number("passed ") {
        assert_eq!(number("records "), Some(passed + 2), "no call without its record: {out}");
    }
    assert!(out.contains("before 0\n"), "{}", said("before"));
    assert!(out.contains("full 2\n"), "{}", said("full"));
    assert!(out.contains("after 0\n"), "{}", said("after"));
    assert!(out.contains("verify 0\n"), "{}", said("verify"));
}
