"""A network between a client and a daemon, on one machine: a proxy that delays, holds up as a lost packet does, and cuts
connections, and counts the bytes of each kind of request."""
import asyncio
import collections
import random
import re
import socket
import struct
import threading

PIECE, PACKET = 16384, 1448


class Wire:
    """Forwards to 127.0.0.1:port from a port of its own. delay: seconds in each direction. loss: share of packets that arrive a
    round trip later, and all behind them, as TCP delivers them. `up` and `down` are bytes by kind of request; `blobs` has for
    each digest [bytes of its first upload, bytes sent again]."""

    def __init__(self, port, delay=0.0, loss=0.0, seed=0, host="127.0.0.1"):
        self.target, self.delay, self.loss, self.dice = port, delay, loss, random.Random(seed)
        self.up, self.down, self.blobs = collections.Counter(), collections.Counter(), {}
        self.requests, self.cuts, self.open = collections.Counter(), 0, set()
        self.budget = {"up": None, "down": None}  # bytes until a cut
        self.closed = False  # refuses connections
        self.socket = socket.create_server((host, 0))
        self.port = self.socket.getsockname()[1]
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(asyncio.start_server(self._accept, sock=self.socket, limit=1 << 20))
        self.loop.run_forever()

    def stop(self):
        async def end():
            self.server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            self.loop.stop()
        asyncio.run_coroutine_threadsafe(end(), self.loop)
        self.thread.join()
        self.loop.close()

    def call(self, what):
        done = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (what(), done.set()))
        done.wait()

    def cut(self):
        """Resets every connection."""
        self.call(self._cut)

    def _cut(self):
        self.cuts += 1
        for writer in list(self.open):
            plain = writer.get_extra_info("socket")
            if plain is not None and plain.fileno() >= 0:
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        self.open.clear()

    async def _accept(self, reader, writer):
        try:
            await self._forward(reader, writer)
        except asyncio.CancelledError:  # by stop()
            writer.transport.abort()

    async def _forward(self, reader, writer):
        if self.closed:
            writer.transport.abort()
            return
        try:
            there, away = await asyncio.open_connection("127.0.0.1", self.target, limit=1 << 20)
        except OSError:
            writer.transport.abort()
            return
        self.open |= {writer, away}
        talk = {"kind": "none", "head": b"", "left": 0}
        await asyncio.gather(self._pipe(reader, away, "up", talk), self._pipe(there, writer, "down", talk), return_exceptions=True)
        self.open -= {writer, away}
        for one in (writer, away):
            one.transport.abort()

    async def _pipe(self, reader, writer, way, talk):
        queue, last = asyncio.Queue(64), 0.0

        async def deliver():
            while True:
                at, data = await queue.get()
                pause = at - self.loop.time()
                if pause > 0:
                    await asyncio.sleep(pause)
                if data == b"":
                    writer.write_eof()
                    return
                writer.write(data)
                await writer.drain()
        sender = asyncio.ensure_future(deliver())
        try:
            while True:
                data = await reader.read(PIECE)
                budget = self.budget[way]
                if budget is not None:
                    data_now = data[:budget]
                    self.budget[way] = budget - len(data_now)
                    if self.budget[way] == 0:
                        self.budget[way] = None
                        if data_now:
                            writer.write(data_now)
                        self._cut()
                        return
                (self._count_up if way == "up" else self._count_down)(talk, data)
                at = max(last, self.loop.time() + self.delay)
                if self.loss and self.dice.random() > (1 - self.loss) ** (1 + len(data) // PACKET):
                    at += 2 * self.delay
                last = at
                await queue.put((at, data))
                if data == b"":
                    await sender
                    return
        except BaseException:  # the other side was reset, so this one is
            writer.transport.abort()
            raise
        finally:
            sender.cancel()

    def _count_down(self, talk, data):
        self.down[talk["kind"]] += len(data)

    def _count_up(self, talk, data):
        while data:
            if talk["left"] > 0:
                part = data[:talk["left"]]
                talk["left"] -= len(part)
                self.up[talk["kind"]] += len(part)
                if talk.get("blob"):
                    self.blobs[talk["blob"]][talk["again"]] += len(part)
                data = data[len(part):]
                continue
            talk["head"] += data
            end = talk["head"].find(b"\r\n\r\n")
            if end < 0:
                return
            head, data = talk["head"][:end + 4], talk["head"][end + 4:]
            method, target = head.split(b" ", 2)[:2]
            target = target.decode()
            found = re.match(r"/(blobs)/|/api/v1/mirrors/[^/]*/([a-z]+)|/api/v1/([a-z]+)", target)
            talk["kind"] = found and (found[1] or found[2] or "news: " + found[3]) or "other"
            length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
            begin = re.search(rb"\r\ncontent-range:", head, re.I)
            talk["left"] = int(length.group(1)) if length else 0
            talk["head"], talk["blob"] = b"", target[7:] if target.startswith("/blobs/") and method == b"PUT" else None
            if talk["blob"]:
                talk["again"] = int(talk["blob"] in self.blobs and not begin)
                self.blobs.setdefault(talk["blob"], [0, 0])
            self.requests[talk["kind"]] += 1
            self.up[talk["kind"]] += len(head)
