#!/usr/bin/env python3
"""Runs the real Gemini CLI against a scripted model on loopback and reports what a hook did.

Only what is particular to it stands here; the rest is in harness.py. Standard library only.
"""
import json, os, sys

import harness
from harness import dump, flat, hook_config, mcp_server

AGENT = "gemini"
BINARY_ENV = "GEMINI_BIN"
BINARY_GLOBS = ["node_modules/@google/gemini-cli/bundle/gemini.js", "node_modules/.bin/gemini"]
TRANSCRIPTS = "home/.gemini/**/*.json*"
PRE_EVENTS, POST_EVENTS = ["BeforeTool"], ["AfterTool"]  # AfterTool comes for failing commands too
MORE_EVENTS = ["SessionStart", "BeforeAgent", "BeforeModel", "AfterAgent", "SessionEnd"]  # the hook stands there too, so that a whole session passes it


# ---- the agent: everything that is particular to Gemini CLI ------------------------------------------------------------

def add_options(parser):
    parser.add_argument("--model", default="gemini-2.5-pro", help="the model's name")


def configure(run, opts):
    """Writes the hook configuration; returns the command line and the extra environment."""
    config = run.path("home/.gemini")
    os.makedirs(config)
    # Its time limits are milliseconds.
    handler = {"type": "command", "command": opts.hook, "timeout": opts.hook_timeout * 1000}
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
                "tools": {"useRipgrep": False}}
    if run.mcp:
        program, arguments = mcp_server(run)
        settings["mcpServers"] = {"notes": {"command": program, "args": arguments, "trust": True}}
    dump({**settings, **hook_config(run, opts, handler)}, config + "/settings.json")
    argv = [opts.binary] if not opts.binary.endswith(".js") else ["node", opts.binary]
    return argv + ["--yolo", "-m", opts.model, "-p", run.prompt], {
        "GEMINI_API_KEY": "dummy-not-a-key", "GOOGLE_GEMINI_BASE_URL": run.url, "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_SANDBOX": "false"}


def tool_call(call, run):
    """A case's call in the agent's own words: (tool name, input)."""
    do = call["do"]
    if do == "run":
        return "run_shell_command", {"command": call["command"], "description": "scripted"}
    if do == "write":
        return "write_file", {"file_path": run.ws(call["path"]), "content": call["content"]}
    if do == "edit":
        return "replace", {"file_path": run.ws(call["path"]), "old_string": call["old"], "new_string": call["new"],
                           "instruction": "scripted"}
    if do == "read":
        return "read_file", {"file_path": run.ws(call["path"])}
    if do == "mcp":
        return "mcp_notes_" + call["tool"], {"name": call["name"]}
    if do == "agent":
        return "invoke_agent", {"agent_name": "generalist", "prompt": run.task_of(call)}
    return call["name"], call["input"]  # do == "tool"


def recorded_call_id(payload, run):
    """Its hooks see no call id: the first call of this tool whose input is the same, or else the first one."""
    taken = run.__dict__.setdefault("matched", {})
    key = json.dumps(payload, sort_keys=True)
    if key not in taken:
        mine = [(i, tool_call(c, run)) for i, c in run.calls if tool_call(c, run)[0] == payload.get("tool_name")]
        free = [(i, t) for i, t in mine if i not in taken.values()]
        same = [i for i, t in free if t[1] == payload.get("tool_input")] or [i for i, _ in free]
        taken[key] = same[0] if same else None
    return taken[key]


def answer(run, path, body):
    """One model request in, (content type, bytes) out."""
    kind = path.split("?")[0].rsplit(":", 1)[-1]
    if kind == "countTokens":
        return "application/json", b'{"totalTokens": 10}'
    if kind not in ("generateContent", "streamGenerateContent"):
        return "application/json", b"{}"
    offered = {d.get("name") for t in body.get("tools") or [] for d in t.get("functionDeclarations") or []}
    main_loop = "run_shell_command" in offered
    seen = {}
    for content in body.get("contents", []) if main_loop else []:
        for part in content.get("parts") or []:
            answered = part.get("functionResponse")
            if answered:
                # Ids may be missing: then results come in the order of the calls of their tool.
                nth = seen[answered.get("name")] = seen.get(answered.get("name"), -1) + 1
                same = [i for i, c in run.calls if tool_call(c, run)[0] == answered.get("name") and i in run.issued]
                known = answered.get("id") if answered.get("id") in dict(run.calls) else None
                response = answered.get("response") or {}
                text = response.get("output", response.get("error"))
                if known or nth < len(same):
                    run.result(known or same[nth], flat(text if text is not None else response), "error" in response)
            elif part.get("text") and content.get("role") != "model":
                run.note(part["text"])
    texts = [p.get("text", "") for c in body.get("contents", []) if c.get("role") == "user" for p in c.get("parts") or []]
    script = run.script_of(texts)
    calls = run.next_calls(script) if main_loop else []
    parts = [{"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in calls] or [{"text": "done"}]
    if not calls and "complete_task" in offered:  # how its sub-agents end
        parts = [{"functionCall": {"id": "end", "name": "complete_task", "args": {"result": {"response": "done"}}}}]
    if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
        parts = [{"text": json.dumps({"reasoning": "scripted", "next_speaker": "user", "model_choice": "pro"})}]
    full = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
    if kind == "generateContent":
        return "application/json", json.dumps(full).encode()
    return "text/event-stream", ("data: %s\r\n\r\n" % json.dumps(full)).encode()


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
