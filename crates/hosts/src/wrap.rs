//! Wrapping: a shell command rewritten beforehand so that what it prints passes `tollgate exec` first.
//!
//! Hosts show a hook only the results that ended well, or only the last piece of them; what a failing
//! command prints, and what is handed out early, no hook can replace. So the command itself is made to
//! mask its output. It still runs in the very shell that the host started: the text points the
//! standard output and error of that shell at the filter and then evaluates the command, so that `cd`,
//! exports, background jobs, `$!`, `wait`, `exit` and signals are what they were. The filter is no
//! child of the shell that `wait` could see.
//!
//! The text is the same for every POSIX shell (bash, zsh, dash, ksh, ash); the command stands in it
//! as one quoted word, so that unbalanced quotes, here-documents, comments and trailing backslashes
//! cannot swallow what comes behind it. Where the filter does not start, nothing is run.
//!
//! Refused: wrapping twice ([`wrap`] of a wrapped text is that text), and taking a text for wrapped
//! that [`wrap`] would not have written with the same program and words.

/// The exit code of a wrapped command whose filter did not start.
pub const NOT_STARTED: u8 = 126;

/// How a command is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapping<'w> {
    /// The program `tollgate`, by its absolute path.
    pub program: &'w str,
    /// What it is told behind `exec --open`, word by word.
    pub words: &'w [String],
    /// Whether the command reads nothing, for hosts that let the model type into it unseen.
    pub stdin: Stdin,
}

/// What a wrapped command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// What the host gives it.
    Kept,
    /// Nothing: what the host types is never read.
    Closed,
}

// The pieces of the text, in order. In the command substitution the filter's standard input is the
// substitution's pipe, by which it says how to reach it; its output and error are the shell's own,
// as 3 and 4. It ignores the signals that end the command, for it has to print what is left.
const START: &str = "{ tollgate_exec=$(trap '' HUP INT QUIT TERM; ";
const OPEN: &str = " exec --open";
const BEHIND: &str = " 0>&1 1>&3 2>&4 3>&- 4>&- &); } 3>&1 4>&2; eval \"${tollgate_exec:-echo \
                      tollgate exec did not start, so nothing was run >&2; exit 126}\"; ";
const CLOSED: &str = "exec </dev/null; ";
const EVAL: &str = "eval ";
const END: &str = "; tollgate_exec_end";

/// The command, wrapped. A command that is wrapped so already stays as it is.
pub fn wrap(command: &str, wrapping: &Wrapping<'_>) -> String {
    if unwrap(command, wrapping).is_some() {
        return command.to_owned();
    }
    let mut text = head(wrapping);
    text.reserve(command.len() + END.len() + 2);
    push_quoted(&mut text, command);
    text.push_str(END);
    text
}

/// The lines by which a shell masks all that it prints from then on, for hosts that evaluate lines of
/// their hooks before each command: the command itself then stays as the model wrote it, and the
/// host's own rules see it so.
pub fn shell_lines(wrapping: &Wrapping<'_>) -> String {
    let mut text = opening(wrapping);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The command inside of a text that [`wrap`] has written with this wrapping; `None` for every other
/// text. A text that names another program, or tells it something else, is not believed: it would run
/// what nobody has judged.
pub fn unwrap(text: &str, wrapping: &Wrapping<'_>) -> Option<String> {
    let (command, rest) = take_quoted(text.strip_prefix(&*head(wrapping))?)?;
    (rest == END).then_some(command)
}

/// All that stands before the command.
fn head(wrapping: &Wrapping<'_>) -> String {
    let mut text = opening(wrapping);
    text.push_str(EVAL);
    text
}

/// What points the shell's output at the filter.
fn opening(wrapping: &Wrapping<'_>) -> String {
    let mut text = String::from(START);
    push_quoted(&mut text, wrapping.program);
    text.push_str(OPEN);
    for word in wrapping.words {
        text.push(' ');
        push_quoted(&mut text, word);
    }
    text.push_str(BEHIND);
    if wrapping.stdin == Stdin::Closed {
        text.push_str(CLOSED);
    }
    text
}

/// Writes one word that a shell reads back as it is.
fn push_quoted(out: &mut String, word: &str) {
    out.push('\'');
    out.push_str(&word.replace('\'', r"'\''"));
    out.push('\'');
}

/// One quoted word at the start, and what stands behind it.
fn take_quoted(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut word = String::new();
    loop {
        let (piece, behind) = rest.split_once('\'')?;
        word.push_str(piece);
        match behind.strip_prefix(r"\''") {
            Some(more) => {
                word.push('\'');
                rest = more;
            }
            None => return Some((word, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stdin, Wrapping, shell_lines, unwrap, wrap};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_was_wrapped_comes_out_again_byte_for_byte() {
        let commands = [
            "",
            "ls",
            "echo 'a'",
            "'",
            "''",
            r"'\''",
            "a\\",
            "cat <<E\nx\nE",
            "# c",
            "echo \"$(date)\"",
            "x; tollgate_exec_end",
            "\n\n",
            "printf '%s' \"it's\" # '",
        ];
        for program in ["/usr/bin/tollgate", "/o'dd path/tollgate"] {
            for list in [words(&[]), words(&["--host", "codex", "--policy", "/a 'b'/p.yaml"])] {
                for stdin in [Stdin::Kept, Stdin::Closed] {
                    let wrapping = Wrapping { program, words: &list, stdin };
                    for command in commands {
                        let text = wrap(command, &wrapping);
                        assert_eq!(unwrap(&text, &wrapping).as_deref(), Some(command), "{text}");
                        assert_eq!(wrap(&text, &wrapping), text, "wrapped once");
                    }
                }
            }
        }
    }

    #[test]
    fn the_lines_of_a_shell_are_what_stands_before_a_command() {
        let list = words(&["--host", "claude-code"]);
        let wrapping = Wrapping { program: "/t", words: &list, stdin: Stdin::Kept };
        let lines = shell_lines(&wrapping);
        assert_eq!(lines.matches('\n').count(), 1, "{lines}");
        let wrapped = wrap("ls", &wrapping);
        assert!(wrapped.starts_with(lines.trim_end()) && wrapped.contains("eval 'ls'"), "{lines}");
    }

    #[test]
    fn no_other_text_is_taken_for_a_wrapped_one() {
        let list = words(&["--host", "codex"]);
        let wrapping = Wrapping { program: "/t", words: &list, stdin: Stdin::Closed };
        let text = wrap("ls", &wrapping);
        let forged = [
            format!("{text}; rm -rf ~"),
            format!("rm -rf ~; {text}"),
            text.replace("trap ''", "rm x; trap ''"),
            text.replace("'--host'", "'--host' $(rm x)"),
            text.replace("'/t'", "'/tmp/t'"),
            text.replace("'codex'", "'other'"),
            text.replace("eval 'ls'", "rm x; eval 'ls'"),
            text.replace("eval 'ls'", "eval 'ls' \"$(rm x)\""),
            text.replace("exec </dev/null", "exec </etc/shadow"),
        ];
        for forged in forged {
            assert_ne!(forged, text);
            assert_eq!(unwrap(&forged, &wrapping), None, "{forged}");
        }
        assert_eq!(unwrap("ls", &wrapping), None);
    }
}
