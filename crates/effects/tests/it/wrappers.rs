//! Wrapping a command never loses an effect; quoting never invents one; nothing panics.

use std::collections::BTreeSet;

use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use tollgate_effects::{Effects, Reason, Verb, shell_effects};

use crate::place::context;

fn facts(effects: &Effects) -> BTreeSet<String> {
    effects.iter().map(|effect| format!("{} {}", effect.verb, effect.target)).collect()
}

fn facts_of(command: &str) -> BTreeSet<String> {
    facts(&shell_effects(command, &context()))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let value =
            chunk.iter().fold(0u32, |v, b| (v << 8) | u32::from(*b)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let letter = LETTERS.get((value >> (18 - 6 * place)) as usize & 63);
            out.extend(letter.map(|letter| char::from(*letter)));
        }
    }
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

/// Commands whose effects do not depend on the folder, each with what must be seen.
const BASES: &[(&str, &str)] = &[
    ("rm -rf /etc", "deletes /etc and all below"),
    ("cat /etc/shadow", "reads /etc/shadow"),
    ("echo x > /etc/motd", "writes /etc/motd"),
    ("curl http://host.example/x", "contacts host.example"),
    ("mkfs.ext4 /dev/sda1", "destroys disk"),
    ("git push --force origin main", "destroys shared-history"),
    ("mv /srv/a /srv/b", "deletes /srv/a and all below"),
    ("dd if=/dev/zero of=/dev/sda", "destroys disk"),
    ("psql -c \"DROP TABLE users\"", "destroys database"),
    ("python3 -c \"import os; os.remove('/srv/x')\"", "deletes /srv/x"),
    ("terraform destroy", "destroys cloud"),
    ("claude -p x --dangerously-skip-permissions", "runs agent claude, its guards off"),
];

const WRAPPERS: usize = 90;

/// A mark of the inside that must never be shown.
const UNKNOWN_MARK: char = '\u{E00F}';

fn wrapped(text: &str, wrapper: usize, level: usize) -> String {
    let q = quoted(text);
    match wrapper {
        0 => format!("sh -c {q}"),
        1 => format!("bash -lc {q}"),
        2 => format!("env -i A=b sh -c {q}"),
        3 => format!("A=b sudo -u root bash -c {q}"),
        4 => format!("doas sh -c {q}"),
        5 => format!("su -c {q}"),
        6 => format!("timeout -s KILL 5 nice -n 3 sh -c {q}"),
        7 => format!("nohup sh -c {q} &"),
        8 => format!("stdbuf -oL time sh -c {q}"),
        9 => format!("(\n{text}\n)"),
        10 => format!("{{\n{text}\n}}"),
        11 => format!("if true; then\n{text}\nfi"),
        12 => format!("if false; then :; else\n{text}\nfi"),
        13 => format!("for i in 1 2; do\n{text}\ndone"),
        14 => format!("while true; do\n{text}\nbreak; done"),
        15 => format!("case x in a) ls;; *)\n{text}\n;; esac"),
        16 => format!("echo \"$(\n{text}\n)\""),
        17 => format!("f{level}() {{\n{text}\n}}; f{level}"),
        18 => format!("eval {q}"),
        19 => format!("echo {q} | sh"),
        20 => format!("printf '%s\\n' {q} | bash -s"),
        21 => format!("bash <<'END{level}'\n{text}\nEND{level}"),
        22 => format!("cat <<'END{level}' | sh\n{text}\nEND{level}"),
        23 => format!("echo {} | base64 -d | sh", base64(text)),
        24 => format!("echo x | xargs -I@@ sh -c {q}"),
        25 => format!("find . -name x -exec sh -c {q} \\;"),
        26 => format!("ssh host {q}"),
        27 => format!("cat <(\n{text}\n)"),
        28 => format!("true && {{\n{text}\n}}"),
        29 => format!("false || {{\n{text}\n}}"),
        30 => format!("ls | {{\n{text}\n}}"),
        31 => format!("trap {q} EXIT"),
        32 => format!("x={q}; eval \"$x\""),
        33 => format!("watch -n 1 {q}"),
        34 => format!("tmux send-keys -t 0 {q} Enter"),
        35 => format!("flock /tmp/l -c {q}"),
        36 => format!("bash -c {} a {q}", quoted("eval \"$1\"")),
        37 => format!("sh <<< {q}"),
        38 => format!("alias a{level}={q}\na{level}"),
        39 => format!("docker run --rm alpine sh -c {q}"),
        40 => format!("docker compose exec -T web sh -c {q}"),
        41 => format!("kubectl exec web-0 -- sh -c {q}"),
        42 => format!("env -S {}", quoted(&format!("sh -c {q}"))),
        43 => format!("export V={q}; sh -c \"$V\""),
        _ => wrapped_further(text, wrapper, level),
    }
}

