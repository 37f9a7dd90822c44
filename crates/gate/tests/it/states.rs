//! The state in memory keeps the contract of every state, and a claim table is the same in parts.

use crate::state_contract::LAWS;
use std::sync::Arc;
use tollgate_gate::state::{ClaimParts, ClaimTable};
use tollgate_gate::{CallKey, Claim, MemoryState, Quota, State, Timestamp};

#[test]
fn the_state_in_memory_keeps_the_contract() {
    for (law, holds) in LAWS {
        println!("{law}");
        let state: Arc<dyn State> = Arc::new(MemoryState::new());
        holds(&|| Arc::clone(&state));
    }
}

#[test]
fn a_table_made_of_its_parts_is_the_same_table() {
    let mut table = ClaimTable::default();
    let quota = Quota::Rate { max: 3, window_ms: 100, counted: Default::default() };
    let breaker = Quota::Breaker { failures: 1, window_ms: 9, open_ms: 9 };
    let claims = [quota, breaker].map(|quota| Claim {
        hook: "h".into(),
        key: format!("{quota:?}").into(),
        quota,
    });
    for number in 0..4 {
        let key = CallKey { session: "s".into(), call: format!("{}", number % 2).into() };
        let now = Timestamp::from_millis(number);
        let _ = table.reserve(&key, &claims, now, 50).unwrap();
        let parts = ClaimParts::from(table);
        assert_eq!(parts.held.len() as u64, (number + 1).min(3));
        table = ClaimTable::from(parts.clone());
        let again = ClaimParts::from(table);
        assert_eq!(again, parts);
        table = ClaimTable::from(again);
    }
}
