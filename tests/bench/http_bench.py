#!/usr/bin/env python3
"""Hob compared with nginx on the same files, in one run: throughput and the server's own CPU time, at rising numbers of
keep-alive connections; Hob's Unix socket compared with its TCP; latency while every core cooks; listeners compared with a bare
loop.

    ./dev bench http [--part files,unix,cooking,listeners,tls] [--rounds 2] [--ms 400] [--rt] [--out FILE]
    ./dev bench http --part threads [--threads 1,2,4,8] [--rounds 7]      --http-threads N beside nginx with N workers
    ./dev bench http --beside BUILD [--rounds 9] [--ms 200]    compared with another build of Hob, medians of paired rounds

Server and client have a core each if there are two. Each figure is the best of --rounds short rounds, in which the servers
alternate. --rt gives server and client real-time priority (in part cooking: nice -20), so that other load on the machine does
not count. Part tls: one connection to each, the same certificate and cipher, the server's CPU time per answer, medians of
alternating rounds.
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
BUILD = pathlib.Path(sys.argv[1]).resolve()
os.environ["PATH"] += os.pathsep + "/usr/sbin"
os.environ["HOB"] = str(BUILD / "hob")
from hobtest import Daemon, obj_text  # noqa: E402

CONNECTIONS = (16, 64, 128, 255, 256, 384)
SIZES = {"1 KB": 1 << 10, "1.5 KB": 1536, "64 KB": 64 << 10, "1 MB": 1 << 20, "64 MB": 64 << 20}
GOALS = {"1 KB": 1.5, "64 KB": 1.1, "1 MB": 0.9, "64 MB": 0.95, "304": 1.1}
NGINX = """
user root; worker_processes {workers}; daemon off; error_log /dev/null crit; pid {folder}/pid; worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000; keepalive_timeout 3600;
  open_file_cache max=1000 inactive=3600s; open_file_cache_valid 3600s; default_type application/octet-stream;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder}; uwsgi_temp_path {folder};
  scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port} {ssl} {shared} backlog=1024; {keys} root {blobs}; etag on;
    location / {{ add_header Cache-Control "public, max-age=31536000, immutable"; add_header X-Content-Type-Options nosniff; }}
  }}
}}
"""
NGINX_KEYS = "ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.2 TLSv1.3;"


def pin(options, core):
    def inside_child():
        if os.cpu_count() > 1:
            os.sched_setaffinity(0, {core})
        if options.rt:
            realtime()
    return inside_child


def realtime():
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def cpu_ns(pid):
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total


def pin_all(options, pid, core):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        number = int(task.name)
        if os.cpu_count() > 1:
            os.sched_setaffinity(number, {core})
        if options.rt:
            os.sched_setscheduler(number, os.SCHED_RR, os.sched_param(1))


def favour(pid):
    """Raises the priority of a process above the rest of the machine, so that it competes only with cook processes."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(task.name), -20)


def load(options, address, connections, ms, target, *fields, core=1):
    done = subprocess.run([str(BUILD / "http_load"), str(address), str(connections), str(ms), target, *fields],
                          capture_output=True, text=True, preexec_fn=pin(options, core) if core is not None else
                          (lambda: os.setpriority(os.PRIO_PROCESS, 0, -20)) if options.rt else None)
    if done.returncode != 0:
        raise SystemExit(f"http_load: {done.stderr}")
    return json.loads(done.stdout)


class Best:
    def __init__(self):
        self.rate = self.gb_s = 0.0
        self.cpu_us = self.cpu_s_gb = float("inf")
        self.pause_ms = 0.0

    def take(self, got, cpu):
        if got["others"]:
            raise SystemExit(f"{got['others']} answers with another status")
        self.rate = max(self.rate, got["answers"] / got["seconds"])
        self.gb_s = max(self.gb_s, got["bytes"] / got["seconds"] / 1e9)
        if got["answers"]:
            self.cpu_us = min(self.cpu_us, cpu / 1e3 / got["answers"])
        if got["bytes"]:
            self.cpu_s_gb = min(self.cpu_s_gb, cpu / got["bytes"])
        self.pause_ms = max(self.pause_ms, got["pause_ms"])


def start_nginx(options, folder, blobs, keys="", prepare=None, workers=1):
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, blobs=blobs, port=port, keys=keys, workers=workers,
                                                    ssl="ssl" if keys else "", shared="reuseport" if workers > 1 else ""))
    master = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL,
                              preexec_fn=prepare or pin(options, 0))
    while True:
        children = subprocess.run(["pgrep", "-P", str(master.pid)], capture_output=True, text=True).stdout.split()
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            children = []
        if children:
            return master, int(children[0]), port


