//! Law 8 held by the compiler: what must not be written does not compile (`tests/fail`).

#[test]
fn permits_tickets_and_registrars_cannot_be_forged() {
    trybuild::TestCases::new().compile_fail("tests/fail/*.rs");
}
