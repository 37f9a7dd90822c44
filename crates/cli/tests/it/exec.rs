//! `tollgate exec`: wrapped commands in real shells do what they did, but for what they print.

use crate::rig::{BINARY, Rig};
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const POLICY: &str = "version: 1
hooks:
  - { name: no-marks, on: after_tool, redact: { lines: MARKED } }
  - { name: no-secrets, on: after_tool, redact: { find: secrets } }
";
const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8a1B2c3D4e5F6g7H8a1B2";

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write("user.yaml", POLICY);
    rig
}

/// The shells of this machine, of those that people have; bash and sh are everywhere.
fn shells() -> Vec<&'static str> {
    let real = |shell: &str| Path::new("/bin").join(shell).canonicalize().ok();
    let mut found = vec!["sh", "bash"];
    // On many machines sh is one of these.
    let others = ["zsh", "dash"].into_iter();
    found.extend(others.filter(|shell| real(shell).is_some_and(|path| Some(path) != real("sh"))));
    found
}

fn wrapped(rig: &Rig, command: &str, more: &[&str]) -> String {
    let mut arguments = vec!["exec", "--wrap", command];
    arguments.extend(more);
    rig.run(&arguments).expect(0).out.trim_end_matches('\n').to_owned()
}

fn started(rig: &Rig, shell: &str, text: &str) -> Child {
    let mut command = Command::new(shell);
    command.args(["-c", text]).current_dir(rig.path("project"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs until the shell has ended and all that it printed is there.
fn ran(rig: &Rig, shell: &str, text: &str) -> Output {
    started(rig, shell, text).wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What both print and how both end, the plain command and the wrapped one.
#[test]
fn a_wrapped_command_ends_and_prints_as_the_plain_one() {
    let rig = rig();
    let commands = [
        "echo out; echo err >&2",
        "exit 3",
        "false",
        "true",
        "(exit 7)",
        "kill -TERM $$",
        "kill -KILL $$",
        "echo first; exit 4; echo never",
        "set -e; echo a; false; echo never",
        "set -u; echo a; echo \"x$undefined\"; echo never",
        "trap 'echo bye' EXIT; echo hello; exit 5",
        "trap 'echo caught' TERM; kill -TERM $$; echo on",
        "cat <<E\none 'two' \"three\"\nE",
        "cat <<'E'\n$HOME `x`\nE\necho after",
        "echo a # a comment",
        "echo a \\",
        "echo \"it's\" 'a \"quoted\" word'",
        "printf '\\000\\377binary\\001'",
        "printf 'no end of line'",
        "exec echo replaced",
        "exec cat /dev/null",
        "false || echo alternative && echo both",
        "echo a | tr a b; exit 2",
        "sleep 0 & wait; echo waited",
        "sleep 0 & wait $!; echo $?",
        "x=1; export y=2; sh -c 'echo $y$x'",
        "cd /; pwd",
        "f() { return 6; }; f",
        "no-such-command-here",
        "echo out >&2 | cat; exec 3>&1; echo three >&3",
        "exec >/dev/null; echo lost",
        "exec 2>&1; echo one >&2",
        "echo $-",
        "ulimit -c; umask",
        "wait; echo nothing to wait for",
        "read x; echo \"got $x\"",
    ];
    for command in commands {
        let text_of = wrapped(&rig, command, &[]);
        for shell in shells() {
            let (plain, masked) = (ran(&rig, shell, command), ran(&rig, shell, &text_of));
            let what = format!("{shell}: {command}");
            assert_eq!(masked.status, plain.status, "{what}: {masked:?}");
            assert_eq!(text(&masked.stdout), text(&plain.stdout), "{what}");
            // Where a command stands in a text, its shell says of a mistake in it.
            if !text(&plain.stderr).contains(": ") {
                assert_eq!(text(&masked.stderr), text(&plain.stderr), "{what}");
            }
        }
    }
}

#[test]
fn a_mistake_in_a_command_is_told_and_what_comes_behind_is_not_swallowed() {
    let rig = rig();
    for shell in shells() {
        for command in ["echo 'open", "echo \"open", "if true", "cat <<E\nno end", "echo $((", ")"]
        {
            let (plain, masked) =
                (ran(&rig, shell, command), ran(&rig, shell, &wrapped(&rig, command, &[])));
            let what = format!("{shell}: {command}: {masked:?}");
            assert_eq!(masked.status.success(), plain.status.success(), "{what}");
            assert_eq!(masked.stderr.is_empty(), plain.stderr.is_empty(), "{what}");
            assert_eq!(text(&masked.stdout), text(&plain.stdout), "{what}");
        }
    }
}

#[test]
fn secrets_of_commands_that_fail_or_live_on_are_masked() {
    let rig = rig();
    rig.write("project/log", &format!("start\ntoken={TOKEN}\nready\n"));
    let commands = [
        "cat log; exit 3",
        "cat log >&2; false",
        "cat log",
        "exec cat log",
        "trap 'cat log' EXIT; echo set",
        "(sleep 0.2; cat log) & echo started",
        "cat log; kill -TERM $$",
        "while read -r line; do printf '%s' \"$line\" | cut -c1-20; printf '%s\\n' \"$line\"; done <log",
    ];
    for shell in shells() {
        for command in commands {
            let plain = ran(&rig, shell, command);
            let masked = ran(&rig, shell, &wrapped(&rig, command, &[]));
            let all = text(&masked.stdout) + &text(&masked.stderr);
            assert_eq!(masked.status, plain.status, "{shell}: {command}");
            assert!(!all.contains(TOKEN), "{shell}: {command}: {all}");
            let plain = text(&plain.stdout) + &text(&plain.stderr);
            assert_eq!(all.contains("ready"), plain.contains("ready"), "{shell}: {command}: {all}");
        }
    }
}

#[test]
fn what_a_command_leaves_in_its_shell_is_there_for_the_next() {
    let rig = rig();
    std::fs::create_dir(rig.path("project/x")).unwrap();
    for shell in shells() {
        let first = wrapped(&rig, "cd x && export A=1; B=2; g() { echo g; }; umask 077", &[]);
        let second = wrapped(&rig, "pwd; echo $A$B; g; umask", &[]);
        let both = ran(&rig, shell, &format!("{first}\n{second}\nfalse"));
        let out = text(&both.stdout);
        assert!(out.contains("/project/x\n12\ng\n"), "{shell}: {out}");
        assert_eq!(both.status.code(), Some(1), "{shell}");
        // The way of Claude Code: the command as one word, then where it has gone.
        let text_of = format!(
            "eval '{}' && pwd -P >| cwd-told",
            wrapped(&rig, "cd x", &[]).replace('\'', "'\\''")
        );
        ran(&rig, shell, &text_of);
        let told = std::fs::read_to_string(rig.path("project/x/cwd-told")).unwrap();
        assert!(told.ends_with("/project/x\n"), "{shell}: {told}");
    }
}

#[test]
fn wrapping_twice_is_wrapping_once_and_a_wrapped_command_inside_another_is_harmless() {
    let rig = rig();
    let once = wrapped(&rig, &format!("echo {TOKEN}; exit 3"), &[]);
    assert_eq!(wrapped(&rig, &once, &[]), once);
    let inner = wrapped(&rig, &format!("echo {TOKEN}; exit 3"), &["--tool", "Bash"]);
    for shell in shells() {
        let ran = ran(&rig, shell, &wrapped(&rig, &inner, &[]));
        assert_eq!(ran.status.code(), Some(3), "{shell}: {ran:?}");
        assert!(
            text(&ran.stdout).contains("[SECRET") && !text(&ran.stdout).contains(TOKEN),
            "{ran:?}"
        );
    }
}

#[test]
fn output_comes_as_it_is_printed_and_a_question_is_shown() {
    let rig = rig();
    for shell in shells() {
        let mut child = started(
            &rig,
            shell,
            &wrapped(&rig, "echo first; printf 'name: '; read -r n; echo \"hi $n\"", &[]),
        );
        let mut out = child.stdout.take().unwrap();
        let mut got = [0; 12];
        out.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"first\nname: ", "{shell}");
        child.stdin.take().unwrap().write_all(b"you\n").unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "hi you\n", "{shell}");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_job_in_the_background_does_not_hold_the_shell() {
    let rig = rig();
    for shell in shells() {
        let began = Instant::now();
        let text_of = wrapped(&rig, "sleep 3 & echo started", &[]);
        let mut child = started(&rig, shell, &text_of);
        let status = child.wait().unwrap();
        assert!(status.success() && began.elapsed() < Duration::from_secs(3), "{shell}");
        let mut out = [0; 8];
        child.stdout.take().unwrap().read_exact(&mut out).unwrap();
        assert_eq!(
            &out, b"started\n",
            "{shell}: all that it printed was passed on before it ended"
        );
    }
}

#[test]
fn a_large_output_comes_through_whole() {
    let rig = rig();
    let command = "i=0; while [ $i -lt 20000 ]; do echo \"line $i of many, with some text\"; i=$((i+1)); done; echo MARKED";
    let plain = ran(&rig, "bash", command);
    let masked = ran(&rig, "bash", &wrapped(&rig, command, &[]));
    assert_eq!(text(&masked.stdout), text(&plain.stdout).replace("MARKED", "[SECRET]"));
}

#[test]
fn where_the_filter_does_not_start_nothing_is_run() {
    let rig = rig();
    let text_of = wrapped(&rig, "touch ran", &[]);
    for shell in shells() {
        let gone = text_of.replace(BINARY, "/no/such/tollgate");
        assert_eq!(ran(&rig, shell, &gone).status.code(), Some(126), "{shell}");
        rig.write("user.yaml", "version: 1\nhooks: [{ name: a }]\n");
        assert_eq!(ran(&rig, shell, &text_of).status.code(), Some(126), "{shell}: a broken policy");
        rig.write("user.yaml", POLICY);
        assert!(!rig.path("project/ran").exists(), "{shell}");
    }
    ran(&rig, "sh", &text_of);
    assert!(rig.path("project/ran").exists(), "and where it does, it is");
}

#[test]
fn a_filter_that_is_killed_lets_nothing_through() {
    let rig = rig();
    let command = format!(
        "echo before; p=$(ls -l /proc/self/fd/1 2>/dev/null); \
         for f in /proc/[0-9]*; do if grep -qz -- --open \"$f/cmdline\" 2>/dev/null && \
         [ \"$(stat -c %u $f)\" = \"$(id -u)\" ] && tr '\\000' ' ' <$f/cmdline | grep -q {0}; \
         then kill -KILL ${{f#/proc/}}; fi; done; sleep 0.1; echo {TOKEN}; exit 3",
        rig.path("state").display(),
    );
    let ran = ran(&rig, "bash", &wrapped(&rig, &command, &[]));
    let all = text(&ran.stdout) + &text(&ran.stderr);
    assert!(!all.contains(TOKEN), "{all}");
    assert!(ran.status.code() == Some(3) || ran.status.signal().is_some(), "{ran:?}");
}

#[test]
fn a_command_whose_input_is_closed_reads_nothing() {
    let rig = rig();
    for shell in shells() {
        let mut child = started(&rig, shell, &wrapped(&rig, "cat; echo end", &["--closed-stdin"]));
        child.stdin.take().unwrap().write_all(b"typed unseen\n").ok();
        let ran = child.wait_with_output().unwrap();
        assert_eq!(text(&ran.stdout), "end\n", "{shell}");
    }
}

#[test]
fn a_pipe_is_masked() {
    let rig = rig();
    let out =
        rig.run_in("project", &["exec"], &format!("a\n{TOKEN}\nMARKED\nb"), &[]).expect(0).out;
    assert!(out.starts_with("a\n[SECRET") && out.ends_with("\n[SECRET]\nb"), "{out}");
}

#[test]
fn where_no_hook_masks_the_tool_the_command_runs_as_it_is() {
    let rig = rig();
    rig.write("user.yaml", "version: 1\nhooks: [{ name: a, on: after_tool, match: { tool: x }, redact: { lines: y } }]\n");
    for shell in shells() {
        let text_of = wrapped(&rig, "echo MARKED; [ -p /dev/fd/1 ]; exit 3", &["--tool", "Bash"]);
        let ran = ran(&rig, shell, &text_of);
        assert_eq!(
            (text(&ran.stdout).as_str(), ran.status.code()),
            ("MARKED\n", Some(3)),
            "{shell}"
        );
    }
}

#[test]
fn a_terminal_stays_a_terminal_of_the_same_size() {
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};
    let rig = rig();
    let host = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&host).unwrap();
    unlockpt(&host).unwrap();
    let name = ptsname(&host, Vec::new()).unwrap();
    let size = Winsize { ws_row: 33, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&host, size).unwrap();
    let terminal = || {
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        Stdio::from(rustix::fs::open(&name, flags, Mode::empty()).unwrap())
    };
    let command = format!("[ -t 1 ] && [ -t 2 ] && echo tty; stty size <&1; echo {TOKEN}; exit 3");
    let mut child = Command::new("bash")
        .args(["-c", &wrapped(&rig, &command, &[])])
        .current_dir(rig.path("project"))
        .stdin(Stdio::null())
        .stdout(terminal())
        .stderr(terminal())
        .spawn()
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let mut shown = String::new();
    let mut piece = [0; 1024];
    while !shown.contains("SECRET") {
        let read = rustix::io::read(&host, &mut piece).unwrap();
        shown.push_str(&text(&piece[..read]));
    }
    assert!(shown.starts_with("tty\r\n33 77\r\n[SECRET"), "{shown:?}");
}