/// Wrappers around a text: other programs and other quotings.
fn wrapped_further(text: &str, wrapper: usize, level: usize) -> String {
    let q = quoted(text);
    match wrapper {
        44 => format!("echo `{}`", escaped(text, &['\\', '`', '$'])),
        45 => format!("until false; do\n{text}\nbreak; done"),
        46 => format!("parallel -q sh -c {q} ::: 1"),
        47 => format!("systemd-run --user sh -c {q}"),
        48 => format!("echo {q} | at now"),
        49 => format!("python3 -c {}", quoted(&format!("import os; os.system({})", literal(text)))),
        50 => {
            let code = format!("require('child_process').execSync({})", literal(text));
            format!("node -e {}", quoted(&code))
        }
        51 => format!("perl -e {}", quoted(&format!("system({})", single(text)))),
        52 => format!("ruby -e {}", quoted(&format!("system({})", single(text)))),
        53 => format!("pushd /tmp > /dev/null && {{\n{text}\n}}"),
        54 => format!("echo x > >(\n{text}\n)"),
        55 => format!("bash <<END{level}\n{}\nEND{level}", escaped(text, &['\\', '`', '$'])),
        56 => format!("exec sh -c {q}"),
        57 => format!("command sh -c {q}"),
        58 => format!("setsid sh -c {q}"),
        59 => format!("function g{level} {{\n{text}\n}}\ng{level}"),
        60 => format!("coproc {{\n{text}\n}}"),
        61 => format!("select x in a; do\n{text}\nbreak; done"),
        62 => format!("[[ -n x ]] && {{\n{text}\n}}"),
        63 => format!("awk {}", quoted(&format!("BEGIN {{ system({}) }}", literal(text)))),
        64 => format!("busybox sh -c {q}"),
        65 => format!("ssh -t user@host sh -c {}", quoted(&q)),
        66 => format!("find . -name x -exec env sh -c {q} {{}} +"),
        67 => format!("cd /tmp; {text}"),
        68 => format!("printf %s {} | xxd -r -p | sh", hex(text)),
        69 => format!("sudo -E env A=b nohup timeout 9 sh -c {q}"),
        _ => wrapped_by_an_option(wrapper, &q),
    }
}

/// Options, variables and rare programs that run a command.
fn wrapped_by_an_option(wrapper: usize, q: &str) -> String {
    let sh = quoted(&format!("sh -c {q}"));
    match wrapper {
        70 => format!("split --filter={sh} x"),
        71 => format!("git -c core.pager={sh} log"),
        72 => format!("GIT_SSH_COMMAND={sh} git fetch"),
        73 => format!("scp -o ProxyCommand={sh} x host:"),
        74 => format!("tar cf /dev/null x --checkpoint=1 --checkpoint-action exec={sh}"),
        75 => format!("rsync -e {sh} x host:y"),
        76 => format!("PAGER={sh} man ls"),
        77 => format!("script -q /dev/null sh -c {q}"),
        78 => format!("setarch x86_64 -R sh -c {q}"),
        79 => format!("perf trace -o /tmp/x sh -c {q}"),
        80 => format!("rustup run stable sh -c {q}"),
        81 => format!("unshare --map-root-user --mount sh -c {q}"),
        82 => format!("tool-nobody-knows -n 1 sh -c {q}"),
        83 => format!("git difftool --extcmd={sh}"),
        84 => format!("sort --compress-program={sh} x"),
        85 => format!("cpulimit -l 50 sh -c {q}"),
        86 => format!("npm exec -- sh -c {q}"),
        87 => format!("npx sh -c {q}"),
        88 => format!("apt-get -o Dpkg::Pre-Invoke::={sh} update"),
        _ => format!("KUBE_EDITOR={sh} kubectl edit pod x"),
    }
}

