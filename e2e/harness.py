"""What the harnesses of this folder share: a case's run, the scripted model's server, the search for secrets, the report.

Why: what an agent does with a hook's answer is decided by the agent, so only the agent can show it.
How: for every case a fresh HOME, workspace, hook configuration and fake model server; the "model" makes the
case's calls one after another, then says "done". Prints one JSON object (see README.md). Standard library only.
An agent is a module that has AGENT, BINARY_ENV, BINARY_GLOBS, TRANSCRIPTS, PRE_EVENTS, POST_EVENTS, MORE_EVENTS,
add_options, configure, tool_call, recorded_call_id and answer; it ends in `harness.main(sys.modules[__name__])`.
Refuses: traffic that is not loopback (a dead proxy takes it and it is reported), a case whose call text holds the secret
(it would then be in every later request, whatever the hook does), a run past its time limit.
"""
import argparse, glob, json, os, random, re, shlex, shutil, signal, string, subprocess, sys, tempfile, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def refuse(why):
    print(why, file=sys.stderr)
    sys.exit(2)


def dump(value, path):
    with open(path, "w") as f:
        json.dump(value, f, indent=1)


def flat(content):
    """The text of a result that may be a string, a list of blocks, or an object."""
    if isinstance(content, list):
        return "\n".join(c.get("text", json.dumps(c)) if isinstance(c, dict) else str(c) for c in content)
    return content if isinstance(content, str) else json.dumps(content)


def hook_config(run, opts, handler):
    """The hook under test at every event (or the user's own file), and the recorder beside it."""
    agent = run.agent
    if opts.hooks_file:
        with open(opts.hooks_file) as f:
            config = json.load(f)
    else:
        config = {"hooks": {e: [{"matcher": "*", "hooks": [handler]}] for e in agent.PRE_EVENTS + agent.POST_EVENTS + agent.MORE_EVENTS if opts.hook}}
    for event in agent.POST_EVENTS + (agent.PRE_EVENTS if opts.capture else []):
        recorder = dict(handler, command=run.recorder(event))
        config.setdefault("hooks", {}).setdefault(event, []).append({"matcher": "*", "hooks": [recorder]})
    return config