def put_blobs(cache, sizes, build=BUILD):
    lines = subprocess.run([str(build / "http_parts"), "blobs", str(cache), *map(str, sizes)], capture_output=True,
                           text=True, check=True).stdout.split("\n")
    return dict((int(line.split()[0]), line.split()[1]) for line in lines if line)


def ratio_mark(ratio, goal):
    return f"{ratio:5.2f}x {'ok' if ratio >= goal else 'BELOW'} (goal {goal}x)"


def bench_files(options, folder, daemon, hashes, results):
    if not shutil.which("nginx"):
        print("skipped: there is no nginx to compare with")
        return
    master, worker, port = start_nginx(options, folder, daemon.cache / "blobs")
    bare = subprocess.Popen([str(BUILD / "http_parts"), "bare", "1024"], stdout=subprocess.PIPE,
                            preexec_fn=pin(options, 0))
    bare_port = int(bare.stdout.readline())
    try:
        for name in options.bodies.split(","):
            sha = hashes[SIZES["1 KB" if name == "304" else name]]
            targets = {"hob": (daemon.port, daemon.process.pid, "/blobs/" + sha, f'If-None-Match: "{sha}"'),
                       "nginx": (port, worker, f"/{sha[:2]}/{sha[2:]}", None)}
            if name == "304":
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request("GET", targets["nginx"][2])
                targets["nginx"] = (*targets["nginx"][:3], "If-None-Match: " + connection.getresponse().headers["ETag"])
            big = name in ("1 MB", "64 MB", "64 KB")
            print(f"\n{name:6}" + " " * 7 + ("GB/s hob  nginx   CPU s/GB hob  nginx" if big else
                                             "req/s hob   nginx    CPU us hob  nginx"))
            for connections in options.connections or (CONNECTIONS if name != "64 MB" else (1, *CONNECTIONS)):
                if name == "1 KB":
                    targets["bare"] = (bare_port, bare.pid, "/", None)
                best = {server: Best() for server in targets}
                for _ in range(options.rounds):
                    for server, (address, pid, target, field) in targets.items():
                        before = cpu_ns(pid)
                        got = load(options, address, connections, options.ms * (3 if name == "64 MB" else 1), target,
                                   *([field] if name == "304" else []))
                        best[server].take(got, cpu_ns(pid) - before)
                ours, theirs = best["hob"], best["nginx"]
                if big:
                    ratio = ours.gb_s / theirs.gb_s
                    cpu = theirs.cpu_s_gb / ours.cpu_s_gb
                    text = f"{ours.gb_s:8.2f} {theirs.gb_s:6.2f} {ours.cpu_s_gb:15.3f} {theirs.cpu_s_gb:6.3f}"
                else:
                    ratio = ours.rate / theirs.rate
                    cpu = theirs.cpu_us / ours.cpu_us
                    text = f"{ours.rate:9.0f} {theirs.rate:7.0f} {ours.cpu_us:13.1f} {theirs.cpu_us:6.1f}"
                if "bare" in best:
                    text += f" {best['bare'].cpu_us:6.1f} bare"
                print(f"  c={connections:<4} {text}   speed {ratio_mark(ratio, GOALS[name])}  per CPU {cpu:.2f}x"
                      f"   longest pause {ours.pause_ms:.0f} ms", flush=True)
                results.append({"what": name, "connections": connections, "speed": ratio, "cpu": cpu,
                                **{server: vars(figures) for server, figures in best.items()}})
    finally:
        for process in (master, bare):
            process.terminate()
            process.wait()


def load_from_all(cores, address, connections, ms, target, *fields):
    """One client for each core; the sum of their answers a second."""
    clients = [subprocess.Popen([str(BUILD / "http_load"), str(address), str(connections), str(ms), target, *fields], text=True,
                                stdout=subprocess.PIPE, preexec_fn=lambda core=core: os.sched_setaffinity(0, {core})) for core in cores]
    got = [json.loads(client.communicate()[0]) for client in clients]
    assert not any(one["others"] for one in got), got
    return sum(one["answers"] / one["seconds"] for one in got)


def wrk(cores, port, target, ms):
    """Answers a second over TLS, by wrk with a thread for each core."""
    done = subprocess.run(["wrk", "-t", str(len(cores)), "-c", str(32 * len(cores)), "-d", f"{max(1, ms // 1000)}s",
                           f"https://127.0.0.1:{port}{target}"], capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    assert done.returncode == 0 and "Non-2xx" not in done.stdout and "Socket errors" not in done.stdout, done.stdout + done.stderr
    return float(re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout).group(1))


