//! `tollgate redact`: standard input to standard output, with masks.
//!
//! A filter in a pipe: what is complete goes out at once, a reader that has gone away ends it quietly, and
//! what was not looked at is never written.

use crate::args::{Globals, MaskForm, RedactArguments, RedactFormat};
use crate::exit::{Exit, Failure};
use crate::looking::{beside, detector, masks_nothing, named};
use crate::output::tell_people;
use crate::scan::wide::is_wide;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Cursor, ErrorKind, Read, Write as _};
use std::sync::Arc;
use tollgate::detect::limits::LINE_BYTES_MAX;
use tollgate::detect::{Context, Mask, Piped, Redactor, Standing, StreamFormat};
use tollgate::gate::text::{shown, shown_block};
use tollgate::policy::Loaded;

/// How many characters `--mask stars` keeps at either end, as far as the kind of datum allows.
const STARS_KEPT_CHARS: usize = 2;
/// How much is read at a time, in bytes.
const READ_BYTES: usize = 64 * 1024;

pub(crate) fn run(globals: &Globals, arguments: &RedactArguments) -> Result<Exit, Failure> {
    if let Some(policy) = named(globals, &arguments.what)? {
        return by_policy(&policy, arguments);
    }
    let mask = match arguments.mask.unwrap_or(MaskForm::Plain) {
        MaskForm::Plain => Mask::Plain,
        MaskForm::Label => Mask::Label,
        MaskForm::Stars => {
            Mask::Stars { keep_first: STARS_KEPT_CHARS, keep_last: STARS_KEPT_CHARS }
        }
        MaskForm::Shape => Mask::Shape,
    };
    let format = match arguments.format {
        RedactFormat::Text => StreamFormat::Text,
        RedactFormat::Jsonl => StreamFormat::JsonLines,
    };
    let redactor = Redactor::new(Arc::new(detector(&arguments.what)?)).mask(mask);
    let mut counts = BTreeMap::new();
    let (mut input, mut out) = (input()?, io::stdout().lock());
    let piped = redactor.pipe(&mut input, &mut out, format, &Context::default(), |finding| {
        if finding.standing == Standing::Active {
            *counts.entry(finding.rule).or_insert(0_u64) += 1;
        }
    });
    let piped = match piped {
        Ok(piped) => piped,
        // A reader that has gone away wants no more.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(Exit::Done),
        Err(error) => return Err(broken(&error)),
    };
    if arguments.report {
        let mut report = format!("{} masked\n", counts.values().sum::<u64>());
        for (rule, count) in &counts {
            let _ = writeln!(report, "{count:>8}  {rule}");
        }
        tell_people(format_args!("{}", shown_block(report.trim_end(), usize::MAX)));
    }
    Ok(withheld(&piped))
}

/// Masks as the policy's hooks do. A redactor that fails ends it: what it did not see is never written.
fn by_policy(policy: &Loaded, arguments: &RedactArguments) -> Result<Exit, Failure> {
    let is_lines = arguments.format == RedactFormat::Jsonl;
    for (is_said, flag) in [
        (arguments.mask.is_some(), "--mask"),
        (arguments.report, "--report"),
        (is_lines, "--format jsonl"),
    ] {
        if is_said {
            return Err(beside(flag));
        }
    }
    let redaction = policy.redaction().map_err(Failure::internal)?;
    let mut redaction = redaction.ok_or_else(masks_nothing)?;
    let (mut input, mut out) = (input()?, io::stdout().lock());
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(broken(&error)),
        };
        let piece = buffer.get(..read).unwrap_or_default();
        let masked = if read == 0 { redaction.flush() } else { redaction.push(piece) };
        let masked = match masked {
            Ok(masked) => masked,
            Err(error) => {
                tell_people(format_args!(
                    "warning: the rest was withheld: {}",
                    shown(&error.to_string(), usize::MAX)
                ));
                return Ok(Exit::No);
            }
        };
        match out.write_all(&masked).and_then(|()| out.flush()) {
            Ok(()) if read == 0 => return Ok(Exit::Done),
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(Exit::Done),
            Err(error) => return Err(broken(&error)),
        }
    }
}

/// Standard input. What says that it is UTF-16 is refused: its bytes would pass as they are, with all their data.
fn input() -> Result<impl Read, Failure> {
    let (mut input, mut head) = (io::stdin().lock(), Vec::new());
    // A second byte is waited for only where the first may begin the mark.
    while head.len() < 2 && head.first().is_none_or(|first| *first >= 0xfe) {
        let read = input.by_ref().take(1).read_to_end(&mut head);
        if read.map_err(|error| broken(&error))? == 0 {
            break;
        }
    }
    if is_wide(&head) {
        let remedy = "iconv -f utf-16 -t utf-8 | tollgate redact";
        return Err(Failure::usage("the text is in UTF-16", remedy));
    }
    Ok(Cursor::new(head).chain(input))
}

fn broken(error: &io::Error) -> Failure {
    Failure::internal(format!("the stream broke off: {error}"))
}

/// Says what was withheld.
fn withheld(piped: &Piped) -> Exit {
    if piped.lines_withheld > 0 {
        let lines = crate::commands::check::counted(piped.lines_withheld as usize, "line");
        tell_people(format_args!("warning: {lines} withheld: longer than {LINE_BYTES_MAX} bytes"));
    }
    if let Some(fault) = &piped.incomplete {
        tell_people(format_args!("warning: a part was withheld: {fault}"));
    }
    match piped.lines_withheld > 0 || piped.incomplete.is_some() {
        true => Exit::No,
        false => Exit::Done,
    }
}
