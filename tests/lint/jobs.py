#!/usr/bin/env python3
"""Checks that the table of server/cook decides about jobs. A job's callbacks only put one event; only the turn calls the
functions of engine_acts.h; only one file applies events; jobs have no state outside the table. Prints one line per finding;
exits 1 if there is any."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENGINE = ROOT / "server/engine"
MAY_CALL = {"srv_job_put", "of_client", "snprintf", "HOB_FMT", "hob_arena_init", "hob_arena_release", "SRV_JOB_SAY", "sizeof"}
# Callbacks of libuv, the pool, the watch, the upstream and the messages that still act. The rest only enqueue, or end work.
ENQUEUES = MAY_CALL | {"srv_engine_stir", "srv_engine_go_on", "srv_engine_begin_work", "srv_engine_close_when_idle",
                       "srv_engine_work_over", "done", "assert"}
ACTING = {
    "engine.c": {"on_second"}, "engine_chain.c": {"on_found", "on_validated", "on_pulled"}, "engine_changeset.c": {"on_look"},
    "engine_jobs.c": {"on_pool_ready", "on_pool_degraded", "on_part_get", "on_part_put"},
    "engine_maps.c": {"on_second", "on_first", "on_found"}, "engine_requests.c": {"take_posted"},
    "engine_sources.c": {"on_scanned", "on_gone", "on_changed", "on_reset", "on_passed", "on_mode"},
    "engine_turn.c": {"on_more", "on_polled", "on_end"},
}
CALLBACK = r"on_(?!trial)\w+|take_posted"
GONE = r"\b(abandoned|filling|claims_filling|stopped|step_later|srv_job_later|list_next|twin)\b"


def plain(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def functions(text):
    """(name, body, line) of each function."""
    for match in re.finditer(r"^[a-z][\w *]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", text, flags=re.S | re.M):
        yield match.group(1), match.group(2), text.count("\n", 0, match.start()) + 1


def check(name, text, acts, findings):
    acts = acts - {function for function, _, _ in functions(text)}
    for function, body, line in functions(text):
        calls = set(re.findall(r"\b(\w+)\(", body))
        if "srv_job_put" in calls and function.startswith("on_") and calls - MAY_CALL:
            findings.append(f"{name}:{line}: {function} does more than to put an event: {', '.join(sorted(calls - MAY_CALL))}")
        if re.search(r"\bengine_job \*job = (?:user|work->data|of_client\()", body) and "srv_job_put" not in calls and \
                function not in ("on_progress", "hash_work", "store_work", "look_at_input"):
            findings.append(f"{name}:{line}: {function} is a callback of a job and puts no event")
        if name != "engine_turn.c" and calls & acts:
            findings.append(f"{name}:{line}: {function} calls {', '.join(sorted(calls & acts))}, which is for the turn")
    if name != "engine_job.c" and re.search(r"\bsrv_job_apply\(", text):
        findings.append(f"{name}: applies an event beside srv_job_step")
    for match in re.finditer(GONE + r"|life\.stage = |life->stage = ", text):
        findings.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0)}: the table of server/cook/job.c has it")


def check_callbacks(name, text, findings):
    acting = set()
    for function, body, line in functions(text):
        calls = set(re.findall(r"\b(\w+)\(", body)) - ENQUEUES - {"if", "for", "while"}
        if re.fullmatch(CALLBACK, function) and calls:
            acting.add(function)
            if function not in ACTING.get(name, ()):
                findings.append(f"{name}:{line}: the callback {function} does more than to enqueue: {', '.join(sorted(calls))}")
    for function in sorted(ACTING.get(name, set()) - acting):
        findings.append(f"{name}: {function} only enqueues now: it leaves the table of tests/lint/jobs.py")


def main():
    findings = []
    head = plain((ENGINE / "engine_acts.h").read_text())
    acts = set(re.findall(r"\b(srv_job_\w+)\(", head[:head.index("void srv_job_take_outcome")]))
    for path in sorted(ENGINE.glob("*.[ch]")):
        check(path.name, plain(path.read_text()), acts, findings)
        check_callbacks(path.name, plain(path.read_text()), findings)
    left = sum(map(len, ACTING.values()))
    print("\n".join(findings) if findings else f"jobs: the turn alone calls {len(acts)} acts; {left} callbacks act themselves")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