def bench_threads(options, folder, results):
    """Compares numbers of threads, with separate cores for server and clients. Prints medians, so --rounds should be odd."""
    (folder / "threads-art").mkdir()
    tls = make_certificate(folder)
    hashes = put_blobs(folder / "threads", SIZES.values())
    for count in options.threads:
        if 2 * count > os.cpu_count():
            print(f"skipped: {count} threads and as many clients need {2 * count} cores")
            continue
        servers, clients = set(range(count)), range(count, min(os.cpu_count(), 3 * count))
        with Daemon([folder / "threads-art"], folder / "threads", "--http-threads", str(count), wait_ready=False) as daemon:
            daemon.wait_banner()
            for task in pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), servers)
            master, _, port = start_nginx(options, folder, daemon.cache / "blobs", workers=count,
                                          prepare=lambda: os.sched_setaffinity(0, servers))
            try:
                for body in ("1.5 KB", "304", "64 KB", "1 MB"):
                    sha = hashes[SIZES["1.5 KB" if body == "304" else body]]
                    connection = http.client.HTTPConnection("127.0.0.1", port)
                    connection.request("GET", f"/{sha[:2]}/{sha[2:]}")
                    tag = connection.getresponse().headers["ETag"]
                    rates = {"hob": [], "nginx": []}
                    for _ in range(options.rounds):
                        for server, at, target, etag in (("hob", daemon.port, "/blobs/" + sha, f'"{sha}"'),
                                                         ("nginx", port, f"/{sha[:2]}/{sha[2:]}", tag)):
                            rates[server].append(load_from_all(clients, at, 32, options.ms, target,
                                                               *([f"If-None-Match: {etag}"] if body == "304" else [])))
                    ours, theirs = (statistics.median(rates[server]) for server in ("hob", "nginx"))
                    goal = {"64 KB": 1.0, "1 MB": 0.95}.get(body, 1.2)
                    print(f"  {count} threads {body:6} hob {ours:9.0f} nginx {theirs:9.0f} answers/s  {ratio_mark(ours / theirs, goal)}",
                          flush=True)
                    results.append({"what": "threads " + body, "threads": count, "speed": ours / theirs, **rates})
            finally:
                master.terminate()
                master.wait()
                daemon.kill()
        if shutil.which("wrk"):
            threads_over_tls(options, folder, results, count, servers, set(clients), hashes, *tls)


def threads_over_tls(options, folder, results, count, servers, clients, hashes, certificate, key):
    with Daemon([folder / "threads-art"], folder / "threads", "--http-threads", str(count), "--tls-cert", certificate, "--tls-key", key,
                wait_ready=False) as daemon:
        daemon.wait_banner()
        for task in pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), servers)
        master, _, port = start_nginx(options, folder, daemon.cache / "blobs", workers=count, keys=NGINX_KEYS.format(certificate, key),
                                      prepare=lambda: os.sched_setaffinity(0, servers))
        try:
            for body in ("1.5 KB", "64 KB"):
                sha = hashes[SIZES[body]]
                rates = {"hob": [], "nginx": []}
                for _ in range(options.rounds):
                    rates["hob"].append(wrk(clients, daemon.port, "/blobs/" + sha, options.ms))
                    rates["nginx"].append(wrk(clients, port, f"/{sha[:2]}/{sha[2:]}", options.ms))
                ours, theirs = (statistics.median(rates[server]) for server in ("hob", "nginx"))
                print(f"  {count} threads {body:6} hob {ours:9.0f} nginx {theirs:9.0f} answers/s over TLS  "
                      f"{ratio_mark(ours / theirs, 0.8)}", flush=True)
                results.append({"what": "threads TLS " + body, "threads": count, "speed": ours / theirs, **rates})
        finally:
            master.terminate()
            master.wait()
            daemon.kill()


def bench_unix(options, daemon, path, hashes, results):
    print("\nUnix socket beside TCP, both Hob")
    for name in ("1 KB", "64 KB", "1 MB"):
        for connections in (1, 16):
            best = {"unix": Best(), "tcp": Best()}
            for _ in range(options.rounds):
                for kind, address in (("unix", "unix:" + path), ("tcp", daemon.port)):
                    before = cpu_ns(daemon.process.pid)
                    got = load(options, address, connections, options.ms, "/blobs/" + hashes[SIZES[name]])
                    best[kind].take(got, cpu_ns(daemon.process.pid) - before)
            ratio = best["unix"].rate / best["tcp"].rate
            print(f"  {name:6} c={connections:<3} {best['unix'].rate:9.0f} req/s unix {best['tcp'].rate:9.0f} tcp   "
                  f"{ratio_mark(ratio, 1.4)}", flush=True)
            results.append({"what": "unix " + name, "connections": connections, "speed": ratio})