fn escaped(text: &str, special: &[char]) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if special.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A string in double quotes, as Python, JavaScript and awk read it.
fn literal(text: &str) -> String {
    format!("\"{}\"", escaped(text, &['\\', '"']).replace('\n', "\\n"))
}

/// A string in single quotes, as Perl and Ruby read it.
fn single(text: &str) -> String {
    format!("'{}'", escaped(text, &['\\', '\'']))
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

proptest! {
    #[test]
    fn wrapping_never_loses_an_effect(
        base in 0..BASES.len(),
        chain in proptest::collection::vec(0..WRAPPERS, 0..5),
    ) {
        let (command, fact) = BASES[base];
        let mut text = command.to_owned();
        for (level, wrapper) in chain.iter().enumerate() {
            text = wrapped(&text, *wrapper, level);
        }
        let seen = shell_effects(&text, &context());
        // A chain can grow over a cap; that is said, so nothing is silent.
        let capped = [Reason::Size, Reason::Depth, Reason::Steps];
        if seen.unknowns(Verb::Runs).any(|(reason, _)| capped.contains(&reason)) {
            return Ok(());
        }
        let facts = facts(&seen);
        // In a container a path is one of the container's.
        let kept = facts.iter().any(|seen| seen.replace("container:", "") == fact);
        prop_assert!(kept, "{fact} is lost in\n{text}\nseen: {facts:#?}");
    }

    #[test]
    fn quoting_never_invents_an_effect(text in "[ -~\n]{0,80}") {
        let told = quoted(&text);
        for front in ["echo ", "git commit -m ", "grep -e ", "rg -- ", "printf '%s' ", "true "] {
            prop_assert_eq!(facts_of(&format!("{front}{told}")), facts_of(&format!("{front}x")));
        }
    }

    #[test]
    fn a_quoted_here_document_is_data(text in "[ -~\n]{0,120}") {
        let command = format!("cat > notes.txt <<'STOP-HERE'\n{text}\nSTOP-HERE\n");
        prop_assert_eq!(facts_of(&command), facts_of("cat > notes.txt <<'STOP-HERE'\nx\nSTOP-HERE\n"));
    }

    #[test]
    fn no_text_panics(text in noise()) {
        let effects = shell_effects(&text, &context());
        for row in effects.rows() {
            let shown = !row.target.contains(UNKNOWN_MARK);
            prop_assert!(shown);
        }
    }

    #[test]
    fn no_characters_panic(text in any::<String>()) {
        shell_effects(&text, &context());
    }
}

/// What texts of noise are made of.
const PIECES: &[&str] = &[
    "rm -rf ",
    "/",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "<<E\n",
    "E\n",
    "<(",
    "{",
    "}",
    "if ",
    "then ",
    "fi ",
    "for i in ",
    "do ",
    "done ",
    "case x in ",
    "esac ",
    "a) ",
    ";;",
    "${x:-",
    "${x#",
    "$((",
    "))",
    "[[ ",
    " ]]",
    "f() ",
    "x=(",
    "=",
    "~",
    "*",
    "?",
    "[",
    "]",
    "!",
    "#",
    "eval ",
    "sh -c ",
    "xargs ",
    "find . -exec ",
    "$@",
    "$1",
    ">",
    "<",
    ">>",
    "2>&1",
    " ",
    "\t",
    "a",
    "{a,b}",
    "$'\\x41'",
    "é",
    "\u{202E}",
    "python3 -c ",
    "awk ",
    "sed s/",
    "git ",
    "tar ",
    "powershell -c ",
    "declare x=(",
];

fn noise() -> impl Strategy<Value = String> {
    let piece = prop_oneof![9 => proptest::sample::select(PIECES.to_vec()).prop_map(str::to_owned), 1 => "[ -~]{1,6}", 1 => Just(String::new())];
    proptest::collection::vec(piece, 0..40).prop_map(|list| list.concat())
}
