//! A disk in memory that loses and tears what was not synced, and that can stop at any operation.
//!
//! A file has a durable content and operations that were not synced since. A power cut keeps, of
//! these, whatever the case says, sector by sector; a kill keeps all of them, and a part of the write
//! that it fell into.

use crate::disk::{Disk, DiskFile, Held, OpenHow};
use crate::error::StoreError;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

const SECTOR: u64 = 64;

#[derive(Default)]
struct State {
    files: BTreeMap<String, SimulatedFile>,
    /// Files that were taken away, which the folder does not know yet.
    removed: BTreeMap<String, SimulatedFile>,
    /// Operations that changed something, so far.
    operations: u64,
    /// The operation that does not succeed, counted from 1.
    stop_at: Option<u64>,
    /// Whether the operation that it stops at goes half through.
    half: bool,
    stopped: bool,
    /// How often the power has come back.
    boots: u64,
}

#[derive(Default, Clone)]
struct SimulatedFile {
    durable: Vec<u8>,
    current: Vec<u8>,
    pending: Vec<Pending>,
    name_is_durable: bool,
    /// The file in whose place it was put, until its name is durable.
    before: Option<Box<SimulatedFile>>,
}

#[derive(Clone)]
enum Pending {
    Write(u64, Vec<u8>),
    Length(u64),
}

/// What a power cut keeps of what was not synced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keeps {
    Nothing,
    Everything,
    /// All but the first sector of each write.
    NotTheFirst,
    /// All but the last sector of each write.
    NotTheLast,
    /// Each sector or not, by the numbers that follow from this one.
    Some(u64),
}

/// A simulated disk; clones are the same disk.
#[derive(Clone, Default)]
pub(crate) struct SimulatedDisk(Arc<Mutex<State>>);

impl SimulatedDisk {
    /// The disk stops for good at this operation, counted from now, 1 being the next.
    pub(crate) fn stop_at(&self, operation: u64, half: bool) {
        let mut state = self.state();
        state.stop_at = Some(state.operations + operation);
        state.half = half;
        state.stopped = false;
    }

    pub(crate) fn operations(&self) -> u64 {
        self.state().operations
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.state().stopped
    }

    /// The disk after the power has come back.
    pub(crate) fn after_power_cut(&self, keeps: Keeps) -> SimulatedDisk {
        let mut random = if let Keeps::Some(seed) = keeps { seed } else { 0 };
        let boots = self.state().boots + 1;
        let mut after = State { boots, ..State::default() };
        let state = self.state();
        for (name, file) in state.removed.iter().chain(&state.files) {
            let mut file = file;
            let is_removed = state.removed.contains_key(name) && !state.files.contains_key(name);
            if is_removed && keeps_sector(keeps, &mut random, 0, 2) {
                continue;
            }
            if !is_removed && !file.name_is_durable && !keeps_sector(keeps, &mut random, 0, 2) {
                match &file.before {
                    Some(before) => file = before,
                    None => continue,
                }
            }
            let mut content = file.durable.clone();
            for pending in &file.pending {
                apply_some(&mut content, pending, keeps, &mut random);
            }
            after.files.insert(name.clone(), SimulatedFile::with(content));
        }
        drop(state);
        SimulatedDisk(Arc::new(Mutex::new(after)))
    }

