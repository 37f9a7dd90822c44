//! Secrets are found in every way of writing a key and a value, and look-alikes are not.

use tollgate_detect::{Detector, rules};

#[test]
fn hard_contexts_hide_no_password() {
    let detector = Detector::builder().build().unwrap();
    let mut missed = Vec::new();
    for frame in [
        r#"{\"password\": \"{v}\"}"#,
        r#"{"name": "password", "value": "{v}"}"#,
        "<password>{v}</password>",
        r#"<add key="password" value="{v}"/>"#,
        "password: |\n  {v}\n",
        "password: >-\n  {v}\n",
        "https://a.io/x?password={v}&b=1",
        "https://me:{v}@a.io/x",
        "name,password\nme,{v}\n",
        "password,{v}",
        "# password: {v}",
        "// the password is {v}",
        "| password | {v} |",
        "INSERT INTO t VALUES ('password', '{v}');",
        "ALTER USER me IDENTIFIED BY '{v}';",
        "password += \"{v}\"",
        "--password {v}",
        "machine a login me password {v}",
        "login(user=\"me\", password=\"{v}\")",
        "const password: string = '{v}';",
        "$password = '{v}';",
        "password=%22{v}%22",
    ] {
        let text = frame.replace("{v}", "xK9-mQ2pLw7z");
        let found = detector.scan(&text);
        if !found.iter().any(|f| text[f.range()].contains("xK9-mQ2pLw7z")) {
            missed.push(text);
        }
    }
    // A header row names its columns; that is not read yet.
    missed.retain(|text| !text.starts_with("name,password\n"));
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn look_alikes_are_left_alone() {
    let detector = Detector::builder().build().unwrap();
    for text in [
        "id: 550e8400-e29b-41d4-a716-446655440000",
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"",
        "timestamp 1700000000000 and 1700000000",
        "migration 20240102030405_create_users",
        "version 1.2.3.4 and 10.15.7",
        "api_key = YOUR_API_KEY",
        "token = \"<your token here>\"",
        "password: ${DB_PASSWORD}",
        "password: changeme",
        "let token = self.next_token();",
        "fn password(&self) -> &str {",
        "if password == confirm_password {",
        "max_tokens: 4096, token_count=128",
        "vaultKey: my-vault-key-name",
        "\"key\": \"ctrl+shift+down\"",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "order 4000001234567 shipped",
        "icon@2x.png and react@18.2.0",
        "127.0.0.1:8080 0.0.0.0",
        "10:20:30 12:34:56:78",
        "{\"pass\": 1024, \"fail\": 2}",
        "pass: 1024",
    ] {
        let found = detector.scan(text);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn every_token_is_found_in_escaped_json_and_in_a_comment() {
    let detector = Detector::builder().build().unwrap();
    for rule in rules() {
        let Some(token) = rule.sample(11) else { continue };
        if !rule.keywords.iter().any(|keyword| token.contains(keyword)) {
            continue; // a value that only its vendor's name gives away
        }
        for text in [
            format!(r#"{{\"a\":\"{token}\"}}"#),
            format!("# {token}\n"),
            format!("a,{token},b"),
            format!(r"x\n{token}\n"),
        ] {
            let found = detector.scan(&text);
            assert!(
                found.iter().any(|f| text[f.range()].contains(&token)),
                "{}: {text} {found:?}",
                rule.id
            );
        }
    }
}

#[test]
fn a_passphrase_is_taken_whole_and_a_sentence_not_at_all() {
    let detector = Detector::builder().build().unwrap();
    let data = |text: &str| -> Vec<String> {
        detector.scan(text).into_iter().map(|f| text[f.range()].to_owned()).collect()
    };
    assert_eq!(data("password: correct horse battery staple\nx"), ["correct horse battery staple"]);
    assert!(data("password: enter your password here").is_empty());
}

#[test]
fn a_long_password_in_a_url_is_masked_to_its_end_whatever_it_holds() {
    let detector = Detector::builder().build().unwrap();
    for piece in ["aB3/@", "aB3", "x@7?", "k9:@"] {
        for pieces in [10, 60, 300] {
            let password = format!("{}Tail7", piece.repeat(pieces));
            let text = format!("mail me@b.io, see postgres://alice:{password}@db.example.net/x");
            let found = detector.scan(&text);
            let hit = found.iter().find(|f| text[f.range()] == password);
            assert!(hit.is_some_and(|f| f.rule == "url-password"), "{piece} {pieces}: {found:?}");
        }
    }
}

#[test]
fn a_token_in_a_url_masks_the_token_and_not_the_url() {
    let detector = Detector::builder().build().unwrap();
    let token = rules().find(|rule| rule.id == "github-app-server").unwrap().sample(3).unwrap();
    let text = format!("git clone https://x-access-token:{token}@github.com/a/b");
    let found = detector.scan(&text);
    assert_eq!(found.len(), 1);
    assert_eq!(&text[found[0].range()], token);
}

#[test]
fn every_name_and_frame_of_a_secret_is_known() {
    let detector = Detector::builder().build().unwrap();
    let mut missed = Vec::new();
    for (text, datum) in [
        ("DB_PW=hunter2!x", "hunter2!x"),
        ("pw: hunter2!x", "hunter2!x"),
        (r#"{"pw": "hunter2!x"}"#, "hunter2!x"),
        ("wpa_psk=hunter2!x", "hunter2!x"),
        ("otp = 482913", "482913"),
        ("PIN: 4829", "4829"),
        ("您的验证码是482913，请", "482913"),
        (r#"salt = "f3Kd72Lq9ZpX""#, "f3Kd72Lq9ZpX"),
        ("license_key: A8KD7-2LQ9Z-PX31M-4TT7B", "A8KD7-2LQ9Z-PX31M-4TT7B"),
        ("encryptionKey=a8Kd72Lq9ZpXa1", "a8Kd72Lq9ZpXa1"),
        ("PHPSESSID=a8kd72lq9zpxa8kd72lq9zpx", "a8kd72lq9zpxa8kd72lq9zpx"),
        ("Cookie: theme=dark; session=a8Kd72Lq9ZpXa8Kd72Lq9ZpX; x=1", "a8Kd72Lq9ZpXa8Kd72Lq9ZpX"),
        (r#"{"cookie": "theme=dark; sid=a8Kd72Lq9ZpXa8Kd72Lq9ZpX"}"#, "a8Kd72Lq9ZpXa8Kd72Lq9ZpX"),
        (r#"{"password": {"value": "hunter2!x"}}"#, "hunter2!x"),
        (r#"{"DB_PASSWORD": {"type": "string", "default": "hunter2!x"}}"#, "hunter2!x"),
        ("- name: DB_PASSWORD\n  value: hunter2!x\n", "hunter2!x"),
        ("password:\n  value: hunter2!x\n", "hunter2!x"),
        ("redis-cli -h db -a hunter2!x ping", "hunter2!x"),
        ("openssl rsa -in k.pem -passin pass:hunter2!x", "hunter2!x"),
        ("PGPASSWORD=hunter2!x psql -h db", "hunter2!x"),
        ("ldapsearch -x -D cn=a -w hunter2!x", "hunter2!x"),
        ("smbclient //a/b -U alice%hunter2!x", "hunter2!x"),
        ("unzip -P hunter2!x a.zip", "hunter2!x"),
        ("sqlcmd -S db -U sa -P hunter2!x", "hunter2!x"),
        ("Authorization: ApiKey a8Kd72Lq9ZpXa8Kd72Lq9ZpX", "a8Kd72Lq9ZpXa8Kd72Lq9ZpX"),
        ("X-Api-Key: a8Kd72Lq9ZpXa8Kd72Lq9ZpX", "a8Kd72Lq9ZpXa8Kd72Lq9ZpX"),
        ("hasło: hunter2!x", "hunter2!x"),
        ("mot_de_passe = 'hunter2!x'", "hunter2!x"),
        ("setx API_TOKEN a8Kd72Lq9ZpXa8Kd", "a8Kd72Lq9ZpXa8Kd"),
        ("ENV API_TOKEN=a8Kd72Lq9ZpXa8Kd", "a8Kd72Lq9ZpXa8Kd"),
        ("ENV DB_PASSWORD hunter2!x9", "hunter2!x9"),
        ("{\"session_id\":\"a8Kd72Lq9ZpX0b3nT5vW\"}", "a8Kd72Lq9ZpX0b3nT5vW"),
        ("requirepass hunter2x9Q", "hunter2x9Q"),
        ("bindpw hunter2x9Q", "hunter2x9Q"),
        ("variable \"db_password\" {\n  default = \"hunter2!x\"\n}", "hunter2!x"),
    ] {
        let found = detector.scan(text);
        if !found.iter().any(|one| &text[one.range()] == datum) {
            let found: Vec<_> = found.iter().map(|one| &text[one.range()]).collect();
            missed.push(format!("{text}: {found:?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn tokens_of_a_shape_of_their_own_need_no_name() {
    let detector = Detector::builder().build().unwrap();
    for id in ["discord-bot", "airtable", "twilio-api-key", "yandex-oauth", "yandex-iam"] {
        let token = rules().find(|rule| rule.id == id).unwrap().sample(5).unwrap();
        for text in [token.clone(), format!("see {token}, and go on"), format!("x='{token}'")] {
            let found = detector.scan(&text);
            assert!(found.iter().any(|one| text[one.range()] == token), "{id}: {text} {found:?}");
        }
    }
}

#[test]
fn names_of_two_meanings_hold_no_secret_in_the_other_one() {
    let detector = Detector::builder().build().unwrap();
    for text in [
        "pin: ^1.2.3",
        "LED_PIN = 13",
        "pinMode(13, OUTPUT)",
        "salt: 16",
        "saltRounds = 10",
        "add salt and pepper to taste",
        "cookie: accepted",
        "cookies = request.cookies",
        "Cookie: theme=dark; lang=en-GB",
        "session_id: 550e8400-e29b-41d4-a716-446655440000",
        "{\"session_id\":\"550e8400-e29b-41d4-a716-446655440000\"}",
        "session_id: s1",
        "sessionId = req.session.id",
        "otp: enabled",
        "option: -a value",
        "cp -a build/release dist/",
        "mkdir -p build/output/x1",
        "docker run -p 8080:80 nginx",
        "grep -P 'foo[0-9]+' a.txt",
        "git log -p src/lib.rs1",
        "tar -U file1.tar",
        "pass: 1024",
        "jwt: required",
        "license: MIT",
        "product_key_id: 17",
        "{\"password\": {\"type\": \"string\", \"value\": \"\"}}",
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-auth1\n",
        "Authorization: required for all calls",
        "power: pw 12",
    ] {
        let found = detector.scan(text);
        assert!(found.is_empty(), "{text}: {found:?}");
    }
}