def bench_cooking(options, folder, results):
    art = folder / "cooking"
    art.mkdir()
    (art / "cook.json").write_text('{"lods": {"max": 7}}')
    print("\nGET of 1 KB while every core cooks (server and client not pinned)")
    cache = folder / "cooking-cache"
    sha = put_blobs(cache, [1024])[1024]
    with Daemon([art], cache) as daemon:
        daemon.sync()
        target = "/blobs/" + sha
        if options.rt:
            favour(daemon.process.pid)
        rows = [("idle", 1, load(options, daemon.port, 1, 2000, target, core=None))]
        text = obj_text(120000)
        for connections in (1, 16):
            made = folder / f"made{connections}"  # in another folder: all models appear at once
            made.mkdir()
            for i in range(options.models):
                (made / f"m{i}.obj").write_text(f"v {i} {connections} 2\n" + text)
            made.rename(art / made.name)
            while daemon.counters().get('hob_assets{state="cooking"}', 0) < min(2, os.cpu_count()):
                pass
            got = load(options, daemon.port, connections, 2000, target, core=None)
            # If the daemon ran out of work, the figure does not count.
            left = daemon.counters()["hob_queue_length"]
            rows.append(("cooking" if left > 0 else "too few models", connections, got))
        for state, connections, got in rows:
            if state == "too few models":
                print(f"  cooking  c={connections:<3} the cooks ended before the load did: give --models more")
                continue
            goal = "" if state == "idle" else " ok" if got["p99_us"] <= 1000 else " ABOVE the goal of 1000"
            print(f"  {state:8} c={connections:<3} p50 {got['p50_us']:8.1f} us   p99 {got['p99_us']:8.1f} us{goal}")
            results.append({"what": "latency " + state, "connections": connections, "p50_us": got["p50_us"],
                            "p99_us": got["p99_us"]})
        daemon.kill()


def bench_listeners(options, results):
    print("\nEvent streams: publish to last listener, beside a bare loop of send()")
    for count, rounds, threads in ((100, 21, 1), (1000, 11, 1), (10000, 5, 1), (10000, 5, 8)):
        best = None
        for _ in range(options.rounds):
            done = subprocess.run([str(BUILD / "http_parts"), "listeners", str(count), str(rounds), str(threads)],
                                  capture_output=True, text=True, preexec_fn=realtime if options.rt else None)
            if done.returncode != 0:
                raise SystemExit(done.stderr)
            got = json.loads(done.stdout)
            if not best or got["last_ms"] / got["bare_last_ms"] < best["last_ms"] / best["bare_last_ms"]:
                best = got
        ratio = best["last_ms"] / best["bare_last_ms"]
        goal = f"{ratio:.2f}x {'ok' if ratio <= 1.3 else 'ABOVE'} (goal 1.3x)" if threads == 1 else \
            f"{'ok' if best['last_ms'] <= 50 else 'ABOVE'} (goal 50 ms)"
        print(f"  {count:6} listeners, threads {threads}: first {best['first_ms']:.2f} ms, last {best['last_ms']:.1f} ms; bare loop first "
              f"{best['bare_first_ms']:.2f}, last {best['bare_last_ms']:.1f} ms: {goal}; {best['kb_each']:.1f} KB each "
              f"{'ok' if best['kb_each'] <= 12 else 'ABOVE'} (goal 12 KB)", flush=True)
        results.append(best)


def make_certificate(folder):
    certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return certificate, key


