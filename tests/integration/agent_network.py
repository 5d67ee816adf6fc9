#!/usr/bin/env python3
"""agent_network.py COMMAND...: runs a test of hob-agent with the daemon in one network namespace and the agent in another, and is
the wire between them: by HOB_SEED it delays each packet by DELAY seconds each way (0.04), loses a share LOSS of them (0.01), and
all for up to two seconds now and then. Needs root, iproute2 and /dev/net/tun.
    HOB=build/release/hob HOB_EDITS=10000 HOB_TEST_DEADLINE=300 tests/integration/agent_network.py \\
        python3 tests/integration/test_agent.py Agent.test_random_edits_with_kills_of_either_side"""
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
DELAY, LOSS = (float(os.environ.get(name, normal)) for name, normal in (("DELAY", 0.04), ("LOSS", 0.01)))
SPACES = {f"hob-{side}-{os.getpid()}": address for side, address in (("daemon", "10.77.0.1"), ("agent", "10.77.0.2"))}


def end_of_wire(space, address):
    """A device in the namespace; what is sent through it can be read here."""
    device, name = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK), f"w{address[-1]}-{os.getpid()}"
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), TUN_WITHOUT_HEADER))
    for words in (f"link set {name} netns {space}", f"-n {space} link set lo up", f"-n {space} link set {name} txqueuelen 10000 up",
                  f"-n {space} addr add {address}/24 dev {name}"):
        subprocess.run(["ip", *words.split()], check=True)
    return device


def carry(ends, until):
    """Packets from each end to the other, until the descriptor `until` is readable. Returns what was carried and what was lost."""
    dice, under_way, number, carried, lost = random.Random(os.environ.get("HOB_SEED")), [], itertools.count(), 0, 0
    hole = time.monotonic() + 20
    other = dict(zip(ends, reversed(ends)))
    while True:
        now = time.monotonic()
        while under_way and under_way[0][0] <= now:
            _, _, end, packet = heapq.heappop(under_way)
            try:
                carried += os.write(end, packet) > 0
            except BlockingIOError:
                lost += 1
        ready = select.select([*ends, until], [], [], max(0, under_way[0][0] - now) if under_way else None)[0]
        if until in ready:
            return carried, lost
        now = time.monotonic()
        if now > hole + 2:
            hole = now + dice.uniform(10, 40)
        for end in ready:
            try:
                for _ in range(64):
                    packet = os.read(end, 2048)
                    if dice.random() < LOSS or hole < now < hole + 2:
                        lost += 1
                    else:
                        heapq.heappush(under_way, (now + DELAY, next(number), other[end], packet))
            except BlockingIOError:
                pass


try:
    for space in SPACES:
        subprocess.run(["ip", "netns", "add", space], check=True)
    ends = [end_of_wire(*item) for item in SPACES.items()]
    at = [["ip", "netns", "exec", space] for space in SPACES]
    with subprocess.Popen([*at[0], *sys.argv[1:]], env=dict(os.environ, HOB_AGENT_NETWORK="10.77.0.1", HOB_AGENT_SIDE=" ".join(at[1]))) as command:
        carried, lost = carry(ends, os.pidfd_open(command.pid))
    print(f"{carried} packets arrived, {lost} were lost, with {DELAY:g} s each way")
    sys.exit(command.returncode)
finally:
    for space in SPACES:
        subprocess.run(["ip", "netns", "del", space], check=False)
