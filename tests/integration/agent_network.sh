#!/bin/sh
# agent_network.sh COMMAND...: runs a test of hob-agent with the daemon in one network namespace and the agent in another; the
# kernel delays what they send and loses some of it. Needs root, iproute2 and netem.
#     HOB=build/release/hob HOB_EDITS=10000 tests/integration/agent_network.sh \
#         python3 tests/integration/test_agent.py Agent.test_random_edits_with_kills_of_either_side
set -e
: "${HOB:?the daemon}" "${DELAY:=20ms}" "${LOSS:=1%}"
end() { ip netns del hob-daemon; ip netns del hob-agent; }
trap end EXIT
ip netns add hob-daemon
ip netns add hob-agent
ip -n hob-daemon link add wire type veth peer name wire netns hob-agent
for side in daemon:1 agent:2; do
	name=hob-${side%:*}
	ip -n "$name" link set lo up
	ip -n "$name" addr add "10.77.0.${side#*:}/24" dev wire
	ip -n "$name" link set wire up
	tc -n "$name" qdisc add dev wire root netem delay "$DELAY" loss "$LOSS" limit 10000
done
HOB_AGENT_NETWORK=10.77.0.1 HOB_AGENT="ip netns exec hob-agent ${HOB_AGENT:-$(dirname "$HOB")/hob-agent}" ip netns exec hob-daemon "$@"
