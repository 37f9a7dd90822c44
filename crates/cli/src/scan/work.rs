//! The threads that look at files, and what they tell.

use super::walk::Target;
use super::wide::{Wide, is_wide};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use tollgate::detect::{
    Context, Detector, Finding, NameModelError, Redactor, Released, Standing, StreamFormat,
    StreamRedactor,
};

/// Up to this length a text is read whole, so that JSON is opened; above, it is looked at as a stream.
const WHOLE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// How much of a file tells whether it is text.
const HEAD_BYTES: usize = 8 * 1024;
/// How much of a longer text is read at a time, in bytes.
const READ_BYTES: usize = 64 * 1024;
/// After how much of it a longer text tells how far it is, in bytes.
const GOING_BYTES: u64 = 1024 * 1024;
/// How many findings are told at a time, and how many times a thread may be ahead of the telling.
const BATCH_FINDINGS: usize = 256;
const BATCHES_AHEAD: usize = 4;

/// What is heard about a file.
#[derive(Debug)]
pub(crate) enum Heard {
    Findings(Vec<Finding>),
    /// How much of a long file is read so far.
    Going {
        bytes: u64,
    },
    Read {
        bytes: u64,
    },
    Binary,
    Problem(String),
}

struct Order<'t> {
    target: &'t Target,
    tell: SyncSender<Heard>,
}

/// The threads. They end when the crew is dropped, in the middle of a long file if need be.
pub(crate) struct Crew<'t> {
    orders: Sender<Order<'t>>,
    over: Arc<AtomicBool>,
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl<'t> Crew<'t> {
    pub(crate) fn start<'s>(
        scope: &'s Scope<'s, '_>,
        detectors: &Arc<[Arc<Detector>]>,
        threads: usize,
    ) -> Crew<'t>
    where
        't: 's,
    {
        let (orders, queue) = channel::<Order<'t>>();
        let queue = Arc::new(Mutex::new(queue));
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..threads {
            let (queue, detectors) = (Arc::clone(&queue), Arc::clone(detectors));
            let over = Arc::clone(&over);
            scope.spawn(move || {
                let mut buffer = Vec::new();
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(order) = next else { return };
                    look(&detectors, &order, &mut buffer, &over);
                }
            });
        }
        Crew { orders, over }
    }

    /// Has a file looked at; files are begun in the order in which they are named here.
    pub(crate) fn look_at(&mut self, target: &'t Target) -> Receiver<Heard> {
        let (tell, heard) = sync_channel(BATCHES_AHEAD);
        // Without threads there are no files.
        let _ = self.orders.send(Order { target, tell });
        heard
    }
}

fn look(detectors: &[Arc<Detector>], order: &Order<'_>, buffer: &mut Vec<u8>, over: &AtomicBool) {
    if over.load(Ordering::Relaxed) {
        return;
    }
    let heard = match read(detectors, order, buffer, over) {
        Ok(heard) => heard,
        Err(error) => Heard::Problem(error.to_string()),
    };
    // Nobody listens any more when nobody reads the answer.
    let _ = order.tell.send(heard);
}

fn read(
    detectors: &[Arc<Detector>],
    order: &Order<'_>,
    buffer: &mut Vec<u8>,
    over: &AtomicBool,
) -> io::Result<Heard> {
    let target = order.target;
    let mut input: Box<dyn Read> = match &target.path {
        Some(path) => Box::new(File::open(path)?),
        None => Box::new(io::stdin()),
    };
    buffer.clear();
    input.by_ref().take(WHOLE_BYTES_MAX + 1).read_to_end(buffer)?;
    let head = buffer.get(..HEAD_BYTES).unwrap_or(buffer);
    if !target.named && head.contains(&0) && !is_wide(head) {
        return Ok(Heard::Binary);
    }
    let ctx = Context { path: Some(&target.shown), ..Context::default() };
    let mut batch = Batch { findings: Vec::new(), tell: &order.tell };
    let mut bytes = buffer.len() as u64;
    let incomplete = if bytes <= WHOLE_BYTES_MAX {
        let (findings, incomplete) = whole(detectors, buffer, &ctx);
        findings.into_iter().for_each(|finding| batch.add(finding));
        incomplete
    } else if is_wide(buffer) {
        let message = format!("text in UTF-16, and longer than {WHOLE_BYTES_MAX} bytes");
        return Err(io::Error::other(message));
    } else {
        let streams = Streams::new(detectors, &ctx);
        let all = Cursor::new(&*buffer).chain(input);
        // Who is far ahead of the telling leaves it out.
        let going = |bytes| drop(order.tell.try_send(Heard::Going { bytes }));
        let (read, incomplete) = streams.run(all, over, going, |finding| batch.add(finding))?;
        bytes = read;
        incomplete
    };
    batch.tell();
    if let Some(fault) = incomplete {
        let _ = order.tell.send(Heard::Problem(format!("not wholly looked at: {fault}")));
    }
    Ok(Heard::Read { bytes })
}

