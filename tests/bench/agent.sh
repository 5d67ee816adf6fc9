#!/bin/sh
# agent.sh BUILD [--files N]: hob-agent. From a save of 1 MB on the agent's side to the event of the daemon, through a proxy with 1 ms
# of delay in each direction (20 saves); a start with N files (100,000) that did not change, its peak memory, the system calls
# of 10 idle seconds, and the files that a save opens (strace).
exec python3 "$(dirname "$0")/agent_bench.py" "$@"
