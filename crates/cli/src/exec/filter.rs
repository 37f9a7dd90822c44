//! The filter itself: what comes in at the doors goes out masked, as soon as it can.
//!
//! Once a redactor has failed or panicked, a notice goes out and nothing else: what comes is read and
//! thrown away, so that the command runs on to its own end and exit code.

use super::door::{Door, Doors};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread, read, write};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tempfile::TempDir;
use tollgate::gate::panics;
use tollgate::policy::actions::RedactError;
use tollgate::policy::stream::OutputRedaction;

/// What stands in place of output that could not be looked at.
const WITHHELD: &[u8] =
    b"\n[tollgate: what follows is withheld, for it could not be looked at for secrets]\n";
/// Most bytes that are taken at once.
const PIECE_BYTES_MAX: usize = 64 * 1024;
/// After this time without output a question that is held back is shown, in nanoseconds.
const QUESTION_NANOS: i64 = 300_000_000;
/// A shell that was told the way and has not come in this time will not come, in seconds.
const SHELL_SECONDS_MAX: i64 = 10;

/// One stream.
struct Stream {
    input: OwnedFd,
    /// The other end, until the shell has come.
    held: Option<OwnedFd>,
    output: OwnedFd,
    state: State,
    at_end: bool,
}

enum State {
    Unmasked,
    Masked(OutputRedaction),
    /// A redactor failed.
    Withheld,
}

/// The shell's questions, and where they are answered.
struct Bell {
    ask: OwnedFd,
    /// Both ends of the answers are held: the shell comes and goes.
    told: (OwnedFd, OwnedFd),
    _asks: Option<OwnedFd>,
}

/// The filter.
pub(super) struct Filter {
    streams: Vec<Stream>,
    bell: Option<Bell>,
    shell_has_come: bool,
    /// Named pipes live as long as it.
    _folder: Option<TempDir>,
}

impl Filter {
    /// From one stream to another.
    pub(super) fn of_pipe(
        input: OwnedFd,
        output: OwnedFd,
        redaction: Option<OutputRedaction>,
    ) -> Filter {
        let state = redaction.map_or(State::Unmasked, State::Masked);
        let stream = Stream { input, held: None, output, state, at_end: false };
        Filter { streams: vec![stream], bell: None, shell_has_come: true, _folder: None }
    }

    /// From the doors to this process's own output and error.
    pub(super) fn of_doors(
        doors: Doors,
        output: OutputRedaction,
        error: OutputRedaction,
    ) -> io::Result<Filter> {
        let stdout = io::stdout().as_fd().try_clone_to_owned()?;
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        let Doors { output: first, error: second, ask, told, folder } = doors;
        let stream = |door: Door, output, redaction| Stream {
            input: door.read,
            held: door.write,
            output,
            state: State::Masked(redaction),
            at_end: false,
        };
        let mut streams = vec![stream(first, stdout, output)];
        streams.extend(second.map(|door| stream(door, stderr, error)));
        let told = told.write.map(|write| (told.read, write));
        let told = told.ok_or_else(|| io::Error::other("a door without its other end"))?;
        let bell = Some(Bell { ask: ask.read, told, _asks: ask.write });
        Ok(Filter { streams, bell, shell_has_come: false, _folder: folder })
    }

    /// Runs until nobody holds a door any more.
    pub(super) fn run(mut self) -> io::Result<()> {
        while self.streams.iter().any(|stream| !stream.at_end) {
            let (ready, rang) = self.wait()?;
            if ready.is_empty() && !rang {
                if !self.shell_has_come {
                    return Ok(());
                }
                self.streams.iter_mut().try_for_each(Stream::show_question)?;
                continue;
            }
            if rang {
                self.answer()?;
                continue;
            }
            for at in ready {
                if let Some(stream) = self.streams.get_mut(at) {
                    stream.pass(PIECE_BYTES_MAX)?;
                }
            }
        }
        Ok(())
    }

