"""farm_bench.py BUILD [FOLDER] [PART...]: see farm.sh. Each part prints its actions and figures."""
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
os.environ["HOB"] = str(BUILD / "hob")
PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(PROJECT / "tests/integration"))
from farm_servers import WHY_NOT, Postgres  # noqa: E402
from hobtest import Daemon, obj_text, until  # noqa: E402


class Farm:
    def __init__(self, folder, connections=60):
        self.folder = folder
        self.postgres = Postgres(folder / "pg", connections)
        (folder / "blobs").mkdir()
        bucket = os.environ.get("HOB_FARM_BUCKET")  # s3+http://..., with its secrets in HOB_FARM_CREDENTIALS_FILE
        self.options = ["--farm-metadata", self.postgres.url, "--farm-blobs", bucket or f"file://{folder}/blobs"]
        subprocess.run([os.environ["HOB"], "farm", "init", *self.options], check=True, stdout=subprocess.DEVNULL)

    def machine(self, art, name, *options, **more):
        return Daemon([art], self.folder / name, *self.options, "--farm-node", name, *options, **more)


def facts(daemon):
    return daemon.get("/api/v1/stats").json()["upstream"]


def outputs(daemon):
    """{asset: {output: digest}}; reports hold times."""
    return {name: {output["name"]: output["hash"] for output in item["outputs"] if output["name"] != "report"}
            for name, item in daemon.assets("&fields=root,path,outputs,state").items()}


def given(daemon):
    return until(lambda: (found := facts(daemon))["outbox"] == 0 and found["leases"] == 0 and found, "an empty outbox")


def cpu(daemon):
    """CPU seconds of the daemon and its finished and live children, measured from outside."""
    used = 0
    for pid in [daemon.process.pid, *map(int, pathlib.Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split())]:
        parts = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        used += sum(map(int, parts[11:15]))
    return used / os.sysconf("SC_CLK_TCK")


def cold_and_warm(folder, art, warm):
    began = time.monotonic()
    with Daemon([art], folder / "alone") as alone:
        alone.sync()
        print(f"one machine alone: {time.monotonic() - began:.1f} s, {alone.cooked()} cooks, {cpu(alone):.1f} s of processor time", flush=True)
        expected = outputs(alone)
    farm = Farm(folder)
    try:
        began = time.monotonic()
        machines = [farm.machine(art, name, wait_ready=False) for name in ("one", "two", "three")]
        for daemon in machines:
            daemon.wait_banner()
        for daemon in machines:
            daemon.sync()
        wall = time.monotonic() - began
        cooks = [daemon.cooked() for daemon in machines]
        ends = [given(daemon) for daemon in machines]
        rows = farm.postgres.sql("select count(*), count(distinct lookup), coalesce(sum(suspect), 0), sum(bytes) from hob_action")[0]
        again = farm.postgres.sql("select count(*) from hob_lookup where attempt > 1")[0][0]
        print(f"three machines, at once, sharing these cores: {wall:.1f} s; cooks {'+'.join(map(str, cooks))} = {sum(cooks)}; {rows[0]} keys of "
              f"{rows[1]} lookups in the database, {again} claimed twice, {rows[2]} different; fetched {[end['fetched'] for end in ends]}; "
              f"{sum(map(cpu, machines)):.1f} s of processor time", flush=True)
        same = [sum(found[name] != output for name, output in expected.items()) for found in map(outputs, machines)]
        blobs = sum(map(len, expected.values()))
        print(f"of {len(expected)} assets with {blobs} blobs, other than on the machine alone: {same}", flush=True)
        for daemon in machines:
            daemon.stop()
        if warm:
            began = time.monotonic()
            with farm.machine(art, "fresh") as fresh:
                fresh.sync()
                wall, end = time.monotonic() - began, facts(fresh)
                print(f"a fresh machine: {wall:.1f} s, {fresh.cooked()} cooks, {end['fetched']} fetched, {end['fetched_bytes'] / 1e6:.1f} MB, "
                      f"{cpu(fresh):.1f} s of processor time", flush=True)
    finally:
        farm.postgres.remove()


def save(daemon, art, number):
    name = f"save{number}.obj"
    began = time.monotonic()
    (art / ("." + name)).write_text(f"# {number}\n" + obj_text(40 + number % 50))
    (art / ("." + name)).rename(art / name)
    daemon.wait_asset(f"{art.name}/{name}", "fresh")
    return (time.monotonic() - began) * 1000


def down(folder):
    arts = [folder / "art-plain", folder / "art-farm"]
    for art in arts:
        art.mkdir()
    farm = Farm(folder)
    with Daemon([arts[0]], folder / "plain") as plain, farm.machine(arts[1], "one") as one:
        plain.sync()
        one.sync()
        times = {"without a farm": [], "with a farm": [], "without (2)": [], "farm stopped": []}
        for i in range(30):
            times["without a farm"].append(save(plain, arts[0], i))
            times["with a farm"].append(save(one, arts[1], i))
        farm.postgres.freeze()
        for i in range(30, 60):
            times["without (2)"].append(save(plain, arts[0], i))
            times["farm stopped"].append(save(one, arts[1], i))
        farm.postgres.thaw()
        end = given(one)
        for name, values in times.items():
            print(f"save to fresh, {name}: median {statistics.median(values):.1f} ms, most {max(values):.0f} ms", flush=True)
        print(f"afterwards: outbox {end['outbox']}, state {end['state']}, {end['pushed']} given; rows {farm.postgres.sql('select count(*) from hob_action')[0][0]}")
    farm.postgres.remove()


