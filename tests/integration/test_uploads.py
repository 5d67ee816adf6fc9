"""PUT /blobs with Content-Encoding: zstd. A few bytes may unpack to gigabytes, so other requests do not wait for the decoder."""
import hashlib
import select
import socket
import struct
import unittest

from faulty import Faults
from hobtest import DEADLINE, Scenario, amount, built_with, main, until

BLOCK = 1 << 17


def frame(size, byte=b"\0"):
    """One zstd frame of run-length blocks: 4 bytes per 128 KiB."""
    blocks = [min(BLOCK, size - at) for at in range(0, size, BLOCK)] or [0]
    return b"\x28\xb5\x2f\xfd\x00\x38" + b"".join(
        struct.pack("<I", block << 3 | 2 | (i == len(blocks) - 1))[:3] + byte for i, block in enumerate(blocks))


class Uploads(Scenario):
    def put_blob(self, daemon, plain, packed):
        return daemon.request("PUT", "/blobs/" + hashlib.sha256(plain).hexdigest(), packed,
                              {"Content-Encoding": "zstd", "X-Digest-SizeBytes": str(len(plain))})

    def begin(self, daemon, size, announced=None):
        """Sends a whole body with a wrong digest and does not wait for the answer."""
        body = frame(size)
        peer = socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE)
        self.addCleanup(peer.close)
        peer.sendall(b"PUT /blobs/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Encoding: zstd\r\nX-Digest-SizeBytes: %d\r\n"
                     b"Content-Length: %d\r\n\r\n" % (b"0" * 64, daemon.port, announced or size, len(body)) + body)
        return peer

    def held(self, daemon, digest):
        answer = daemon.request("HEAD", f"/blobs/{digest:064d}")
        return int(answer.headers.get("upload-offset", 0))

    def begin_again(self, daemon, digest):
        peer = socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE)
        peer.sendall(b"PUT /blobs/%064d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 9\r\n\r\n" % (digest, daemon.port))
        return peer

    def test_every_size(self):
        with self.serve() as daemon:
            for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 8 * BLOCK, 64 * BLOCK):
                plain = b"x" * size
                for packed in (frame(size, b"x"), frame(size, b"x") + frame(0), frame(size // 2, b"x") + frame(size - size // 2, b"x")):
                    answer = self.put_blob(daemon, plain, packed)
                    self.assertIn(answer.status, (201, 204), (size, answer.body))
                self.assertEqual(daemon.get("/blobs/" + hashlib.sha256(plain).hexdigest()).body, plain)
            for size, packed in ((BLOCK, frame(2 * BLOCK)), (2 * BLOCK, frame(BLOCK)), (BLOCK, frame(BLOCK)[:-1])):
                self.assertEqual(self.put_blob(daemon, b"y" * size, packed).status, 400)

    def test_others_are_answered_while_it_is_decoded(self):
        with self.serve() as daemon:
            peers = [self.begin(daemon, amount(768, 2048) << 20) for _ in range(amount(2, 16))]
            for _ in range(40):
                self.assertEqual(daemon.get("/livez").status, 200)
            self.assertEqual(select.select(peers, [], [], 0)[0], [], "an upload was decoded before the others had their answers")
            for peer in peers:
                self.assertIn(b"400 Bad Request", peer.recv(1000))

    def test_more_than_announced_ends_early(self):
        with self.serve() as daemon:
            peer = self.begin(daemon, 64 << 30, announced=BLOCK)
            self.assertIn(b"more bytes came than the 131072 announced", peer.recv(4000))

    def test_clients_that_go_leave_room(self):
        with self.serve() as daemon:
            for _ in range(40):
                self.begin(daemon, 256 << 20).close()
            until(lambda: self.put_blob(daemon, b"x" * 9, frame(9, b"x")).status in (201, 204), "a place for another upload")

    @unittest.skipIf(built_with("tsan"), "its runtime wants the functions that are replaced here for itself")
    def test_others_are_answered_while_its_file_is_dropped(self):
        """To free the pages of a gigabyte takes the kernel half a second; here, it takes until the others have their answers."""
        faults, size = Faults(self.folder), 2 << 20
        with faults.serve([self.art], self.cache) as daemon:
            for coding, body, announced in (("zstd", frame(size), size), ("identity", bytes(size), size), ("identity", bytes(size), 2 * size)):
                with self.subTest(f"{coding}, {announced} bytes are announced"), faults.fail("close", 0, "(deleted)"):
                    peer = socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE)
                    length = len(body) + announced - size
                    peer.sendall(b"PUT /blobs/%064d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Encoding: %s\r\nX-Digest-SizeBytes: %d\r\n"
                                 b"Content-Length: %d\r\n\r\n" % (announced - size, daemon.port, coding.encode(), announced, length) + body)
                    if announced > size:  # the daemon keeps a partial upload until another one begins from the start
                        peer.close()
                        peer = until(lambda: self.held(daemon, announced - size) == size and self.begin_again(daemon, announced - size), "a cut upload")
                    until(lambda: faults.page.failed > 0, "a file that is dropped")
                    for _ in range(3):
                        self.assertEqual(daemon.get("/livez").status, 200)
                peer.close()

    def test_a_stop_does_not_wait_for_it(self):
        with self.serve() as daemon:
            self.begin(daemon, 2 << 30)
            self.assertEqual(daemon.get("/livez").status, 200)


if __name__ == "__main__":
    main()