    /// Which streams have something, and whether the shell asks.
    fn wait(&self) -> io::Result<(Vec<usize>, bool)> {
        let open = || self.streams.iter().enumerate().filter(|(_, stream)| !stream.at_end);
        let mut watched: Vec<PollFd<'_>> =
            open().map(|(_, stream)| PollFd::new(&stream.input, PollFlags::IN)).collect();
        if let Some(bell) = &self.bell {
            watched.push(PollFd::new(&bell.ask, PollFlags::IN));
        }
        let question = Timespec { tv_sec: 0, tv_nsec: QUESTION_NANOS };
        let shell = Timespec { tv_sec: SHELL_SECONDS_MAX, tv_nsec: 0 };
        let limit = match self.shell_has_come {
            false => Some(&shell),
            true => self.streams.iter().any(Stream::holds_question).then_some(&question),
        };
        loop {
            match poll(&mut watched, limit) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut seen = watched.iter().map(|watched| !watched.revents().is_empty());
        let ready = open().filter(|_| seen.next() == Some(true)).map(|(at, _)| at).collect();
        Ok((ready, seen.next() == Some(true)))
    }

    /// Passes on all that has been printed by now, then says so.
    fn answer(&mut self) -> io::Result<()> {
        let Some(bell) = &self.bell else { return Ok(()) };
        read(&bell.ask, &mut [0; 1])?;
        for stream in &mut self.streams {
            // From here on a stream ends when its last writer does.
            stream.held = None;
        }
        if !self.shell_has_come {
            // The first time the shell only says that it has come.
            self.shell_has_come = true;
            return Ok(());
        }
        for stream in &mut self.streams {
            stream.catch_up()?;
        }
        write_all(&bell.told.1, b"\n")
    }
}

impl Stream {
    /// Takes a piece and passes it on.
    fn pass(&mut self, bytes_max: usize) -> io::Result<usize> {
        let mut piece = vec![0; bytes_max.min(PIECE_BYTES_MAX)];
        let count = match read(&self.input, &mut piece) {
            // A terminal whose last writer has gone says EIO.
            Ok(0) | Err(Errno::IO) => {
                self.at_end = true;
                self.through(OutputRedaction::flush)?;
                return Ok(0);
            }
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        piece.truncate(count);
        match &self.state {
            State::Unmasked => write_all(&self.output, &piece)?,
            State::Masked(_) => self.through(|redaction| redaction.push(&piece))?,
            State::Withheld => {}
        }
        Ok(count)
    }

    /// Passes on what has been written by now, and no more.
    fn catch_up(&mut self) -> io::Result<()> {
        let waiting = if self.at_end { 0 } else { ioctl_fionread(&self.input)? };
        let mut left = usize::try_from(waiting).unwrap_or(0);
        while left > 0 && !self.at_end {
            let count = self.pass(left)?;
            if count == 0 {
                break;
            }
            left = left.saturating_sub(count);
        }
        self.through(OutputRedaction::flush)
    }

    fn holds_question(&self) -> bool {
        matches!(&self.state, State::Masked(redaction) if redaction.holds_question())
    }

    fn show_question(&mut self) -> io::Result<()> {
        self.through(OutputRedaction::question)
    }

    /// One step of the redaction, and what it lets go.
    fn through(
        &mut self,
        step: impl FnOnce(&mut OutputRedaction) -> Result<Vec<u8>, RedactError>,
    ) -> io::Result<()> {
        let State::Masked(redaction) = &mut self.state else { return Ok(()) };
        let stepped = catch_unwind(AssertUnwindSafe(|| step(redaction)));
        match stepped {
            Ok(Ok(bytes)) => write_all(&self.output, &bytes),
            Ok(Err(_)) => self.withhold(),
            Err(panic) => {
                panics::told(panic);
                self.withhold()
            }
        }
    }

    fn withhold(&mut self) -> io::Result<()> {
        self.state = State::Withheld;
        write_all(&self.output, WITHHELD)
    }
}

/// Writes all of it, also to a place that does not wait by itself.
fn write_all(to: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(to, bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::new(to, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Filter, WITHHELD};
    use rustix::pipe::pipe;
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use tollgate::policy::actions::{RedactError, RedactStream};
    use tollgate::policy::stream::OutputRedaction;

    struct Breaks {
        panics: bool,
    }

    impl RedactStream for Breaks {
        fn push(&mut self, piece: &[u8]) -> Result<Vec<u8>, RedactError> {
            if !piece.starts_with(b"secret") {
                return Ok(piece.to_vec());
            }
            if self.panics {
                panic!("looked at {}", String::from_utf8_lossy(piece));
            }
            Err(RedactError { redactor: "breaks".into(), cause: "broken".to_owned() })
        }

        fn flush(&mut self) -> Result<Vec<u8>, RedactError> {
            Ok(Vec::new())
        }

        fn holds_question(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_redactor_that_breaks_withholds_the_rest_and_lets_the_writer_go_on() {
        for panics in [false, true] {
            let (input, from) = pipe().unwrap();
            let (to, output) = pipe().unwrap();
            let redaction = OutputRedaction::of_stages(vec![Box::new(Breaks { panics })]);
            let filter = Filter::of_pipe(input, output, Some(redaction));
            let filter = std::thread::spawn(move || filter.run());
            let (mut from, mut to) = (File::from(from), File::from(to));
            from.write_all(b"before\n").unwrap();
            let mut first = [0; 7];
            to.read_exact(&mut first).unwrap();
            for _ in 0..10_000 {
                from.write_all(b"secret text that nobody has looked at\n").unwrap();
            }
            drop(from);
            filter.join().unwrap().unwrap();
            let mut rest = Vec::new();
            to.read_to_end(&mut rest).unwrap();
            assert_eq!((&first, &*rest), (b"before\n", WITHHELD), "panics: {panics}");
        }
    }
}