CLAIM = """\\set k random(1, 1000000000)
select * from hob_claim(json_build_array(json_build_object('lookup', encode(sha256((:client_id || '.' || :k)::bytea), 'hex'), 'seen', 0, 'what', 'x')),
 'n' || :client_id, 30);
select hob_give(encode(sha256((:k || '.' || :client_id)::bytea), 'hex'), encode(sha256((:client_id || '.' || :k)::bytea), 'hex'),
 encode(sha256('r'), 'hex'), repeat('x', 1500), 100000, 50, 'n' || :client_id, 'node');
"""
BEAT = """insert into hob_node(id, name, version, role, state) values ('n' || :client_id, 'n', '0', 'cook', '{}') on conflict (id) do update
 set seen = now(), state = excluded.state;
"""
FIND = """\\set k random(1, 1000000000)
select a.record from (select sha256(:k::text::bytea) as lookup) l, lateral (select record from hob_action where lookup = l.lookup
 order by made desc limit 16) a;
"""


def pgbench(farm, script, clients):
    path = farm.folder / "script.sql"
    path.write_text(script)
    said = subprocess.run([farm.postgres.program("pgbench"), "-n", "-M", "prepared", "-T", "5", "-c", str(clients), "-j", "2", "-h", farm.postgres.folder, "-U", "hob", "-f", path,
                           "postgres"], capture_output=True, text=True, check=False)
    found = [line for line in said.stdout.splitlines() if line.startswith("tps")]
    return float(found[0].split()[2]) if found else said.stderr[-300:]


def database_cpu(farm):
    """CPU seconds of the server and of all its sessions."""
    used = 0
    for pid in farm.postgres.all_processes():
        try:
            used += int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        except OSError:
            continue
    return used / 1e9


def simulate(folder, count, lookups, cook_ms):
    """One line of the table: that many nodes in one process, with the farm's own code, without daemons."""
    farm = Farm(folder, connections=2 * count + 20)
    seconds = 12
    try:
        run = subprocess.Popen([BUILD / "farm_nodes", farm.postgres.url, f"file://{folder}/blobs", *map(str, (count, seconds, lookups, cook_ms))],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        at, told, found = {}, {}, {}
        for line in run.stdout:
            words = line.split()
            if words[0] in ("begin", "end"):
                at[words[0], words[1]] = (time.monotonic(), database_cpu(farm), *map(int, words[2:]))
                run.stdin.write("\n")
                run.stdin.flush()
            else:
                found.update(zip(words[::2], map(float, words[1::2])))
        assert run.wait() == 0
        for name in ("connect", "idle", "change"):
            told[name] = [after - before for before, after in zip(at["begin", name], at["end", name])]
        print(f"| {count} | {found['connected'] / 1000:.1f} s, {told['connect'][3]:.0f} tries that failed | {told['idle'][2] / told['idle'][0]:.1f} | "
              f"{100 * told['idle'][1] / told['idle'][0]:.1f} % | {told['change'][2]:.0f} | {told['change'][1]:.2f} s | {found['cooks']:.0f} + "
              f"{found['fetched']:.0f} | {found['median'] / 1000:.2f} s | {found['last'] / 1000:.2f} s |", flush=True)
    finally:
        farm.postgres.remove()


def nodes(folder):
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-std=gnu11", "-Wall", "-Wextra", f"-I{PROJECT}", PROJECT / "tests/bench/farm_nodes.c", "-Wl,--start-group",
                    *(BUILD / f"lib{name}.a" for name in ("srv_farm", "hob_hash", "hob_base")), "-Wl,--end-group", "-lcrypto", "-lxxhash", "-lm",
                    "-lpthread", "-ldl", "-o", BUILD / "farm_nodes"], check=True)
    folder.chmod(0o755)
    lookups, cook_ms = 10, 200
    print(f"A texture of {lookups} models changes; a cook takes {cook_ms} ms.\n"
          "| nodes | connected after | idle: statements/s | the database's CPU | changed: statements | the database's CPU | cooked + fetched | "
          "half of all have it after | all |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    for count in map(int, os.environ.get("HOB_FARM_NODES", "1 10 50 200 500 1000").split()):
        part = folder / f"nodes{count}"
        part.mkdir()
        simulate(part, count, lookups, cook_ms)


def sessions(folder):
    farm = Farm(folder, connections=250)
    try:
        for clients in (1, 10, 50, 200):
            print(f"{clients} sessions at once: {pgbench(farm, CLAIM, clients)} results claimed and given a second, "
                  f"{pgbench(farm, BEAT, clients)} heartbeats, {pgbench(farm, FIND, clients)} lookups that miss", flush=True)
        size = farm.postgres.sql("select count(*), pg_size_pretty(pg_total_relation_size('hob_action') + pg_total_relation_size('hob_lookup')) from hob_action")[0]
        print(f"{size[0]} rows are {size[1]}", flush=True)
    finally:
        farm.postgres.remove()


def main():
    if WHY_NOT:
        sys.exit(f"farm: {WHY_NOT}")
    art = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else PROJECT / "tests/data/models"
    parts = sys.argv[3:] or ["cold", "warm", "down", "sessions", "nodes"]
    for part, run in (("cold", lambda folder: cold_and_warm(folder, art, "warm" in parts)), ("down", down), ("sessions", sessions), ("nodes", nodes)):
        if part in parts:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="hob-farm-"))
            try:
                run(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
