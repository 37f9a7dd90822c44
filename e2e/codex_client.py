"""A client of `codex app-server`, for what `codex exec` never shows: whether Codex asks its user.

    python3 codex_client.py CODEX [ARGUMENT..]

Starts the server, trusts the hooks that it lists (as a person does with `/hooks`), starts a thread in this folder that asks on request, and a turn; says yes to every question, and prints one line for
each: `asked: <the command as it was shown>`. Ends with the turn. Standard library only; the harness starts it.
"""
import json, os, subprocess, sys


def main(argv):
    server = subprocess.Popen(argv + ["app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(**message):
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()

    send(id=0, method="initialize", params={"clientInfo": {"name": "e2e", "title": "e2e", "version": "1"}})
    trusted, hooks = {"edits": [], "reloadUserConfig": True}, {}
    for line in server.stdout:
        message = json.loads(line)
        if message.get("error"):
            print("error: %s" % json.dumps(message["error"]))
            break
        method, number = message.get("method"), message.get("id")
        if method and number is not None:  # the server asks
            print("asked: %s" % (message["params"].get("command") or method), flush=True)
            send(id=number, result={"decision": "accept"})
        elif number == 0:
            send(method="initialized")
            send(id=3, method="hooks/list", params={"cwds": [os.getcwd()]})
        elif number == 3:
            for hook in [h for entry in message["result"]["data"] for h in entry["hooks"] if h["trustStatus"] != "trusted"]:
                hooks[hook["key"]] = {"enabled": True, "trusted_hash": hook["currentHash"]}
            trusted["edits"].append({"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": hooks})
            send(id=4, method="config/batchWrite", params=trusted)
        elif number == 4:
            send(id=1, method="thread/start", params={"cwd": os.getcwd(), "approvalPolicy": "on-request", "sandbox": "workspace-write"})
        elif number == 1:
            send(id=2, method="turn/start", params={"threadId": message["result"]["thread"]["id"], "input": [{"type": "text", "text": "go"}]})
        elif method == "turn/completed":
            break
    server.kill()
    server.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
