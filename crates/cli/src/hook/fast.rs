//! The way to the hook past the command line's parser, which costs more than a decision does.
//!
//! Only the forms that `tollgate install` writes are known here; anything else takes the parser.

use crate::args::{Globals, HookArguments};
use std::ffi::OsString;

/// The arguments of a hook, if they are in the usual form.
pub(crate) fn fast(arguments: impl Iterator<Item = OsString>) -> Option<(Globals, HookArguments)> {
    let mut words = arguments.skip(1);
    if words.next()? != "hook" {
        return None;
    }
    let host = words.next()?.into_string().ok()?;
    if host.starts_with('-') {
        return None;
    }
    let mut globals = Globals { policy: Vec::new(), state: None };
    let mut hook = HookArguments { host, event: None, wrap: false };
    while let Some(flag) = words.next() {
        if flag == "--wrap" {
            hook.wrap = true;
            continue;
        }
        let value = words.next()?;
        match flag.to_str()? {
            "--policy" => globals.policy.push(value.into()),
            "--state" if globals.state.is_none() => globals.state = Some(value.into()),
            "--event" if hook.event.is_none() => hook.event = Some(value.into_string().ok()?),
            _ => return None,
        }
    }
    Some((globals, hook))
}

#[cfg(test)]
mod tests {
    use super::fast;
    use std::path::Path;

    fn read(line: &str) -> Option<(String, usize, bool, Option<String>)> {
        let words = line.split_whitespace().map(Into::into);
        let (globals, hook) = fast(words)?;
        Some((hook.host, globals.policy.len(), globals.state.is_some(), hook.event))
    }

    #[test]
    fn what_install_writes_needs_no_parser_and_anything_else_gets_one() {
        let plain = read("tollgate hook codex").unwrap();
        assert_eq!(plain, ("codex".to_owned(), 0, false, None));
        let full = "tollgate hook copilot --policy /p --policy /q --state /s --event preToolUse";
        assert_eq!(read(full).unwrap(), ("copilot".into(), 2, true, Some("preToolUse".into())));
        let (globals, _) = fast(full.split_whitespace().map(Into::into)).unwrap();
        assert_eq!(globals.policy, [Path::new("/p"), Path::new("/q")]);
        for other in [
            "tollgate",
            "tollgate hook",
            "tollgate hook --help",
            "tollgate hook codex --help",
            "tollgate hook codex --state",
            "tollgate --policy p hook codex",
            "tollgate check",
        ] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
