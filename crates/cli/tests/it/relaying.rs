//! `tollgate mcp` between a client and a program: what passes, and how each side's end is taken.

use crate::rig::{BINARY, Rig};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that answers every request with a result, and says where it runs.
const SERVER: &str = r#"
echo "$$" > "$1"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":-\{0,1\}\([0-9]*\).*/\1/p')
  case "$line" in
    *crash*) exit 7 ;;
    *hang*) continue ;;
    *garbage*) echo 'starting up...' ;;
    *twice*) printf '{"jsonrpc":"2.0","id":%s,"result":{"a":1,"a":2}}\n' "$id" ; continue ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ran"}]}}\n' "$id"
done
"#;

struct Relay {
    rig: Rig,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The command of a relay before a server of this script.
fn command(rig: &Rig, script: &str) -> Command {
    rig.write("server.sh", script);
    let text = |below: &str| rig.path(below).to_str().unwrap().to_owned();
    let mut command = Command::new(BINARY);
    command
        .args(["--state", &text("state"), "--policy", &text("user.yaml"), "mcp", "--server", "srv"])
        .args(["--", "sh", &text("server.sh"), &text("pid")])
        .current_dir(rig.path("project"));
    command
}

/// A relay before a server of this script.
fn relay(script: &str) -> Relay {
    let rig = Rig::new();
    let mut child = command(&rig, script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take();
    let output = BufReader::new(child.stdout.take().unwrap());
    Relay { rig, child, input, output }
}

fn call(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
    )
}

impl Relay {
    fn say(&mut self, text: &str) {
        writeln!(self.input.as_mut().unwrap(), "{text}").unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn server(&self) -> i32 {
        let path = self.rig.path("pid");
        within(|| std::fs::read_to_string(&path).ok()?.trim().parse().ok())
    }

    /// Closes the client's side; the exit code and what people were told.
    fn end(mut self) -> (Option<i32>, String, Rig) {
        drop(self.input.take());
        let mut told = String::new();
        let _ = self.child.stderr.take().unwrap().read_to_string(&mut told);
        (self.child.wait().unwrap().code(), told, self.rig)
    }
}

/// What comes within ten seconds.
#[track_caller]
fn within<T>(look: impl Fn() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "it did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn a_call_passes_or_is_refused_and_the_server_ends_with_its_client() {
    let mut relay = relay(SERVER);
    relay.say(&call(1, "read"));
    assert_eq!(
        relay.hear(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ran\"}]}}\n"
    );
    relay.say(&call(2, "delete_all"));
    let refused = relay.hear();
    assert!(refused.contains("nothing is deleted") && refused.contains("\"isError\":true"));
    relay.say("not json");
    assert!(relay.hear().contains("-32700"));
    let server = relay.server();
    let (code, told, rig) = relay.end();
    assert_eq!(code, Some(0), "{told}");
    assert!(!lives(server));
    let outcomes = rig.records("outcome");
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.iter().all(|outcome| outcome["server"] == "srv"));
}

#[test]
fn a_client_may_speak_over_sockets_and_files_as_well_as_over_pipes() {
    let filler = "x".repeat(4_000);
    let count = 200;
    let said: String = (1..=count)
        .map(|id| call(id, "read").replace("{}", &format!(r#"{{"filler":"{filler}"}}"#)) + "\n")
        .collect();
    let is_whole = |heard: &str| {
        let heard: Vec<&str> = heard.lines().collect();
        heard.len() == count as usize
            && (1..).zip(&heard).all(|(id, line)| line.contains(&format!("\"id\":{id},")))
    };
    let rig = Rig::new();
    // More than a socket holds: both sides have to wait for room.
    let (input, far_input) = UnixStream::pair().unwrap();
    let (mut output, far_output) = UnixStream::pair().unwrap();
    let mut child = command(&rig, SERVER)
        .stdin(OwnedFd::from(far_input))
        .stdout(OwnedFd::from(far_output))
        .spawn()
        .unwrap();
    let text = said.clone();
    let saying = std::thread::spawn(move || (&input).write_all(text.as_bytes()).unwrap());
    let mut heard = String::new();
    output.read_to_string(&mut heard).unwrap();
    saying.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(is_whole(&heard), "{}", heard.lines().count());
    // Files.
    rig.write("said", &said);
    let (input, output) = (rig.path("said"), rig.path("heard"));
    let mut child = command(&rig, SERVER)
        .stdin(std::fs::File::open(input).unwrap())
        .stdout(std::fs::File::create(&output).unwrap())
        .spawn()
        .unwrap();
    assert!(child.wait().unwrap().success());
    let heard = std::fs::read_to_string(output).unwrap();
    assert!(is_whole(&heard), "{}", heard.lines().count());
}

#[test]
fn a_server_that_crashes_leaves_no_request_without_an_answer() {
    let mut relay = relay(SERVER);
    relay.say(&call(1, "crash"));
    let answer = relay.hear();
    assert!(answer.contains("\"id\":1") && answer.contains("-32603"), "{answer}");
    let (code, told, _) = relay.end();
    assert_eq!(code, Some(3));
    assert!(told.contains("the server `srv` ended"), "{told}");
}

#[test]
fn what_is_no_message_is_told_to_people_and_not_passed() {
    let mut relay = relay(SERVER);
    relay.say(&call(1, "garbage"));
    assert!(relay.hear().contains("\"id\":1"));
    relay.say(&call(2, "twice"));
    let answer = relay.hear();
    assert!(answer.contains("\"id\":2") && answer.contains("duplicate key"), "{answer}");
    let (code, told, _) = relay.end();
    assert_eq!(code, Some(0));
    assert_eq!(told.matches("what is no message").count(), 2, "{told}");
}

#[test]
fn a_relay_that_is_killed_takes_its_server_with_it() {
    let mut relay = relay("echo $$ > \"$1\"; trap '' TERM; exec sleep 600");
    let server = relay.server();
    assert!(lives(server));
    relay.child.kill().unwrap();
    let _ = relay.child.wait();
    within(|| (!lives(server)).then_some(()));
}

/// A server that starts a program in a session of its own, whose parent ends at once, and one in its group.
const STARTS_OTHERS: &str = r#"
echo $$ > "$1"
setsid sh -c 'echo $$ > "$0.own"; trap "" TERM; sleep 600 & wait; sleep 600' "$1" &
( sh -c 'echo $$ > "$0.group"; sleep 600' "$1" & )
while IFS= read -r line; do
  case "$line" in *crash*) exit 7 ;; esac
done
"#;

/// The processes of such a server.
fn others(relay: &Relay) -> [i32; 3] {
    let pid = |name: &str| {
        let path = relay.rig.path(name);
        within(|| std::fs::read_to_string(&path).ok()?.trim().parse().ok())
    };
    ["pid", "pid.own", "pid.group"].map(pid)
}

#[test]
fn a_relay_that_is_killed_takes_with_it_all_that_its_server_has_started() {
    let mut relay = relay(STARTS_OTHERS);
    let all = others(&relay);
    assert!(all.iter().all(|pid| lives(*pid)));
    relay.child.kill().unwrap();
    let _ = relay.child.wait();
    within(|| (!all.iter().any(|pid| lives(*pid))).then_some(()));
}

#[test]
fn a_server_that_ends_or_is_ended_leaves_nothing_behind_that_it_has_started() {
    for crashes in [true, false] {
        let mut relay = relay(STARTS_OTHERS);
        let all = others(&relay);
        if crashes {
            relay.say(&call(1, "crash"));
            assert!(relay.hear().contains("-32603"));
        }
        let (code, told, _rig) = relay.end();
        assert_eq!(code, Some(if crashes { 3 } else { 0 }), "{told}");
        // How it ended is told as if nobody had stood between.
        assert_eq!(told.contains("exit status: 7"), crashes, "{told}");
        assert!(!all.iter().any(|pid| lives(*pid)));
    }
}

#[test]
fn a_server_that_a_signal_ended_is_told_so() {
    let mut relay = relay("echo $$ > \"$1\"; read line; kill -9 $$");
    relay.say(&call(1, "t"));
    assert!(relay.hear().contains("-32603"));
    let (code, told, _) = relay.end();
    assert_eq!(code, Some(3));
    assert!(told.contains("signal: 9"), "{told}");
}

#[test]
fn a_program_that_cannot_be_run_is_one_error_before_anything_is_served() {
    let rig = Rig::new();
    rig.write("no-program", "#!/no/such/interpreter\n");
    let path = rig.path("no-program");
    let set = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let path = path.to_str().unwrap();
    for (mode, program, listens) in [
        (0o644, "/nope", false),
        (0o644, "no-such-program-anywhere", true),
        (0o644, "/nope", true),
        (0o644, path, true),
        (0o755, path, false),
    ] {
        set(mode);
        let door: &[&str] = if listens { &["--listen", "127.0.0.1:0"] } else { &[] };
        let state = rig.path("state");
        let policy = rig.path("user.yaml");
        let output = Command::new(BINARY)
            .args(["--state", state.to_str().unwrap(), "--policy", policy.to_str().unwrap(), "mcp"])
            .args(door)
            .args(["--", program])
            .current_dir(rig.path("project"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{program}: {told}");
        assert_eq!(told.matches("error: ").count(), 1, "{program}: {told}");
        assert!(told.contains("cannot be started") && told.contains("remedy: "), "{told}");
    }
}

#[test]
fn a_request_whose_id_is_a_nought_with_a_sign_is_answered() {
    let mut relay = relay(SERVER);
    relay.say(&call(1, "read").replace("\"id\":1", "\"id\":-0"));
    // The server here answers as most do, with what it took the number for.
    let answer = relay.hear();
    assert!(answer.contains("\"id\":0"), "{answer}");
    relay.end();
}

#[test]
fn a_relay_over_http_that_is_killed_takes_its_programs_with_it_and_its_clients_notice() {
    let rig = Rig::new();
    rig.write("server.sh", SERVER);
    let text = |below: &str| rig.path(below).to_str().unwrap().to_owned();
    let mut child = Command::new(BINARY)
        .args(["--state", &text("state"), "--policy", &text("user.yaml"), "mcp", "--server", "srv"])
        .args(["--listen", "127.0.0.1:0", "--", "sh", &text("server.sh"), &text("pid")])
        .current_dir(rig.path("project"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = told
        .filter_map(|line| Some(line.split_once("http://")?.1.split('/').next()?.to_owned()))
        .next()
        .unwrap();
    let body = call(1, "hang").replace(
        "\"arguments\":{}",
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
    );
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: hang\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut wire = std::net::TcpStream::connect(&address).unwrap();
    wire.write_all((head + &body).as_bytes()).unwrap();
    let pid = rig.path("pid");
    let server = within(|| std::fs::read_to_string(&pid).ok()?.trim().parse().ok());
    child.kill().unwrap();
    let _ = child.wait();
    // The connection ends, and so does the program.
    let mut rest = Vec::new();
    let _ = wire.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    within(|| (!lives(server)).then_some(()));
}

#[test]
fn a_server_that_closes_its_output_ends_the_relay_and_leaves_no_request_without_an_answer() {
    let mut relay = relay("echo $$ > \"$1\"; read line; exec >&-; exec sleep 600");
    relay.say(&call(1, "t"));
    let answer = relay.hear();
    assert!(answer.contains("\"id\":1") && answer.contains("-32603"), "{answer}");
    let server = relay.server();
    // The client's side stays open.
    let mut told = String::new();
    let _ = relay.child.stderr.take().unwrap().read_to_string(&mut told);
    assert_eq!(relay.child.wait().unwrap().code(), Some(3));
    assert!(told.contains("closed its output"), "{told}");
    within(|| (!lives(server)).then_some(()));
}

#[test]
fn a_server_that_does_not_end_is_ended_with_all_that_it_started() {
    let relay = relay("echo $$ > \"$1\"; trap '' TERM; sleep 600 & wait; sleep 600");
    let server = relay.server();
    let started = Instant::now();
    let (code, _, _) = relay.end();
    assert_eq!(code, Some(0));
    assert!(started.elapsed() < Duration::from_secs(20));
    within(|| (!lives(server)).then_some(()));
}

#[test]
fn without_a_policy_that_holds_no_server_is_started() {
    let rig = Rig::new();
    rig.write("user.yaml", "version: 1\nhooks: [ { name: a } ]\n");
    let marker = rig.path("started");
    let ran = rig.run(&["mcp", "--", "touch", marker.to_str().unwrap()]).expect(2);
    assert!(ran.err.contains("has no action"), "{}", ran.err);
    assert!(!marker.exists());
    Rig::new().run(&["mcp"]).expect(2);
    let missing = Rig::new().run(&["mcp", "--", "/nowhere/at/all"]);
    assert!(missing.err.contains("/nowhere/at/all"), "{}", missing.err);
    assert_ne!(missing.code, 0);
}

#[test]
fn where_the_policy_says_so_a_changed_tool_is_neither_listed_nor_called_until_it_is_accepted() {
    let server = |description: &str| {
        format!(
            r#"echo $$ > "$1"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^.*"id":\("[^"]*"\|[0-9]*\).*$/\1/p')
  case "$line" in
    *tools/list*) printf '{{"jsonrpc":"2.0","id":%s,"result":{{"tools":[{{"name":"t","description":"{description}"}}]}}}}\n' "$id" ;;
    *) printf '{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text","text":"ran"}}]}}}}\n' ;;
  esac
done"#
        )
    };
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut first = relay(&server("reads"));
    first.say(ask);
    assert!(first.hear().contains("reads"));
    let (_, _, rig) = first.end();
    rig.write("user.yaml", "version: 1\nmcp: { pin: deny }\nhooks: []\n");
    rig.write("server.sh", &server("reads, and tells me"));
    let (script, pid) = (rig.path("server.sh"), rig.path("pid"));
    let both = |rig: &Rig| {
        let arguments =
            ["mcp", "--server", "srv", "--", "sh", script.to_str().unwrap(), pid.to_str().unwrap()];
        rig.run_in("project", &arguments, &format!("{ask}\n{}\n", call(2, "t")), &[]).out
    };
    let refused = both(&rig);
    assert!(refused.contains("\"tools\":[]") && !refused.contains("ran"), "{refused}");
    rig.run(&["mcp", "pins", "accept", "srv", "--yes"]).expect(0);
    let passes = both(&rig);
    assert!(passes.contains("tells me") && passes.contains("ran"), "{passes}");
}

#[test]
fn addresses_and_tokens_that_would_expose_the_server_are_refused_at_the_start() {
    let rig = Rig::new();
    let refuses = |arguments: &[&str], why: &str| {
        let ran = rig.run(&[&["mcp"], arguments].concat()).expect(2);
        assert!(ran.err.contains(why), "{arguments:?}: {}", ran.err);
    };
    let url = "https://example.com/mcp";
    refuses(&["--listen", "0.0.0.0:1", "--upstream", url], "of this machine only");
    refuses(&["--upstream", "https://u:p@example.com/"], "--upstream-token-file");
    refuses(&["--upstream", "https://example.com/?token=x"], "--upstream-token-file");
    refuses(&["--upstream", url, "--", "sh"], "cannot be used with");
    rig.write("token", "0123456789abcdef0123456789abcdef");
    let token = rig.path("token");
    let token = token.to_str().unwrap();
    let file = ["--upstream-token-file", token];
    refuses(&[&["--upstream", url], &file[..]].concat(), "chmod 600");
    std::fs::set_permissions(token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    refuses(&[&["--upstream", "http://example.com/"], &file[..]].concat(), "over https");
    refuses(
        &[&["--listen", "127.0.0.1:0", "--upstream", url], &file[..]].concat(),
        "credential of the server",
    );
}

#[test]
fn a_changed_definition_is_told_and_stays_told_until_it_is_accepted() {
    let list = |description: &str| {
        format!(
            "echo $$ > \"$1\"\nwhile IFS= read -r line; do printf '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{{\"name\":\"t\",\"description\":\"{description}\"}}]}}}}\\n'; done\n"
        )
    };
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut first = relay(&list("reads"));
    first.say(ask);
    assert!(first.hear().contains("reads"));
    let (_, told, rig) = first.end();
    assert!(!told.contains("changed"), "{told}");
    rig.run(&["mcp", "pins", "list"]).expect(0);

    rig.write("server.sh", &list("reads, and tells me"));
    let (server, pid) = (rig.path("server.sh"), rig.path("pid"));
    let again = |rig: &Rig| {
        let arguments =
            ["mcp", "--server", "srv", "--", "sh", server.to_str().unwrap(), pid.to_str().unwrap()];
        rig.run_in("project", &arguments, &format!("{ask}\n"), &[])
    };
    assert!(again(&rig).err.contains("the server changed what it says about this tool"));
    let listed = rig.run(&["mcp", "pins", "list", "--format", "json"]).expect(0).lines();
    assert_eq!(listed[0]["changed"], true);
    let unknown = rig.run(&["mcp", "pins", "accept", "srv", "--tool", "nope", "--yes"]).expect(2);
    assert!(
        unknown.err.contains("`nope`") && unknown.err.contains("its tools are: t"),
        "{}",
        unknown.err
    );
    rig.run(&["mcp", "pins", "accept", "srv"]).expect(2);
    rig.run(&["mcp", "pins", "accept", "srv", "--yes"]).expect(0);
    assert!(!again(&rig).err.contains("changed what it says"));
    assert_eq!(rig.records("trust").len(), 1);
}
