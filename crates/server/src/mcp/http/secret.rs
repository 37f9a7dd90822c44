//! Tokens: where they may come from, and how they are compared.
//!
//! A token comes from a file that nobody else can read, or from the environment; never from a flag or
//! a URL, which every process list and log shows. It has no way to be printed.

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The environment variable with the token that the server is given.
pub const UPSTREAM_TOKEN: &str = "TOLLGATE_MCP_UPSTREAM_TOKEN";
/// The environment variable with the token that clients must send.
pub const CLIENT_TOKEN: &str = "TOLLGATE_MCP_CLIENT_TOKEN";

/// Longest token, in bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Shortest token that a client may be asked for, in bytes: what can be guessed guards nothing.
const CLIENT_TOKEN_BYTES_MIN: usize = 16;

/// Why a token cannot be used. The token is not in it.
#[derive(Debug, thiserror::Error)]
#[error("the token {place} cannot be used: {why}")]
pub struct TokenError {
    place: String,
    why: String,
}

/// A token, and the file that it is read from again when it was refused.
#[derive(Clone)]
pub struct Token {
    held: Arc<Mutex<Arc<str>>>,
    file: Option<PathBuf>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// The token in a file of the user's own that others can neither read nor write.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn of_file(file: &Path) -> Result<Token, TokenError> {
        let place = format!("in `{}`", file.display());
        let held = read(file).and_then(checked);
        let held = held.map_err(|why| TokenError { place, why })?;
        Ok(Token { held: Arc::new(Mutex::new(held)), file: Some(file.to_owned()) })
    }

    /// The token that an environment variable of this name holds.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn of_environment(variable: &str, value: String) -> Result<Token, TokenError> {
        let place = format!("in the environment variable {variable}");
        let held = checked(value).map_err(|why| TokenError { place, why })?;
        Ok(Token { held: Arc::new(Mutex::new(held)), file: None })
    }

    /// Whether it is long enough to guard something.
    pub fn is_guarding(&self) -> bool {
        self.text().len() >= CLIENT_TOKEN_BYTES_MIN
    }

    pub(super) fn text(&self) -> Arc<str> {
        Arc::clone(&self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The server refused it: a file may hold a newer one.
    pub(super) fn renew(&self) {
        let Some(file) = &self.file else { return };
        if let Ok(fresh) = read(file).and_then(checked) {
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
    }

    /// Whether this is the token, in a time that does not depend on where it differs.
    pub(super) fn is(&self, given: &[u8]) -> bool {
        let (own, given) = (Sha256::digest(self.text().as_bytes()), Sha256::digest(given));
        own.iter().zip(given.iter()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }
}

fn checked(text: String) -> Result<Arc<str>, String> {
    let token = text.trim();
    if token.is_empty() {
        return Err("it is empty".to_owned());
    }
    if token.len() > TOKEN_BYTES_MAX {
        return Err(format!("it is longer than {TOKEN_BYTES_MAX} bytes"));
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it holds characters that no token has (one line, no blanks)".to_owned());
    }
    Ok(token.into())
}

fn read(path: &Path) -> Result<String, String> {
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).map_err(|error| error.to_string())?;
    let file = OpenOptions::new().read(true).custom_flags(no_follow).open(path);
    let file = file.map_err(|error| error.to_string())?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    if found.mode() & 0o077 != 0 {
        return Err("others can read or write it (chmod 600)".to_owned());
    }
    let mut text = String::new();
    let limit = TOKEN_BYTES_MAX as u64 + 2;
    file.take(limit).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::Token;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_taken_from_a_private_file_only_and_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "abcdefghijklmnopqrst\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o640);
        assert!(Token::of_file(&path).unwrap_err().to_string().contains("chmod 600"));
        mode(0o600);
        let token = Token::of_file(&path).unwrap();
        assert!(token.is(b"abcdefghijklmnopqrst") && !token.is(b"abcdefghijklmnopqrs"));
        assert!(token.is_guarding());
        assert_eq!(format!("{token:?}"), "Token");
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        assert!(Token::of_file(&folder.path().join("link")).is_err());
        std::fs::write(&path, "another-token-for-you").unwrap();
        token.renew();
        assert!(token.is(b"another-token-for-you"));
        for bad in ["", "  ", "two words"] {
            let error = Token::of_environment("T", bad.to_owned()).unwrap_err().to_string();
            assert!(error.contains("variable T") && !error.contains("two"), "{error}");
        }
    }
}
