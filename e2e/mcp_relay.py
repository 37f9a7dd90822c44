"""The relay between official clients and servers: the same answers directly and through every hop.

Started by `cargo xtask conformance`, which brings what it needs: --npm DIR (node, the TypeScript packages),
--python FILE (an interpreter with `mcp` and the servers), --tollgate FILE. Prints a table. Exit status 0: nothing
was lost; 1: something was, and it is named.
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 180


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


class Stage:
    def __init__(self, wanted):
        self.wanted = wanted
        self.npm = Path(wanted.npm).resolve() / "node_modules"
        self.node = str(self.npm / "node/bin/node")
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
    lost = [name for name in direct if through.get(name) != direct[name]]
    for name in lost:
        print(f"{what}: {name}\n  directly: {direct[name]}\n  through:  {through.get(name)}", file=sys.stderr)
    table.append((what, len(direct) - len(lost), len(direct)))


def clients(stage, table, who, command, program, url, more=None, env=None):
    more = more or {}
    direct = {
        "HTTP": client(command, {"url": url, **more}, env) if url else None,
        "stdio": client(command, {"cmd": program, **more}, env),
    }
    for name, like, spec in stage.hops(program, url or "http://127.0.0.1:1/mcp"):
        if direct[like] is not None:
            compare(table, f"{who}, {name}", direct[like], client(command, {**spec, **more}, env))


def suite(stage, url, revision):
    """The scenarios of the public suite that pass in full."""
    with tempfile.TemporaryDirectory() as folder:
        main = str(stage.npm / "@modelcontextprotocol/conformance/dist/index.js")
        command = [stage.node, main, "server", "--url", url, "--requirements", revision]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=600)
    lines = [line.split(":")[0].removeprefix("\u2713").strip() for line in ran.stdout.splitlines() if line.startswith("\u2713")]
    return {name: "passes" for name in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--npm", "--python", "--tollgate"):
        parser.add_argument(name, required=True)
    stage, table = None, []
    stage = Stage(parser.parse_args())
    try:
        everything = str(stage.npm / "@modelcontextprotocol/server-everything/dist/index.js")
        port = free_port()
        stage.start([stage.node, everything, "streamableHttp"], {"PORT": str(port)})
        wait_for(port)
        url, program = f"http://localhost:{port}/mcp", [stage.node, everything, "stdio"]
        env = {"MODULES": str(stage.npm.parent)}
        script = [stage.node, str(HERE / "mcp_client.mjs")]
        clients(stage, table, "server-everything, TypeScript client", script, program, url, env=env)

        python = stage.wanted.python
        port = free_port()
        server = [python, str(HERE / "mcp_server.py")]
        stage.start([*server, str(port)])
        wait_for(port)
        script = [python, str(HERE / "mcp_client.py")]
        more = {"calls": [["add", {"a": 1, "b": 2}], ["mail", {}]], "more": True}
        clients(stage, table, "Python server and client", script, server, f"http://127.0.0.1:{port}/mcp", more)

        when = {"source_timezone": "UTC", "time": "10:00", "target_timezone": "Asia/Tokyo"}
        more = {"calls": [["convert_time", when]]}
        clients(stage, table, "mcp-server-time, Python client", script, [python, "-m", "mcp_server_time"], None, more)

        hops = stage.hops(program, url)
        direct = suite(stage, url, "2025-11-25")
        for name, _, spec in hops[:2]:
            compare(table, f"conformance suite 2025-11-25, {name}", direct, suite(stage, spec["url"], "2025-11-25"))
        port = free_port()
        stage.start([*server, str(port)])
        wait_for(port)
        url = f"http://localhost:{port}/mcp"
        hops = stage.hops(server, url)
        direct = suite(stage, url, "2026-07-28")
        for name, _, spec in hops[:2]:
            compare(table, f"conformance suite 2026-07-28, {name}", direct, suite(stage, spec["url"], "2026-07-28"))
    finally:
        stage.end()
    print("| what | the same as directly | of |\n|---|---|---|")
    for what, same, of in table:
        print(f"| {what} | {same} | {of} |")
    sys.exit(0 if all(same == of > 0 for _, same, of in table) else 1)


if __name__ == "__main__":
    main()
