//! Windows over a text that is longer than a model looks at together.

use std::ops::Range;

/// A window: the tokens that are looked at, and those of them whose answer counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) seen: Range<usize>,
    pub(crate) counts: Range<usize>,
}

/// Windows over so many tokens. Each token counts in one window, where it stands away from the edges.
pub(crate) fn windows(count: usize, size: usize, overlap: usize) -> Vec<Window> {
    let mut windows = Vec::new();
    let mut from = 0;
    let mut start = 0;
    while from < count {
        let end = (start + size).min(count);
        let to = if end == count { count } else { end - overlap / 2 };
        windows.push(Window { seen: start..end, counts: from..to });
        from = to;
        start = end.saturating_sub(overlap);
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::windows;

    #[test]
    fn every_token_counts_once_and_in_a_window_that_sees_it() {
        for count in 0..300 {
            let windows = windows(count, 100, 20);
            let counted: Vec<usize> = windows.iter().flat_map(|one| one.counts.clone()).collect();
            assert_eq!(counted, (0..count).collect::<Vec<_>>());
            for window in windows {
                assert!(window.seen.len() <= 100);
                assert!(window.counts.start >= window.seen.start);
                assert!(window.counts.end <= window.seen.end);
            }
        }
    }
}