def bench_tls(options, folder, results):
    certificate, key = make_certificate(folder)
    (folder / "tls-art").mkdir()
    cache = folder / "tls-cache"
    hashes = put_blobs(cache, [SIZES[name] for name in ("1 KB", "64 KB", "1 MB")])
    context = ssl.create_default_context(cafile=certificate)
    with Daemon([folder / "tls-art"], cache, "--tls-cert", certificate, "--tls-key", key, wait_ready=False) as daemon:
        daemon.wait_banner()
        master, worker, port = start_nginx(options, folder, cache / "blobs", NGINX_KEYS.format(certificate, key))
        try:
            for size, sha in hashes.items():
                count, used, ciphers = max(20, min(1000, (64 << 20) // size)), {"hob": [], "nginx": []}, set()
                for _ in range(max(5, options.rounds)):
                    for server, at, pid, target in (("hob", daemon.port, daemon.process.pid, "/blobs/" + sha),
                                                    ("nginx", port, worker, f"/{sha[:2]}/{sha[2:]}")):
                        connection = http.client.HTTPSConnection("127.0.0.1", at, context=context)
                        connection.connect()
                        ciphers.add(connection.sock.cipher()[0])
                        before = cpu_ns(pid)
                        for _ in range(count):
                            connection.request("GET", target)
                            assert len(connection.getresponse().read()) == size
                        used[server].append((cpu_ns(pid) - before) / count / 1e3)
                        connection.close()
                ours, theirs = (statistics.median(figures) for figures in used.values())
                print(f"TLS {size:8} bytes: CPU us hob {ours:.0f} nginx {theirs:.0f}: {ours / theirs:.2f}x "
                      f"{'ok' if ours <= 1.3 * theirs else 'ABOVE'} (goal 1.3x)  {' '.join(sorted(ciphers))}", flush=True)
                results.append({"what": "tls", "size": size, **used})
        finally:
            master.terminate()
            master.wait()


def bench_beside(options, folder, results):
    """Both builds run throughout and alternate; the result is the median of the pairs."""
    (folder / "art").mkdir()
    builds, daemons = {"this": BUILD, "other": pathlib.Path(options.beside).resolve()}, {}
    try:
        for name, build in builds.items():
            hashes = put_blobs(folder / name, SIZES.values(), build)
            daemons[name] = Daemon([folder / "art"], folder / name, program=(str(build / "hob"),), wait_ready=False)
            daemons[name].wait_banner()
            pin_all(options, daemons[name].process.pid, 0)
        print("processor time of the server for each answer, and answers a second: this build beside the other, median (least, most)")
        for body in options.bodies.split(","):
            sha = hashes[SIZES["1 KB" if body == "304" else body]]
            for connections in options.connections or (1, 16, 128):
                pairs = []
                for at in range(options.rounds):
                    figures = {}
                    for name in list(daemons) if at % 2 else reversed(list(daemons)):
                        daemon = daemons[name]
                        before = cpu_ns(daemon.process.pid)
                        got = load(options, daemon.port, connections, options.ms, "/blobs/" + sha,
                                   *([f'If-None-Match: "{sha}"'] if body == "304" else []))
                        figures[name] = ((cpu_ns(daemon.process.pid) - before) / max(1, got["answers"]), got["answers"] / got["seconds"])
                    if 0 in (figure[1] for figure in figures.values()):
                        continue  # this machine stalled
                    pairs.append([figures["this"][i] / figures["other"][i] for i in (0, 1)])
                cpu, rate = (sorted(pair[i] for pair in pairs) for i in (0, 1))
                print(f"  {body:6} c={connections:<4} CPU {cpu[len(cpu) // 2]:.2f}x ({cpu[0]:.2f}, {cpu[-1]:.2f})   "
                      f"speed {rate[len(rate) // 2]:.2f}x ({rate[0]:.2f}, {rate[-1]:.2f})", flush=True)
                results.append({"what": "beside " + body, "connections": connections, "cpu": cpu, "speed": rate})
    finally:
        for daemon in daemons.values():
            daemon.kill()


def main():
    parser = argparse.ArgumentParser(prog="./dev bench http")
    parser.add_argument("build")
    parser.add_argument("--part", default="files,unix,cooking,listeners,tls")
    parser.add_argument("--connections", type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--bodies", default="1 KB,304,64 KB,1 MB,64 MB")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ms", type=int, default=400)
    parser.add_argument("--threads", type=lambda text: tuple(map(int, text.split(","))), default=(1, 2, 4, 8))
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--rt", action="store_true")
    parser.add_argument("--beside")
    parser.add_argument("--out")
    options = parser.parse_args()
    parts, results = [] if options.beside else options.part.split(","), []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hob-bench-"))
    try:
        if options.beside:
            bench_beside(options, folder, results)
        if "files" in parts or "unix" in parts:
            (folder / "art").mkdir()
            hashes = put_blobs(folder / "cache", SIZES.values())
            path = str(folder / "hob.sock")
            with Daemon([folder / "art"], folder / "cache", listen=f"127.0.0.1:0,unix:{path}", wait_ready=False) as daemon:
                daemon.wait_banner()
                pin_all(options, daemon.process.pid, 0)
                if "files" in parts:
                    bench_files(options, folder, daemon, hashes, results)
                if "unix" in parts:
                    bench_unix(options, daemon, path, hashes, results)
        if "cooking" in parts:
            bench_cooking(options, folder, results)
        if "listeners" in parts:
            bench_listeners(options, results)
        if "threads" in parts:
            bench_threads(options, folder, results)
        if "tls" in parts:
            bench_tls(options, folder, results)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
