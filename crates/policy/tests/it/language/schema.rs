//! The published schema takes what the compiler takes.

use tollgate_policy::policy_schema;

#[test]
fn the_schema_describes_every_top_key_hook_key_and_action() {
    let schema = policy_schema();
    for pointer in [
        "/properties/hooks",
        "/properties/exceptions",
        "/properties/include",
        "/$defs/hook/properties/when",
        "/$defs/hook/properties/deny",
        "/$defs/hook/properties/limit",
        "/$defs/match/properties/writes",
        "/$defs/match/patternProperties",
    ] {
        assert!(schema.pointer(pointer).is_some(), "{pointer}");
    }
    let described = schema.pointer("/properties").unwrap().as_object().unwrap();
    assert!(
        described.values().all(|key| key["description"].as_str().is_some_and(|d| !d.is_empty()))
    );
}