class Run:
    """One case: its temporary root, its script, and what the model server saw."""

    def __init__(self, agent, case, files, secret):
        if "{secret}" in json.dumps(case.get("calls")):
            refuse("case %r: a call must not hold {secret}; put it in a file" % case["name"])
        self.prompt, self.mcp, self.ask = case.get("prompt", "go"), case.get("mcp", False), case.get("ask", False)
        self.agent = agent
        self.root = tempfile.mkdtemp(prefix="e2e-%s-" % agent.AGENT)
        for d in ("home", "tmp", "ws", "rec"):
            os.makedirs(self.path(d))
        self.secret, self.lock = secret, threading.Lock()
        self.requests, self.results, self.issued, self.unreadable = [], {}, {}, 0
        self.notes, self.opening, self.outside = [], set(), []
        fill = lambda v: (v.replace("{ws}", self.path("ws")).replace("{secret}", secret) if isinstance(v, str) else
                          {k: fill(x) for k, x in v.items()} if isinstance(v, dict) else
                          [fill(x) for x in v] if isinstance(v, list) else v)
        for name, text in {**files, **case.get("files", {})}.items():
            os.makedirs(os.path.dirname(self.ws(name)), exist_ok=True)
            with open(self.ws(name), "w") as f:
                f.write(fill(text))
        self.calls, self.scripts = [], {}
        self.read_script("", fill(case["calls"]))

    def read_script(self, name, calls):
        """A list of steps, each of calls that are made at once; a call of a sub-agent has a script of its own, named after it."""
        self.scripts[name] = steps = []
        for step in calls:
            steps.append([])
            for call in step if isinstance(step, list) else [step]:  # a list in the list: parallel calls
                steps[-1].append(("call_%02d" % len(self.calls), call))
                self.calls.append(steps[-1][-1])
        for i, call in [c for s in steps for c in s]:
            if call["do"] == "agent":
                self.read_script(i, call["calls"])

    def task_of(self, call):
        """What a sub-agent is told, by which its requests are known."""
        return "The scripted task of %s." % next(i for i, c in self.calls if c is call)

    def script_of(self, texts):
        """The script that a conversation follows, by the texts that it began with."""
        return next((name for name in self.scripts if name and any("The scripted task of %s." % name in t for t in texts)), "")

    def open_agents(self):
        """The sub-agents that were started and have not got to the end of their scripts."""
        return [name for name, steps in self.scripts.items() if name in self.issued and any(i not in self.results for s in steps for i, _ in s)]

    def path(self, name):
        return os.path.join(self.root, name)

    def ws(self, name):
        return name if os.path.isabs(name) else os.path.join(self.path("ws"), name)

    def recorder(self, event):
        """A hook that only keeps its stdin; silent, so it has no say."""
        return "cat > %s/%s.$$.json" % (shlex.quote(self.path("rec")), event)

    def recorded(self):
        out = []
        for f in sorted(glob.glob(self.path("rec/*.json")), key=os.path.getmtime):
            try:
                payload = json.load(open(f))
            except ValueError:
                payload = {"unparsable_stdin": open(f, errors="replace").read()[:2000]}
            out.append((os.path.basename(f).split(".")[0], payload))
        return out

    # called by `answer`, under the lock
    def result(self, call_id, text, is_error=None):
        if call_id not in self.results:
            self.results[call_id] = {"text": text, "is_error": is_error, "request": len(self.requests) - 1}

    def note(self, text):
        """A message that is neither a result nor part of the opening: hooks' context, reminders."""
        if not self.issued:
            self.opening.add(text)
        elif text and text not in self.opening and text[:600] not in self.notes:
            self.notes.append(text[:600])

    def request_count(self):
        return len(self.requests)

    def next_calls(self, script=""):
        """The first step of a script that has calls without a result; [] when it is done."""
        for step in self.scripts[script]:
            if any(i not in self.results for i, _ in step):
                for i, _ in step:
                    self.issued.setdefault(i, len(self.requests) - 1)
                return [(i,) + tuple(self.agent.tool_call(c, self)) for i, c in step if i not in self.results]
        return []

    def serve(self):
        run = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, kind, data, status=200):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            def do_CONNECT(self):
                run.outside.append(self.path)
                self.close_connection = True
                self.reply("text/plain", b"loopback only", 403)

            def do_GET(self):
                if self.path.startswith("http"):
                    run.outside.append(self.path)
                    return self.reply("text/plain", b"loopback only", 403)
                self.reply("application/json", b'{"data": [], "models": []}')

            do_HEAD = do_GET

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.path.startswith("http"):
                    run.outside.append(self.path)
                    return self.reply("text/plain", b"loopback only", 403)
                with run.lock:
                    run.requests.append(raw)
                    try:
                        body = json.loads(raw or b"{}")
                    except ValueError:
                        body, run.unreadable = {}, run.unreadable + 1
                    kind, data = run.agent.answer(run, self.path, body)
                self.reply(kind, data)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):  # an agent that hangs up early is no news
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "notes_server.py")


def mcp_server(run):
    """The MCP server of a case that wants one: program and arguments."""
    return sys.executable, [SERVER, run.path("ws")]


def holding(secret, root, patterns):
    """{file: number of copies} of the files under `root` that hold the secret."""
    found = {}
    for pattern in patterns:
        for f in glob.glob(os.path.join(root, pattern), recursive=True, include_hidden=True):
            if os.path.isfile(f) and not os.path.islink(f):
                try:
                    n = open(f, "rb").read().count(secret.encode())
                except OSError:
                    continue
                if n:
                    found[os.path.relpath(f, root)] = n
    return found


def effect(call, run, post):
    """Did the call really happen? True / False, or None when nothing can show it."""
    if call.get("effect"):
        return os.path.exists(run.ws(call["effect"]))
    if call["do"] == "write":
        try:
            return open(run.ws(call["path"])).read().strip() == call["content"].strip()
        except OSError:
            return False
    if call["do"] == "edit":
        return os.path.isfile(run.ws(call["path"])) and call["new"] in open(run.ws(call["path"])).read()
    return post is not None  # a read leaves no trace: the agent's own after-event shows it


