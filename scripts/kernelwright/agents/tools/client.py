"""`kernelwright tool VERB`: ask the supervisor of this session; standard library alone, so that it starts at once.

Exit code 0: done (judge: accepted), 1: the judge did not accept, 2: refused or no session.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Sequence

SOCKET_VARIABLE = "KERNELWRIGHT_TOOL_SOCKET"


def ask(path: str, verb: str, arguments: dict[str, str]) -> dict:
    """The supervisor's answer. Raises OSError when nobody answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        with connection.makefile("rwb") as stream:
            stream.write(json.dumps({"verb": verb, "arguments": arguments}).encode() + b"\n")
            stream.flush()
            line = stream.readline()
    if not line:
        raise OSError("the supervisor hung up")
    return json.loads(line)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="kernelwright tool", description="Tools of an agent session.")
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    judge = verbs.add_parser("judge", help="judge a kernel against the incumbent: right values, then speed")
    judge.add_argument("file", nargs="?", help="default: the kernel file of this session")
    judge.add_argument("--depth", choices=("quick", "full"), help="quick: smoke check and timing alone")
    compiling = verbs.add_parser("compile", help="does it build and give right values once?")
    compiling.add_argument("file", nargs="?")
    verbs.add_parser("profile", help="metrics and bottlenecks of the incumbent")
    wiki = verbs.add_parser("wiki", help="cards by words, or one card by its id")
    wiki.add_argument("query", nargs="*")
    verbs.add_parser("memory", help="lessons of earlier versions")
    verbs.add_parser("status", help="what is left of the budgets, and the best kernel so far")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    given = vars(parser().parse_args(argv))
    verb = given.pop("verb")
    arguments = {key: " ".join(value) if isinstance(value, list) else value for key, value in given.items() if value}
    path = os.environ.get(SOCKET_VARIABLE)
    if not path:
        print(f"kernelwright tool: {SOCKET_VARIABLE} is not set: this is no agent session", file=sys.stderr)
        return 2
    try:
        answer = ask(path, verb, arguments)
    except (OSError, ValueError) as error:
        print(f"kernelwright tool: {error}", file=sys.stderr)
        return 2
    print(json.dumps(answer, indent=1))
    if "error" in answer:
        return 2
    return 0 if verb not in ("judge", "compile") or answer["status"] == "accepted" else 1


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(main(words[1:] if words[:1] == ["tool"] else words))
