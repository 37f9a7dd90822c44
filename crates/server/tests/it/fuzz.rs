//! The fuzz targets of the relay (`fuzz/src/relay.rs`), for seconds: every seed, and seeds with some
//! bytes changed. The changes come from a generator with a fixed start, so a failure is the same
//! everywhere; the input is printed with it.

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/src/relay.rs"]
mod relay;

/// Changed inputs of each target.
const CASES: u64 = 3_000;

/// Pieces that the targets trip over.
const PIECES: [&[u8]; 16] = [
    b"\n",
    b"\r",
    b"\r\n",
    b"data: ",
    b"id: 1",
    b":",
    b"{",
    b"}",
    b"\"",
    b"\\",
    b"\"id\":1,",
    b"\"jsonrpc\":\"2.0\",",
    b"NaN",
    b"\xff",
    b"\0",
    b"\xe2\x80\xa8",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % (limit.max(1) as u64)) as usize
    }
}

fn changed(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut data = seed.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(data.len() + 1);
        match random.below(3) {
            0 => _ = data.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied()),
            1 if at < data.len() => _ = data.remove(at),
            _ if at < data.len() => data[at] = random.below(256) as u8,
            _ => {}
        }
    }
    data
}

#[test]
fn no_input_makes_a_target_fail() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, target) in relay::TARGETS {
        let mut files: Vec<_> =
            fs::read_dir(seeds.join(name)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no seeds");
        let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let inputs = (0..CASES).map(|_| {
            let seed = seeds[random.below(seeds.len())].clone();
            changed(&seed, &mut random)
        });
        for input in seeds.iter().cloned().chain(inputs.collect::<Vec<_>>()) {
            let run = std::panic::catch_unwind(|| target(&input));
            assert!(run.is_ok(), "{name}: {:?}", String::from_utf8_lossy(&input));
        }
    }
}
