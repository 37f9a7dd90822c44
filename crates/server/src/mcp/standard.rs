//! Bytes from and to a peer beside the network: standard input and output, and those of a program.
//!
//! Standard input and output are shared with other programs, so they are not put into a mode in which
//! these would have to be ready for an empty read. A pipe is opened a second time for this process
//! alone, and a socket is asked message by message not to wait. What is neither (a terminal, a file)
//! is read and written by a thread.

use super::lines::{Line, Lines};
use rustix::fs::FileType;
use rustix::net::{RecvFlags, SendFlags};
use std::future::Future;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::unix::pipe;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};

/// How much is read at once, in bytes.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// Pieces that a thread has read and nobody has taken.
const PIECES_MAX: usize = 4;

/// Where bytes come from.
pub struct Source(From);

enum From {
    Pipe(pipe::Receiver),
    Socket(AsyncFd<OwnedFd>),
    Program(ChildStdout),
    Thread(mpsc::Receiver<Vec<u8>>),
}

/// Where bytes go to.
pub struct Sink(To);

enum To {
    Pipe(pipe::Sender),
    Socket(AsyncFd<OwnedFd>),
    Program(ChildStdin),
    Thread { pieces: mpsc::Sender<Vec<u8>>, over: oneshot::Receiver<()> },
}

impl Source {
    /// Standard input. Called within a runtime.
    pub fn standard() -> Source {
        let input = io::stdin();
        let opened = match kind(input.as_fd()) {
            Kind::Pipe => pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").map(From::Pipe),
            Kind::Socket => socket(input.as_fd(), Interest::READABLE).map(From::Socket),
            Kind::Other => return Source::read_by_thread(input),
        };
        opened.map_or_else(|_| Source::read_by_thread(input), Source)
    }

    /// What a program says.
    pub(super) fn of_program(output: ChildStdout) -> Source {
        Source(From::Program(output))
    }

    /// What can only be read by waiting for it. A thread does.
    pub fn read_by_thread(mut input: impl Read + Send + 'static) -> Source {
        let (sender, pieces) = mpsc::channel(PIECES_MAX);
        std::thread::spawn(move || {
            let mut buffer = vec![0; READ_BYTES];
            loop {
                let read = match input.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                };
                let piece = buffer.get(..read).unwrap_or_default().to_vec();
                if sender.blocking_send(piece).is_err() {
                    return;
                }
            }
        });
        Source(From::Thread(pieces))
    }

    /// Reads what is there, once there is something: how much, zero at the end. A read that fails is the
    /// end, too.
    async fn read(&mut self, buffer: &mut [u8]) -> usize {
        let read = match &mut self.0 {
            From::Pipe(pipe) => pipe.read(buffer).await,
            From::Program(output) => output.read(buffer).await,
            From::Socket(socket) => {
                let receive = |socket: &mut OwnedFd| {
                    let received = rustix::net::recv(socket, &mut *buffer, RecvFlags::DONTWAIT);
                    Ok(received.map(|(read, _)| read)?)
                };
                socket.async_io_mut(Interest::READABLE, receive).await
            }
            From::Thread(_) => Ok(0),
        };
        read.unwrap_or_default()
    }
}

/// What standard input or output is.
enum Kind {
    Pipe,
    Socket,
    Other,
}

fn kind(file: BorrowedFd<'_>) -> Kind {
    let found = rustix::fs::fstat(file).map(|found| FileType::from_raw_mode(found.st_mode));
    if found == Ok(FileType::Fifo) {
        Kind::Pipe
    } else if found == Ok(FileType::Socket) {
        Kind::Socket
    } else {
        Kind::Other
    }
}

#[expect(
    deprecated,
    reason = "what took its place is unsafe; the descriptor is owned here and stays open"
)]
fn socket(file: BorrowedFd<'_>, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(file.try_clone_to_owned()?, interest)
}

/// The lines of a peer.
pub(super) struct LinesOf {
    source: Source,
    lines: Lines,
    buffer: Vec<u8>,
    is_over: bool,
}

impl LinesOf {
    pub(super) fn new(source: Source) -> LinesOf {
        LinesOf { source, lines: Lines::default(), buffer: vec![0; READ_BYTES], is_over: false }
    }

    /// The lines that one read completes, perhaps none; `None` at the end. What was read is not lost when
    /// this is dropped.
    pub(super) async fn next(&mut self) -> Option<Vec<Line>> {
        if self.is_over {
            return None;
        }
        if let From::Thread(pieces) = &mut self.source.0 {
            if let Some(piece) = pieces.recv().await {
                return Some(self.lines.take(&piece));
            }
        } else {
            let read = self.source.read(&mut self.buffer).await;
            if let Some(bytes) = self.buffer.get(..read).filter(|bytes| !bytes.is_empty()) {
                return Some(self.lines.take(bytes));
            }
        }
        self.is_over = true;
        Some(self.lines.end().into_iter().collect())
    }
}

impl Sink {
    /// Standard output. Called within a runtime.
    pub fn standard() -> Sink {
        let output = io::stdout();
        let opened = match kind(output.as_fd()) {
            Kind::Pipe => pipe::OpenOptions::new().open_sender("/proc/self/fd/1").map(To::Pipe),
            Kind::Socket => socket(output.as_fd(), Interest::WRITABLE).map(To::Socket),
            Kind::Other => return Sink::write_by_thread(output),
        };
        opened.map_or_else(|_| Sink::write_by_thread(output), Sink)
    }

    /// What a program hears.
    pub(super) fn of_program(input: ChildStdin) -> Sink {
        Sink(To::Program(input))
    }

    /// What can only be written to by waiting for it. A thread does.
    pub fn write_by_thread(mut output: impl Write + Send + 'static) -> Sink {
        let (pieces, mut queue) = mpsc::channel::<Vec<u8>>(1);
        let (done, over) = oneshot::channel();
        std::thread::spawn(move || {
            while let Some(piece) = queue.blocking_recv() {
                if output.write_all(&piece).and_then(|()| output.flush()).is_err() {
                    break;
                }
            }
            // Whoever waits for it may be gone.
            let _ = done.send(());
        });
        Sink(To::Thread { pieces, over })
    }

    /// Writes all of it.
    pub(super) async fn write(&mut self, text: String) -> io::Result<()> {
        match &mut self.0 {
            To::Pipe(pipe) => pipe.write_all(text.as_bytes()).await,
            To::Program(input) => input.write_all(text.as_bytes()).await,
            To::Socket(socket) => {
                let mut rest = text.as_bytes();
                while !rest.is_empty() {
                    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                    let send = |socket: &OwnedFd| Ok(rustix::net::send(socket, rest, flags)?);
                    let sent = socket.async_io(Interest::WRITABLE, send).await?;
                    rest = rest.get(sent..).unwrap_or_default();
                }
                Ok(())
            }
            To::Thread { pieces, .. } => {
                pieces.send(text.into_bytes()).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    /// What was written has left.
    pub(super) fn close(self) -> impl Future<Output = ()> + Send {
        let over = match self.0 {
            To::Thread { pieces, over } => {
                drop(pieces);
                Some(over)
            }
            To::Pipe(_) | To::Socket(_) | To::Program(_) => None,
        };
        async move {
            if let Some(over) = over {
                let _ = over.await;
            }
        }
    }
}
