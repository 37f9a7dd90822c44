//! Hits: what the readers answer, before rules are consulted and overlaps resolved.

/// A span that a reader takes for a datum. Offsets are in the text that was scanned (folded).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Index of the rule.
    pub(crate) rule: usize,
    pub(crate) score: f32,
    /// How specific the reader is: of two that overlap, the more specific one names the finding.
    pub(crate) rank: u8,
    /// Whether the datum is sure to reach this far: between quotes, a whole text, an encoded run. It lends
    /// its span to a more specific hit inside.
    pub(crate) whole: bool,
}

/// The rank of a private key block, above all others.
pub(crate) const RANK_BLOCK: u8 = 5;

impl Hit {
    pub(crate) fn secret(start: usize, end: usize, rule: usize, score: f32, rank: u8) -> Self {
        Self { start, end, rule, score, rank, whole: false }
    }

    /// The same hit, sure of its span.
    pub(crate) fn as_whole(self, whole: bool) -> Self {
        Self { whole, ..self }
    }

    pub(crate) fn datum(start: usize, end: usize, rule: usize, score: f32) -> Self {
        Self { start, end, rule, score, rank: 0, whole: false }
    }
}

/// Resolves overlaps: within each heap of overlapping hits the more specific, then surer, then longer
/// one stays; what it only partly covers is dropped, but the span of a hit that holds the winner and is sure of its own
/// is taken over, so that nothing of the larger datum stays behind.
pub(crate) fn resolve(mut hits: Vec<Hit>) -> Vec<Hit> {
    if hits.len() < 2 {
        return hits;
    }
    hits.sort_by_key(|hit| (hit.start, hit.end));
    let mut kept: Vec<Hit> = Vec::with_capacity(hits.len());
    let mut heap: Vec<Hit> = Vec::new();
    let mut reach = 0;
    for hit in hits {
        if hit.start >= reach {
            settle(&mut heap, &mut kept);
        }
        reach = reach.max(hit.end);
        heap.push(hit);
    }
    settle(&mut heap, &mut kept);
    kept
}

fn settle(heap: &mut Vec<Hit>, kept: &mut Vec<Hit>) {
    if heap.len() < 2 {
        kept.append(heap);
        return;
    }
    heap.sort_by(|a, b| {
        b.rank
            .cmp(&a.rank)
            .then(b.score.total_cmp(&a.score))
            .then((b.end - b.start).cmp(&(a.end - a.start)))
            .then(a.start.cmp(&b.start))
            .then(a.rule.cmp(&b.rule))
    });
    let mut winners: Vec<Hit> = Vec::new();
    for hit in heap.drain(..) {
        let overlapping =
            winners.iter().filter(|won| won.start < hit.end && hit.start < won.end).count();
        if overlapping == 0 {
            winners.push(hit);
        } else if overlapping == 1
            && let Some(won) =
                winners.iter_mut().find(|won| won.start < hit.end && hit.start < won.end)
            && hit.whole
            && hit.start <= won.start
            && won.end <= hit.end
        {
            (won.start, won.end) = (hit.start, hit.end);
        }
    }
    // Two winners may have grown into each other; the earlier keeps the ground.
    winners.sort_by_key(|hit| (hit.start, hit.end));
    let mut reach = kept.last().map_or(0, |hit| hit.end);
    for mut hit in winners {
        hit.start = hit.start.max(reach);
        if hit.start < hit.end {
            reach = hit.end;
            kept.push(hit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hit, resolve};

    #[test]
    fn of_two_overlapping_hits_the_specific_one_names_the_finding() {
        let generic = Hit::secret(0, 40, 1, 0.9, 1).as_whole(true);
        let token = Hit::secret(4, 40, 2, 0.6, 4);
        let kept = resolve(vec![generic, token, Hit::datum(50, 60, 3, 0.5)]);
        assert_eq!(kept.len(), 2);
        assert_eq!((kept[0].start, kept[0].end, kept[0].rule), (0, 40, 2));
    }
}