/// What is found in a text that is there as a whole, and what kept a part from being looked at.
fn whole(
    detectors: &[Arc<Detector>],
    bytes: &[u8],
    ctx: &Context<'_>,
) -> (Vec<Finding>, Option<NameModelError>) {
    let wide = Wide::of(bytes);
    let text = wide.as_ref().map_or(bytes, |wide| wide.text.as_bytes());
    let (mut findings, mut incomplete) = (Vec::new(), None);
    for detector in detectors {
        let found = detector.inspect_bytes(text, ctx);
        findings.extend(found.findings);
        incomplete = incomplete.or(found.incomplete);
    }
    merge(&mut findings, detectors.len());
    for finding in &mut findings {
        if let Some(wide) = &wide {
            (finding.start, finding.end) = (wide.place(finding.start), wide.place(finding.end));
        }
    }
    (findings, incomplete)
}

/// In the order of their places; what several detectors find at one place is told once.
fn merge(findings: &mut Vec<Finding>, detectors: usize) {
    if detectors > 1 {
        // Among equals what takes effect comes first.
        findings.sort_by_key(|one| (one.start, one.end, one.standing != Standing::Active));
        findings.dedup_by(|later, first| (later.start, later.end) == (first.start, first.end));
    }
}

/// A long text before all detectors at once, piece by piece.
struct Streams {
    streams: Vec<StreamRedactor>,
}

impl Streams {
    fn new(detectors: &[Arc<Detector>], ctx: &Context<'_>) -> Streams {
        let stream = |detector| Redactor::new(detector).stream(StreamFormat::Text, ctx);
        Streams { streams: detectors.iter().cloned().map(stream).collect() }
    }

    /// How many bytes were read, and what kept a part from being looked at.
    fn run(
        mut self,
        mut input: impl Read,
        over: &AtomicBool,
        going: impl Fn(u64),
        mut found: impl FnMut(Finding),
    ) -> io::Result<(u64, Option<NameModelError>)> {
        let mut buffer = vec![0; READ_BYTES];
        let (mut bytes, mut incomplete) = (0, None);
        loop {
            let read = match input.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if over.load(Ordering::Relaxed) {
                return Ok((bytes, incomplete));
            }
            bytes += read as u64;
            if bytes / GOING_BYTES > (bytes - read as u64) / GOING_BYTES {
                going(bytes);
            }
            let piece = buffer.get(..read).unwrap_or_default();
            let mut findings = Vec::new();
            let released: Vec<Released> = match read {
                0 => self.streams.drain(..).map(StreamRedactor::finish).collect(),
                _ => self.streams.iter_mut().map(|stream| stream.push(piece)).collect(),
            };
            let detectors = released.len();
            for released in released {
                findings.extend(released.findings);
                incomplete = incomplete.or(released.incomplete);
            }
            merge(&mut findings, detectors);
            findings.into_iter().for_each(&mut found);
            if read == 0 {
                return Ok((bytes, incomplete));
            }
        }
    }
}

/// Findings on their way.
struct Batch<'o> {
    findings: Vec<Finding>,
    tell: &'o SyncSender<Heard>,
}

impl Batch<'_> {
    fn add(&mut self, finding: Finding) {
        // What a rule on trial finds would not be masked, so it is no finding here.
        if finding.standing != Standing::Active {
            return;
        }
        self.findings.push(finding);
        if self.findings.len() >= BATCH_FINDINGS {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if !self.findings.is_empty() {
            let _ = self.tell.send(Heard::Findings(std::mem::take(&mut self.findings)));
        }
    }
}
