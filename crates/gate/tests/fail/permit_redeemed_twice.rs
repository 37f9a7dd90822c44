//! A permit is used up by redeeming it or handing it over.
use tollgate_gate::Permit;

fn redeem_twice(permit: Permit) {
    let _first = permit.redeem();
    let _second = permit.redeem();
}

fn hand_over_and_redeem(permit: Permit) {
    let _first = permit.hand_over();
    let _second = permit.redeem();
}

fn main() {}
