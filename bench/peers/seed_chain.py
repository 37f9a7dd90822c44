"""The first and third seed's ways in Python, for side-by-side figures: prints JSON, ns per call.

Written after the texts' descriptions: a chain of two pre hooks (permission, argument rewrite) and
two post hooks (redaction, audit to a list), and a manager that matches every handler on each event.
"""

import fnmatch
import json
import time
from dataclasses import dataclass, field


@dataclass
class PreVerdict:
    allowed: bool
    arguments: dict = None
    reason: str = ""


@dataclass
class ToolResult:
    ok: bool
    content: str
    error: dict = None


class PermissionPolicy:
    def __init__(self, modes, path_rules):
        self.modes, self.path_rules = modes, path_rules

    def before(self, name, arguments):
        if self.modes.get(name, "allow") != "allow":
            return PreVerdict(False, reason=name + " is not allowed")
        if name in ("edit_file", "run_test"):
            for rule in self.path_rules:
                reason = rule(arguments.get("path", ""))
                if reason:
                    return PreVerdict(False, reason=reason)
        return PreVerdict(True)


class ArgumentRewrite:
    def __init__(self, cap):
        self.cap = cap

    def before(self, name, arguments):
        if name == "list_files":
            rewritten = dict(arguments)
            if rewritten.get("max_entries", 50) > self.cap:
                rewritten["max_entries"] = self.cap
                return PreVerdict(True, rewritten)
        return PreVerdict(True)


class RedactSecrets:
    def after(self, name, arguments, result):
        if result.ok and "SECRET" in result.content:
            lines = ["[masked]" if "SECRET" in line else line for line in result.content.split("\n")]
            return ToolResult(True, "\n".join(lines), result.error)
        return result


class AuditLog:
    def __init__(self, sink):
        self.sink = sink

    def after(self, name, arguments, result):
        row = {"tool": name, "ok": result.ok, "error": result.error, "arguments": arguments}
        self.sink.append(json.dumps(row, ensure_ascii=False))
        return result


class HookedToolRegistry:
    def __init__(self, handler, pre, post):
        self.handler, self.pre, self.post, self.denied = handler, pre, post, []

    def dispatch(self, name, arguments):
        current = arguments
        for hook in self.pre:
            verdict = hook.before(name, current)
            if not verdict.allowed:
                error = {"code": "hook_denied", "message": verdict.reason, "tool": name}
                result = ToolResult(False, "", error)
                self.denied.append({"tool": name, "reason": verdict.reason})
                for after in self.post:
                    result = after.after(name, current, result)
                return result
            if verdict.arguments is not None:
                current = verdict.arguments
        result = self.handler(name, current)
        for after in self.post:
            result = after.after(name, current, result)
        return result


@dataclass
class HookEvent:
    type: str
    context: dict
    payload: dict
    tags: list = field(default_factory=list)


@dataclass
class EventMatcher:
    event_type: str = None
    tags: list = field(default_factory=list)
    payload_pattern: dict = field(default_factory=dict)

    def match(self, event):
        if self.event_type is not None and event.type != self.event_type:
            return False
        if self.tags and not set(self.tags).issubset(set(event.tags)):
            return False
        for name, pattern in self.payload_pattern.items():
            value = event.payload.get(name, "")
            if value is None or value == "":
                return False
            if not fnmatch.fnmatch(str(value), pattern):
                return False
        return True


class HookManager:
    def __init__(self):
        self.handlers = []

    def register(self, handler, matcher, priority=100):
        self.handlers.append((priority, matcher, handler))
        self.handlers.sort(key=lambda entry: entry[0])

    def dispatch(self, event):
        result = {"blocked": False}
        for handler in [h for _, m, h in self.handlers if m.match(event)]:
            handler(event, result)
            if result["blocked"]:
                return result
        return result


def ns_per_call(call, seconds=0.4):
    for _ in range(200):
        call()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        for _ in range(200):
            call()
        best = min(best, (time.perf_counter_ns() - start) / 200)
    return best


def main():
    sink = []
    rules = [lambda path: "protected" if path.rsplit("/", 1)[-1].startswith("test_") else ""]
    registry = HookedToolRegistry(
        lambda name, arguments: ToolResult(True, "a = 1\nTOKEN = 'x'  # SECRET\nb = 2\n"),
        [PermissionPolicy({}, rules), ArgumentRewrite(10)],
        [RedactSecrets(), AuditLog(sink)],
    )
    out = {}

    def chain():
        sink.clear()
        registry.dispatch("list_files", {"max_entries": 100})

    out["seed_chain"] = ns_per_call(chain)
    for count in (10, 1000):
        manager = HookManager()
        for i in range(count):
            manager.register(
                lambda event, result: None,
                EventMatcher("pre_tool", payload_pattern={"tool_name": "tool_%d" % i}),
            )
        event = HookEvent("pre_tool", {}, {"tool_name": "tool_5"}, ["tool_call"])
        out["registered_%d" % count] = ns_per_call(lambda: manager.dispatch(event))
    print(json.dumps(out))


if __name__ == "__main__":
    main()
