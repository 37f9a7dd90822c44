//! The threads that look at files, and what they tell.

use super::walk::Target;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;
use tollgate::detect::{Context, Detector, Finding, Redactor, Standing, StreamFormat};

/// Up to this length a text is read whole, so that JSON is opened; above, it is looked at as a stream.
const WHOLE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// How much of a file tells whether it is text.
const HEAD_BYTES: usize = 8 * 1024;
/// How many findings are told at a time, and how many times a thread may be ahead of the telling.
const BATCH_FINDINGS: usize = 256;
const BATCHES_AHEAD: usize = 4;

/// What is heard about a file.
#[derive(Debug)]
pub(crate) enum Heard {
    Findings(Vec<Finding>),
    Read { bytes: u64 },
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

/// Where a stream that is only looked at is written to: nowhere, and an error ends it.
struct Nowhere<'o>(&'o AtomicBool);

impl Write for Nowhere<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'t> Crew<'t> {
    pub(crate) fn start<'s>(
        scope: &'s Scope<'s, '_>,
        detector: &Arc<Detector>,
        threads: usize,
    ) -> Crew<'t>
    where
        't: 's,
    {
        let (orders, queue) = channel::<Order<'t>>();
        let queue = Arc::new(Mutex::new(queue));
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..threads {
            let (queue, detector) = (Arc::clone(&queue), Arc::clone(detector));
            let over = Arc::clone(&over);
            scope.spawn(move || {
                let mut buffer = Vec::new();
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(order) = next else { return };
                    look(&detector, &order, &mut buffer, &over);
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

fn look(detector: &Arc<Detector>, order: &Order<'_>, buffer: &mut Vec<u8>, over: &AtomicBool) {
    if over.load(Ordering::Relaxed) {
        return;
    }
    let heard = match read(detector, order, buffer, over) {
        Ok(heard) => heard,
        Err(error) => Heard::Problem(error.to_string()),
    };
    // Nobody listens any more when nobody reads the answer.
    let _ = order.tell.send(heard);
}

fn read(
    detector: &Arc<Detector>,
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
    if !target.named && head.contains(&0) {
        return Ok(Heard::Binary);
    }
    let ctx = Context { path: Some(&target.shown), ..Context::default() };
    let mut batch = Batch { findings: Vec::new(), tell: &order.tell };
    let mut bytes = buffer.len() as u64;
    let incomplete = if bytes <= WHOLE_BYTES_MAX {
        let found = detector.inspect_bytes(buffer, &ctx);
        found.findings.into_iter().for_each(|finding| batch.add(finding));
        found.incomplete
    } else {
        let redactor = Redactor::new(Arc::clone(detector));
        let mut all = Cursor::new(&*buffer).chain(input);
        let found = |finding| batch.add(finding);
        let piped = redactor.pipe(&mut all, &mut Nowhere(over), StreamFormat::Text, &ctx, found)?;
        bytes = piped.bytes;
        piped.incomplete
    };
    batch.tell();
    if let Some(fault) = incomplete {
        let _ = order.tell.send(Heard::Problem(format!("not wholly looked at: {fault}")));
    }
    Ok(Heard::Read { bytes })
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
