//! Who may come in.
//!
//! A web page can make a browser send requests to this machine, also under a name that it had pointed
//! here (DNS rebinding). So a request must have been made to a name of this machine, and by no page
//! of another origin. Where the relay holds a credential of its server, whoever reaches the listener
//! would use it; so there a token of its own is asked for, on this machine too.

use super::address::is_this_machine;
use super::secret::Token;
use hyper::header::{self, HeaderName};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, StatusCode, Uri};

/// Why somebody does not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stopped {
    #[error("this relay is for programs of its own machine: the `Host` is another one's")]
    Host,
    #[error("this relay is for programs of its own machine: the `Origin` is another one's")]
    Origin,
    #[error("this relay asks for a token: send it as `Authorization: Bearer TOKEN`")]
    Token,
}

impl Stopped {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Stopped::Host | Stopped::Origin => StatusCode::FORBIDDEN,
            Stopped::Token => StatusCode::UNAUTHORIZED,
        }
    }
}

/// Looks at who comes.
pub(super) struct Guard {
    pub(super) port: u16,
    pub(super) token: Option<Token>,
}

impl Guard {
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Stopped> {
        let host = only(headers, &header::HOST).ok_or(Stopped::Host)?;
        let host: Authority = host.parse().map_err(|_| Stopped::Host)?;
        let named = uri.authority().is_none_or(|authority| *authority == host);
        if !named || !self.is_own(&host) {
            return Err(Stopped::Host);
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = only(headers, &header::ORIGIN).ok_or(Stopped::Origin)?;
            let authority = origin.strip_prefix("http://").ok_or(Stopped::Origin)?;
            let authority: Authority = authority.parse().map_err(|_| Stopped::Origin)?;
            if !self.is_own(&authority) {
                return Err(Stopped::Origin);
            }
        }
        let Some(token) = &self.token else { return Ok(()) };
        let given = only(headers, &header::AUTHORIZATION).and_then(|value| {
            let (scheme, given) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(given.trim())
        });
        if given.is_some_and(|given| token.is(given.as_bytes())) {
            Ok(())
        } else {
            Err(Stopped::Token)
        }
    }

    fn is_own(&self, authority: &Authority) -> bool {
        is_this_machine(authority.host())
            && authority.port_u16().unwrap_or(80) == self.port
            && !authority.as_str().contains('@')
    }
}

fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::{Guard, Stopped};
    use crate::mcp::http::secret::Token;
    use hyper::header::{HeaderName, HeaderValue};
    use hyper::{HeaderMap, Uri};

    fn check(guard: &Guard, headers: &[(&str, &str)]) -> Result<(), Stopped> {
        let one = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers.iter().map(one) {
            map.append(name, value);
        }
        guard.check(&Uri::from_static("/mcp"), &map)
    }

    #[test]
    fn only_names_and_pages_of_this_machine_come_in() {
        let guard = Guard { port: 8931, token: None };
        for good in ["127.0.0.1:8931", "localhost:8931", "LOCALHOST:8931", "[::1]:8931"] {
            assert_eq!(check(&guard, &[("host", good)]), Ok(()), "{good}");
            let origin = format!("http://{good}");
            assert_eq!(check(&guard, &[("host", good), ("origin", &origin)]), Ok(()));
        }
        for bad in [
            "evil.example:8931",
            "localhost",
            "localhost:80",
            "127.0.0.1.evil.example:8931",
            "a@localhost:8931",
            "",
        ] {
            assert_eq!(check(&guard, &[("host", bad)]), Err(Stopped::Host), "{bad}");
        }
        assert_eq!(check(&guard, &[]), Err(Stopped::Host));
        let twice = [("host", "localhost:8931"), ("host", "evil.example")];
        assert_eq!(check(&guard, &twice), Err(Stopped::Host));
        for bad in [
            "https://evil.example",
            "null",
            "http://localhost:3000",
            "http://localhost:8931.evil.example",
            "file://",
        ] {
            let headers = [("host", "localhost:8931"), ("origin", bad)];
            assert_eq!(check(&guard, &headers), Err(Stopped::Origin), "{bad}");
        }
    }

    #[test]
    fn the_token_is_asked_for_where_there_is_one() {
        let token = Token::of_environment("T", "0123456789abcdef".into()).unwrap();
        let guard = Guard { port: 1, token: Some(token) };
        let with = |value| check(&guard, &[("host", "localhost:1"), ("authorization", value)]);
        assert_eq!(with("Bearer 0123456789abcdef"), Ok(()));
        assert_eq!(with("bearer 0123456789abcdef"), Ok(()));
        for bad in
            ["0123456789abcdef", "Bearer 0123456789abcde", "Basic 0123456789abcdef", "Bearer"]
        {
            assert_eq!(with(bad), Err(Stopped::Token), "{bad}");
        }
        assert_eq!(check(&guard, &[("host", "localhost:1")]), Err(Stopped::Token));
    }
}
