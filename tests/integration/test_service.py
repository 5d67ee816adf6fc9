"""The daemon under a service manager: its states as datagrams, watchdog messages, and sockets passed by the manager. The sockets
are real; the protocol is that of sd_notify(3) and sd_listen_fds(3)."""
import collections
import fcntl
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import unittest

from hobtest import DEADLINE, HOB, LONG, Daemon, Scenario, children, main, obj_text, until


class Manager:
    """Receives the daemon's messages; an abstract name begins with '@'."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.socket.settimeout(DEADLINE)
        self.told = []

    def wait(self, key, value=None):
        """The lines of the next matching datagram; earlier ones are kept in `told`."""
        while True:
            lines = dict(line.split("=", 1) for line in self.socket.recv(4096).decode().split("\n"))
            self.told.append(lines)
            if key in lines and value in (None, lines[key]):
                return lines


class Service(Scenario):
    def managed(self, manager_name, *options, sockets=(), program=(HOB,), **environment):
        """Starts the daemon like a manager: sockets from descriptor 3 on, LISTEN_PID its own."""
        moves = "".join(f"exec {3 + i}<&{s.fileno()}; " for i, s in enumerate(sockets))
        for s in sockets:
            os.set_inheritable(s.fileno(), True)
        variables = dict(environment, NOTIFY_SOCKET=manager_name)
        if sockets:
            variables["LISTEN_FDS"] = str(len(sockets))
        given = " ".join(f"{name}={value}" for name, value in variables.items() if value is not None)
        me = "LISTEN_PID=$$ WATCHDOG_PID=$$" if environment.get("LISTEN_PID") is None else "WATCHDOG_PID=$$"
        return subprocess.Popen(["bash", "-c", f'{moves}export {given} {me}; exec "$@"', "bash", *program, "serve", str(self.art),
                                 "--cache", str(self.cache), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                pass_fds=[s.fileno() for s in sockets], env=dict(os.environ, NO_COLOR="1"))

    def listening(self, family, address):
        s = socket.socket(family, socket.SOCK_STREAM)
        # Far above the numbers that the manager will use.
        moved = socket.socket(fileno=fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 50))
        s.close()
        moved.bind(address)
        moved.listen(64)
        self.addCleanup(moved.close)
        return moved

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, 0, err)
        return out, err

    def ask(self, port, target="/api/v1", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        connection.request("GET", target, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_states_and_signs_of_life(self):
        self.put("a.obj", obj_text(3))
        config = self.folder / "hob.json"
        config.write_text(json.dumps({"cook": {"jobs": 1}}))
        for name in (str(self.folder / "notify"), f"@hob-test-{os.getpid()}"):
            with self.subTest(name=name):
                manager = Manager(name)
                process = self.managed(name, "--listen", "127.0.0.1:0", "--config", str(config), WATCHDOG_USEC="200000")
                try:
                    manager.wait("READY", "1")
                    self.assertTrue(any("EXTEND_TIMEOUT_USEC" in lines for lines in manager.told), "not told that the scan goes on")
                    manager.wait("STATUS", "1 fresh, 0 to cook")
                    # At the requested rate: ten messages in less than ten periods of the watchdog.
                    for _ in range(10):
                        manager.wait("WATCHDOG", "1")
                    config.write_text(json.dumps({"cook": {"jobs": 1}, "log": {"level": "debug"}}))
                    process.send_signal(signal.SIGHUP)
                    self.assertGreater(int(manager.wait("RELOADING", "1")["MONOTONIC_USEC"]), 0)
                    manager.wait("READY", "1")
                    config.write_text('{"cook": {"jobs": "many"}}')
                    process.send_signal(signal.SIGHUP)
                    manager.wait("RELOADING", "1")
                    lines = manager.wait("READY", "1")
                    self.assertIn("The former configuration stays", lines["STATUS"])
                    self.assertIn("jobs", lines["STATUS"])
                    config.write_text(json.dumps({"cook": {"jobs": 1}}))
                    process.send_signal(signal.SIGHUP)
                    manager.wait("STATUS", "1 fresh, 0 to cook")
                    process.send_signal(signal.SIGTERM)
                    manager.wait("STOPPING", "1")
                    self.assertEqual(process.wait(DEADLINE), 0)
                finally:
                    process.kill()
                    process.communicate()
                    manager.socket.close()

    def test_no_watchdog_for_another_process(self):
        name = str(self.folder / "notify")
        manager = Manager(name)
        process = self.managed(name, "--listen", "127.0.0.1:0", "--log-level", "debug")
        try:
            manager.wait("READY", "1")
            self.put("a.obj", obj_text(3))
            manager.wait("STATUS", "1 fresh, 0 to cook")
            self.assertFalse([lines for lines in manager.told if "WATCHDOG" in lines])
        finally:
            self.end(process)
            manager.socket.close()

    def test_sockets_of_the_manager(self):
        self.put("a.obj", obj_text(3))
        tcp = self.listening(socket.AF_INET, ("127.0.0.1", 0))
        path = self.folder / "hob.sock"
        local = self.listening(socket.AF_UNIX, str(path))
        port = tcp.getsockname()[1]
        # A request from before the daemon's start is answered, and so is one from during its restart.
        for round_ in range(2):
            early = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
            early.request("GET", "/api/v1")
            process = self.managed(None, "--listen", "127.0.0.1:1", sockets=(tcp, local), LISTEN_FDNAMES="hob.socket:local")
            try:
                answer = early.getresponse()
                self.assertEqual(answer.status, 200, round_)
                answer.read()
                early.close()
                if round_ == 0:
                    connection = http.client.HTTPConnection("localhost", timeout=DEADLINE)
                    connection.sock = socket.socket(socket.AF_UNIX)
                    connection.sock.connect(str(path))
                    connection.request("GET", "/api/v1")
                    self.assertEqual(connection.getresponse().status, 200)
                    connection.close()
                banner = ""
                while "Sandbox" not in banner:
                    banner += process.stdout.readline()
                    self.assertIsNone(process.poll())
                # A child before its exec still has the daemon's name.
                workers = [child for child in children(process.pid) if "worker" in pathlib.Path(f"/proc/{child}/comm").read_text()]
                self.assertTrue(workers)
                for worker in workers if os.geteuid() == 0 else ():  # other users cannot inspect sandboxed processes
                    variables = pathlib.Path(f"/proc/{worker}/environ").read_bytes()
                    self.assertNotIn(b"LISTEN_", variables)
            finally:
                err = self.end(process)[1]
            self.assertIn(f"http://127.0.0.1:{port}/", banner)
            self.assertIn("hob.socket", err)
            self.assertTrue(path.exists(), "a socket file of the manager's is not the daemon's to delete")

    def ask_all_the_time(self, dial, over, answers):
        """Connections one after the other, each with one request, until nobody listens; every other end is an error."""
        try:
            for _ in iter(over.is_set, True):
                try:
                    connection = dial()
                except ConnectionRefusedError:
                    answers.append(None)
                    return
                with connection:
                    connection.sendall(b"GET /api/v1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    with connection.makefile("rb") as answer:
                        answers.append(answer.read()[9:12])
        except OSError as error:
            answers.append(error)

    def beside(self, dials, act):
        over, answers, threads = threading.Event(), [], []
        for dial in dials:
            threads.append(threading.Thread(target=self.ask_all_the_time, args=(dial, over, answers)))
            threads[-1].start()
        until(lambda: len(answers) > 50 * len(dials), "answers")
        act()
        over.set()
        for thread in threads:
            thread.join()
        found = collections.Counter(str(answer) for answer in answers)
        self.assertLessEqual(set(found), {"b'200'", "b'503'", "None"}, found)
        return found

    def test_who_has_connected_gets_an_answer(self):
        """Nobody is reset when the daemon ends: a connection is answered or refused."""
        total = 0
        for threads in ("1", "4") * (20 if LONG else 2):
            path = self.folder / "end.sock"
            daemon = self.serve("--http-threads", threads, listen=f"127.0.0.1:0,unix:{path}")

            def local(path=path):
                connection = socket.socket(socket.AF_UNIX)
                try:
                    connection.connect(str(path))
                except FileNotFoundError as error:
                    raise ConnectionRefusedError from error
                return connection
            dials = [lambda port=daemon.port: socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)] * 6 + [local] * 2
            total += self.beside(dials, daemon.stop).total()
        print(f"service: {total} connections, none reset")

    def test_a_socket_goes_from_daemon_to_daemon(self):
        """While one daemon ends and the next begins, connections wait in the manager's socket: none is reset or refused."""
        tcp = self.listening(socket.AF_INET, ("127.0.0.1", 0))
        place = ("127.0.0.1", tcp.getsockname()[1])
        process = self.managed(None, "--http-threads", "2", sockets=(tcp,))

        def restart():
            nonlocal process
            for _ in range(20 if LONG else 3):
                self.end(process)
                process = self.managed(None, "--http-threads", "2", sockets=(tcp,))
                first = http.client.HTTPConnection(*place, timeout=DEADLINE)
                first.request("GET", "/livez")
                self.assertEqual(first.getresponse().read(), b"ok\n")
                first.close()
        found = self.beside([lambda: socket.create_connection(place, timeout=DEADLINE)] * 6, restart)
        self.assertNotIn("None", found)
        self.end(process)

    def test_wrong_sockets_are_named(self):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        moved = socket.socket(fileno=fcntl.fcntl(datagrams.fileno(), fcntl.F_DUPFD, 50))
        self.addCleanup(moved.close)
        self.addCleanup(datagrams.close)
        open_tcp = self.listening(socket.AF_INET, ("0.0.0.0", 0))
        for sockets, text in (((moved,), "not a listening stream socket"), ((open_tcp,), "token")):
            process = self.managed(None, sockets=sockets, LISTEN_FDNAMES="odd.socket")
            out, err = process.communicate(timeout=DEADLINE)
            self.assertEqual(process.returncode, 2, err)
            self.assertIn(text, err)
        # Meant for another process: ignored.
        process = self.managed(None, "--listen", "127.0.0.1:0", sockets=(open_tcp,), LISTEN_PID="1")
        while "Open" not in process.stdout.readline():
            self.assertIsNone(process.poll())
        self.end(process)

    @unittest.skipUnless(shutil.which("systemd-socket-activate"), "no systemd-socket-activate")
    def test_started_by_the_first_request(self):
        self.put("a.obj", obj_text(3))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen(["systemd-socket-activate", "-l", f"127.0.0.1:{port}", "--fdname=hob.socket", HOB, "serve",
                                    str(self.art), "--cache", str(self.cache)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            while f":{port}" not in process.stderr.readline():
                self.assertIsNone(process.poll())
            status, body = self.ask(port)
            self.assertEqual(status, 200)
            self.assertIn("epoch", json.loads(body))
        finally:
            self.end(process)


if __name__ == "__main__":
    main()