    /// The disk after the process was killed.
    pub(crate) fn after_kill(&self) -> SimulatedDisk {
        let state = self.state();
        let (files, boots) = (state.files.clone(), state.boots);
        SimulatedDisk(Arc::new(Mutex::new(State { files, boots, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Does one operation, or stops.
    fn operate<T>(&self, all: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        let mut state = self.state();
        state.operations += 1;
        if state.stopped || state.stop_at == Some(state.operations) {
            state.stopped = true;
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Ok(all(&mut state))
    }
}

impl SimulatedFile {
    fn with(content: Vec<u8>) -> SimulatedFile {
        SimulatedFile {
            durable: content.clone(),
            current: content,
            pending: Vec::new(),
            name_is_durable: true,
            before: None,
        }
    }

    fn write(&mut self, bytes: &[u8], offset: u64) {
        overlay(&mut self.current, bytes, offset);
        self.pending.push(Pending::Write(offset, bytes.to_vec()));
    }
}

fn overlay(content: &mut Vec<u8>, bytes: &[u8], offset: u64) {
    let (start, end) = (offset as usize, offset as usize + bytes.len());
    if content.len() < end {
        content.resize(end, 0);
    }
    content[start..end].copy_from_slice(bytes);
}

fn apply_some(content: &mut Vec<u8>, pending: &Pending, keeps: Keeps, random: &mut u64) {
    match pending {
        Pending::Length(len) => {
            if keeps_sector(keeps, random, 0, 1) {
                content.resize(*len as usize, 0);
            }
        }
        Pending::Write(offset, bytes) => {
            let end = offset + bytes.len() as u64;
            let (first, last) = (offset / SECTOR, end.div_ceil(SECTOR));
            for sector in first..last {
                if keeps_sector(keeps, random, sector - first, last - first) {
                    let from = (sector * SECTOR).max(*offset);
                    let to = ((sector + 1) * SECTOR).min(end);
                    let piece = &bytes[(from - offset) as usize..(to - offset) as usize];
                    overlay(content, piece, from);
                }
            }
        }
    }
}

fn keeps_sector(keeps: Keeps, random: &mut u64, at: u64, count: u64) -> bool {
    match keeps {
        Keeps::Nothing => false,
        Keeps::Everything => true,
        Keeps::NotTheFirst => at > 0,
        Keeps::NotTheLast => at + 1 < count,
        Keeps::Some(_) => next(random).is_multiple_of(2),
    }
}

/// The next number of splitmix64.
pub(crate) fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *random;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Disk for SimulatedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().files.keys().cloned().collect())
    }

    fn open(&self, name: &str, how: OpenHow) -> io::Result<Box<dyn DiskFile>> {
        if !self.state().files.contains_key(name) {
            if how == OpenHow::Existing {
                return Err(io::Error::from(io::ErrorKind::NotFound));
            }
            self.operate(|state| {
                state.files.insert(name.to_owned(), SimulatedFile::default());
            })?;
        }
        Ok(Box::new(OpenFile { disk: self.clone(), name: name.to_owned() }))
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        // Written and synced beside it; nobody reads it under that name.
        self.operate(|_| ())?;
        self.operate(|_| ())?;
        self.operate(|state| {
            let before = state.files.remove(name).map(|before| match before.name_is_durable {
                true => Some(Box::new(before)),
                false => before.before,
            });
            let mut fresh = SimulatedFile::with(content.to_vec());
            (fresh.name_is_durable, fresh.before) = (false, before.flatten());
            state.files.insert(name.to_owned(), fresh);
        })?;
        self.sync_folder()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.operate(|state| {
            if let Some(file) = state.files.remove(name) {
                state.removed.insert(name.to_owned(), file);
            }
        })
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.operate(|state| {
            state.removed.clear();
            for file in state.files.values_mut() {
                (file.name_is_durable, file.before) = (true, None);
            }
        })
    }

    fn boot(&self) -> Option<String> {
        Some(format!("run-{}", self.state().boots))
    }

    fn lock(&self) -> Result<Box<dyn Held>, StoreError> {
        Ok(Box::new(Unlocked))
    }
}

struct Unlocked;

impl Held for Unlocked {}

struct OpenFile {
    disk: SimulatedDisk,
    name: String,
}

impl OpenFile {
    fn operate<T>(&self, all: impl FnOnce(&mut SimulatedFile) -> T) -> io::Result<T> {
        self.disk.operate(|state| all(state.files.get_mut(&self.name).unwrap()))
    }
}

impl DiskFile for OpenFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[&self.name].current.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.state();
        let rest = state.files[&self.name].current.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = self.operate(|file| file.write(bytes, offset));
        let mut state = self.disk.state();
        if written.is_err() && std::mem::take(&mut state.half) {
            let file = state.files.get_mut(&self.name).unwrap();
            file.write(&bytes[..bytes.len() / 2], offset);
        }
        written
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.operate(|file| {
            file.current.resize(len as usize, 0);
            file.pending.push(Pending::Length(len));
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.operate(|file| {
            file.durable.clone_from(&file.current);
            file.pending.clear();
        })
    }
}