def failures(expect, got):
    bad = []
    for key, want in (expect or {}).items():
        for text in (want if isinstance(want, list) else [want]):
            if key == "result_is_error" and got[key] is None:
                good = True  # an agent that does not say
            elif key in ("result_has", "effect_has"):
                good = text in (got["result" if key == "result_has" else "effect_text"] or "")
            elif key == "result_lacks":
                good = text not in (got["result"] or "")
            else:
                good = got.get(key) == text
            if not good:
                shown = got.get({"effect_has": "effect_text", "result_has": "result", "result_lacks": "result"}.get(key, key))
                bad.append("%s: wanted %r, got %r" % (key, text, shown))
    return bad


def stop(group, home):
    """Ends what this run started: the agent's process group, and what left it (told by its HOME, which only this run has)."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
    for f in glob.glob("/proc/[0-9]*/environ"):
        try:
            if ("HOME=" + home).encode() in open(f, "rb").read().split(b"\0"):
                os.kill(int(f.split("/")[2]), signal.SIGKILL)
        except OSError:
            pass


def run_case(agent, case, doc, opts):
    secret = opts.secret or re.sub(r"\{rand:(\d+)\}", lambda m: "".join(
        random.choices(string.ascii_letters + string.digits, k=int(m.group(1)))), doc.get("secret", "secret_{rand:24}"))
    run = Run(agent, case, doc.get("files", {}), secret)
    try:
        run.serve()
        argv, extra = agent.configure(run, opts)
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": run.path("home"), "TMPDIR": run.path("tmp"),
               "LANG": "C.UTF-8", "NO_COLOR": "1", "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
               **{k: run.url for k in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy")},
               **extra, **dict(e.split("=", 1) for e in opts.env)}
        start = time.monotonic()
        process = subprocess.Popen(argv + opts.agent_arg, env=env, cwd=run.path("ws"), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = process.communicate(timeout=opts.timeout)
            timed_out = False
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            stop(process.pid, run.path("home"))
        if timed_out:
            try:
                out, err = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:  # a child in another group still holds the pipe
                out = err = b""
        wall = time.monotonic() - start
        run.server.shutdown()
        recorded = run.recorded()
        posts = {agent.recorded_call_id(p, run): e for e, p in recorded if e in agent.POST_EVENTS}
        calls, spans = [], [secret.encode() in r for r in run.requests]
        transcripts = holding(secret, run.root, [agent.TRANSCRIPTS])
        for n, (i, call) in enumerate(run.calls):
            res = run.results.get(i)
            post = posts.get(i)
            text = call.get("effect") and os.path.isfile(run.ws(call["effect"])) and open(run.ws(call["effect"])).read()[:300]
            got = {"call": dict(zip(("tool", "input"), agent.tool_call(call, run))), "asked": i in run.issued,
                   "ran": effect(call, run, post), "effect_text": text or None, "post_event": post,
                   "result": res and res["text"][:opts.max_text], "result_is_error": res and res["is_error"],
                   "secret_in_result": bool(res) and secret in res["text"],
                   "secret_in_later_requests": any(spans[run.issued.get(i, len(spans)) + 1:]),
                   "secret_in_transcripts": bool(transcripts)}
            expect = call.get("expect")
            got["failures"] = [] if opts.no_expect else failures(expect, got)
            calls.append(got)
        effects = {name: os.path.exists(run.ws(name)) for name in case.get("effects", {})}
        said = out.decode(errors="replace")
        wrong = ["%s: %r" % (n, there) for n, there in effects.items() if there != case["effects"][n]]
        wrong += ["stdout_has: %r" % case["stdout_has"]] if case.get("stdout_has", "") not in said else []
        sent = [text for text in [case.get("requests_lack")] if text and any(text.encode() in r for r in run.requests)]
        wrong += ["requests_lack: %r" % text for text in sent]
        wrong += ["stdout_lacks: %r" % case["stdout_lacks"]] if "stdout_lacks" in case and case["stdout_lacks"] in said else []
        wrong = [] if opts.no_expect else wrong
        report = {"case": case["name"], "ok": not (timed_out or wrong or any(c["failures"] for c in calls)), "exit_code": process.returncode,
                  "timed_out": timed_out, "wall_s": round(wall, 2), "secret": secret, "calls": calls, "effects": effects, "failures": wrong,
                  "model_requests": len(run.requests), "unreadable_requests": run.unreadable,
                  "requests_with_secret": [n for n, s in enumerate(spans) if s],
                  "transcripts_with_secret": transcripts,
                  "other_home_files_with_secret": {k: v for k, v in holding(secret, run.root, ["home/**"]).items() if k not in transcripts},
                  "later_messages": run.notes, "refused_traffic": sorted(set(run.outside)),
                  "stdout": said[-opts.max_text:], "stderr": err.decode(errors="replace")[-opts.max_text:]}
        if opts.capture:
            report["hook_stdin"] = [dict(event=e, payload=p) for e, p in recorded]
        if opts.keep:
            report["kept"] = run.root
        return report
    finally:
        if not opts.keep:
            shutil.rmtree(run.root, ignore_errors=True)


def find_binary(agent, opts):
    for given in (opts.binary, os.environ.get(agent.BINARY_ENV)):
        if given:
            return given if os.path.isfile(given) else refuse("no such file: %s" % given)
    for pattern in agent.BINARY_GLOBS if opts.npm_dir else []:
        for f in sorted(glob.glob(os.path.join(opts.npm_dir, pattern))):
            if os.access(f, os.X_OK):
                return os.path.abspath(f)
    refuse("%s not found: set %s, or --npm-dir DIR (see README.md)" % (agent.AGENT, agent.BINARY_ENV))


def version(opts):
    with tempfile.TemporaryDirectory() as home:
        try:
            return subprocess.run([opts.binary, "--version"], env={"PATH": os.environ.get("PATH", ""), "HOME": home},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout.strip()
        except (OSError, subprocess.TimeoutExpired) as e:
            return "unknown: %s" % e


def main(agent):
    """Runs the cases and ends the program: 0 all as expected, 1 not, 2 usage."""
    p = argparse.ArgumentParser(description=agent.__doc__.split("\n")[0])
    p.add_argument("--hook", default="", help="the hook command, as it would stand in the agent's configuration (none: no hook)")
    p.add_argument("--hooks-file", help="use the hooks of this file, in the agent's own format, instead of --hook")
    p.add_argument("--cases", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.json"))
    p.add_argument("--only", action="append", default=[], metavar="NAME", help="only this case (may be repeated)")
    p.add_argument("--binary", help="the agent (default: $%s, then --npm-dir)" % agent.BINARY_ENV)
    p.add_argument("--npm-dir", default=os.environ.get("AGENTS_NPM_DIR"), help="prefix of a local npm install (default: $AGENTS_NPM_DIR)")
    p.add_argument("--timeout", type=float, default=90, help="seconds for one case (default 90)")
    p.add_argument("--hook-timeout", type=int, default=10, help="the handler's timeout, seconds (default 10)")
    p.add_argument("--capture", action="store_true", help="report what hooks get on stdin")
    p.add_argument("--no-expect", action="store_true", help="report only; ignore the cases' expectations")
    p.add_argument("--secret", help="use this secret instead of the cases' own")
    p.add_argument("--env", action="append", default=[], metavar="K=V", help="for the agent and so for the hook")
    p.add_argument("--agent-arg", action="append", default=[], metavar="ARG", help="one more argument for the agent")
    p.add_argument("--max-text", type=int, default=2000, help="characters of results and output in the report")
    p.add_argument("--keep", action="store_true", help="keep the temporary folders")
    agent.add_options(p)
    opts = p.parse_args()
    opts.binary = find_binary(agent, opts)
    with open(opts.cases) as f:
        doc = json.load(f)
    cases = [c for c in doc["cases"] if (not opts.only or c["name"] in opts.only) and agent.AGENT in c.get("agents", [agent.AGENT])]
    start = time.monotonic()
    reports = [run_case(agent, c, doc, opts) for c in cases]
    ok = bool(reports) and all(r["ok"] for r in reports)
    json.dump({"agent": agent.AGENT, "version": version(opts), "hook": opts.hooks_file or opts.hook, "ok": ok,
               "wall_s": round(time.monotonic() - start, 2), "cases": reports}, sys.stdout, indent=1)
    print()
    sys.exit(0 if ok else 1)
