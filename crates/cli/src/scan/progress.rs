//! The progress of a scan: one line on standard error, while that is a terminal, gone when it ends.
//!
//! A scan that is over at once shows nothing.

use super::Totals;
use super::report::size;
use crate::commands::check::counted;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// How often it is drawn at most, and how long it waits at first.
const DRAW_EVERY: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_millis(300);
/// Width of the bar, in characters.
const BAR_CHARS: usize = 24;

pub(crate) struct Progress {
    shows: bool,
    next: Instant,
    drawn: bool,
    files: usize,
    files_done: usize,
    bytes: u64,
    bytes_done: u64,
    /// Of the file that is told now.
    bytes_going: u64,
}

impl Progress {
    pub(crate) fn of_stderr() -> Progress {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Progress {
            shows: std::io::stderr().is_terminal() && !dumb,
            next: Instant::now() + PATIENCE,
            drawn: false,
            files: 0,
            files_done: 0,
            bytes: 0,
            bytes_done: 0,
            bytes_going: 0,
        }
    }

    /// While the files are listed.
    pub(crate) fn listing(&mut self, files: usize) {
        if self.is_due() {
            self.write(&format!("listing: {}", counted(files, "file")));
        }
    }

    /// How much there is to do.
    pub(crate) fn expect(&mut self, files: usize, bytes: u64) {
        (self.files, self.bytes) = (files, bytes);
    }

    /// So much of a file is read.
    pub(crate) fn going(&mut self, bytes: u64) {
        self.bytes_going = bytes;
    }

    /// A file of this length is done.
    pub(crate) fn done(&mut self, bytes: u64) {
        self.bytes_going = 0;
        self.files_done += 1;
        self.bytes_done += bytes;
    }

    pub(crate) fn draw(&mut self, totals: &Totals) {
        if self.is_due() {
            self.write(&self.line(totals));
        }
    }

    fn line(&self, totals: &Totals) -> String {
        // Files without a known length count by number.
        let (done, all) = match self.bytes {
            0 => (self.files_done as u64, self.files as u64),
            all => (self.bytes_done + self.bytes_going, all),
        };
        let part = (done as f64 / all.max(1) as f64).min(1.0);
        let filled = (part * BAR_CHARS as f64) as usize;
        format!(
            "[{}{}] {:>3.0}%  {} of {}  {}  {}",
            "#".repeat(filled),
            ".".repeat(BAR_CHARS.saturating_sub(filled)),
            part * 100.0,
            self.files_done,
            counted(self.files, "file"),
            size(totals.bytes + self.bytes_going),
            counted(totals.findings as usize, "finding"),
        )
    }

    fn is_due(&self) -> bool {
        self.shows && Instant::now() >= self.next
    }

    fn write(&mut self, line: &str) {
        // Progress that cannot be shown is no reason to stop.
        let _ = write!(std::io::stderr(), "\r\u{1b}[K{line}");
        self.drawn = true;
        self.next = Instant::now() + DRAW_EVERY;
    }

    /// Takes the line away, so that something else can be written.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, Totals};

    #[test]
    fn a_long_file_moves_the_bar_before_it_is_done() {
        let mut progress = Progress::of_stderr();
        progress.expect(2, 100 << 20);
        progress.going(50 << 20);
        let line = progress.line(&Totals::default());
        assert!(line.contains(" 50%  0 of 2 files  52.4 MB"), "{line}");
        progress.done(90 << 20);
        assert!(progress.line(&Totals::default()).contains(" 90%  1 of 2 files"), "{line}");
    }
}
