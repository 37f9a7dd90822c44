//! The seal of a snapshot: who has written it, and for what.
//!
//! A tag (HMAC-SHA-256, RFC 2104) with a key that only the owner of the state folder can read stands
//! before the bytes. It binds them to the version of the binary, to the user, and to the name of the
//! file, which says of which layers it is; the bytes themselves name the policy's digest. So a snapshot
//! that was changed, was put in another's place, is another user's or another version's opens for
//! nobody. The key is made when the first snapshot is written; with a new key the old ones are void.

use crate::load::PLAN_VERSION;
use crate::private::{KEY_BYTES, PrivateError, key, key_or_new};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The file of the key, beside the folder of the snapshots.
const KEY_FILE: &str = "snapshot.key";
/// The length of a tag, in bytes.
const TAG_BYTES: usize = 32;
/// The block of SHA-256, in bytes.
const BLOCK_BYTES: usize = 64;
/// What the tags of this key are for.
const PURPOSE: &[u8] = b"tollgate policy snapshot";

/// These bytes with their tag before them.
pub(super) fn sealed(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, PrivateError> {
    let key = key_or_new(&key_file(path))?;
    let mut sealed = tag(&key, path, &bytes).to_vec();
    sealed.extend(bytes);
    Ok(sealed)
}

/// The bytes behind the tag, if it is the right one.
pub(super) fn opened<'b>(path: &Path, sealed: &'b [u8]) -> Result<Option<&'b [u8]>, PrivateError> {
    let Some((found, bytes)) = sealed.split_first_chunk::<TAG_BYTES>() else { return Ok(None) };
    let Some(key) = key(&key_file(path))? else { return Ok(None) };
    let right = tag(&key, path, bytes);
    // All of it is compared, so that the time says nothing of where they differ.
    let differs = found.iter().zip(right).fold(0, |differs, (one, other)| differs | (one ^ other));
    Ok((differs == 0).then_some(bytes))
}

fn key_file(path: &Path) -> PathBuf {
    let state = path.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    state.join(KEY_FILE)
}

fn tag(key: &[u8; KEY_BYTES], path: &Path, bytes: &[u8]) -> [u8; TAG_BYTES] {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let user = rustix::process::geteuid().as_raw().to_be_bytes();
    let (mut inner, mut outer) = ([0x36_u8; BLOCK_BYTES], [0x5c_u8; BLOCK_BYTES]);
    for ((inner, outer), key) in inner.iter_mut().zip(&mut outer).zip(key) {
        *inner ^= key;
        *outer ^= key;
    }
    let mut hash = Sha256::new_with_prefix(inner);
    for part in [PURPOSE, PLAN_VERSION.as_bytes(), &user, name, bytes] {
        // Lengths stand before the parts, so that no part can pass for the next one's beginning.
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    Sha256::new_with_prefix(outer).chain_update(hash.finalize()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::{KEY_FILE, opened, sealed, tag};
    use std::fs;
    use std::path::PathBuf;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/snapshots/a1");
        (folder, path)
    }

    #[test]
    fn what_was_sealed_opens_and_not_one_bit_of_it_may_change() {
        let (_folder, path) = place();
        let whole = sealed(&path, b"policy".to_vec()).unwrap();
        assert_eq!(opened(&path, &whole).unwrap(), Some(b"policy".as_slice()));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(opened(&path, &changed).unwrap(), None, "byte {at}");
        }
        for length in 0..whole.len() {
            assert_eq!(opened(&path, &whole[..length]).unwrap(), None, "cut to {length}");
        }
    }

    #[test]
    fn a_seal_is_of_one_file_and_one_key() {
        let (_folder, path) = place();
        let whole = sealed(&path, b"policy".to_vec()).unwrap();
        assert_eq!(opened(&path.with_file_name("b2"), &whole).unwrap(), None);
        let key = path.parent().unwrap().parent().unwrap().join(KEY_FILE);
        fs::write(&key, [7; 32]).unwrap();
        assert_eq!(opened(&path, &whole).unwrap(), None, "another key");
        fs::write(&key, b"short").unwrap();
        assert!(opened(&path, &whole).is_err(), "a cut key is none");
        fs::remove_file(&key).unwrap();
        assert_eq!(opened(&path, &whole).unwrap(), None, "no key opens nothing");
        assert_ne!(tag(&[1; 32], &path, b""), tag(&[2; 32], &path, b""));
    }
}
