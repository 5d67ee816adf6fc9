"""The files of docker/monitoring, tested with a daemon's own metrics and promtool."""
import json
import os
import re
import shutil
import socket
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from hobtest import DEADLINE, PROJECT, Daemon, Scenario, main, obj_text, until

os.environ["PATH"] += os.pathsep + "/usr/sbin"

FOLDER = PROJECT / "docker/monitoring"
# The ready queries of the documentation.
QUERIES = re.findall(r"^sum\(.*$", (PROJECT / "docs/operations.md").read_text(), re.M)


def metrics_in(text):
    return {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"\b(?:hob|process)_[a-z_]+\b", text)}


class Monitoring(Scenario):
    def test_every_metric_that_is_asked_for_is_served(self):
        self.put("a.obj", obj_text(2))
        with self.serve() as daemon:
            daemon.sync()
            daemon.get("/api/v1/assets")
            served = set(re.findall(r"^# TYPE (\S+)", daemon.get("/metrics").body.decode(), re.M))
        board = json.loads((FOLDER / "grafana.json").read_text())
        asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        asked.append(board["templating"]["list"][1]["query"])
        asked += re.findall(r"expr: (?:>-\n)?((?:.|\n {8,})*)", (FOLDER / "alerts.yml").read_text())
        self.assertEqual(len(QUERIES), 2)
        names = metrics_in("\n".join([*asked, *QUERIES]))
        self.assertGreater(len(names), 20)
        self.assertEqual(names - served, set())
        documented = set(re.findall(r"^\| `(\w+)` \|", (PROJECT / "docs/metrics.md").read_text(), re.M))
        self.assertEqual(served - documented, set())

    def test_the_dashboard_is_one(self):
        board = json.loads((FOLDER / "grafana.json").read_text())
        self.assertEqual({type(board[key]) for key in ("title", "uid")} | {type(board["panels"])}, {str, list})
        taken = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24)
            taken |= cells
            self.assertTrue(all(target["expr"] and target["legendFormat"] for target in panel["targets"]), panel["title"])
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))

    @unittest.skipUnless(shutil.which("promtool"), "there is no promtool (Debian: prometheus)")
    def test_the_rules_hold(self):
        for command in (("check", "rules", "alerts.yml"), ("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")):
            ran = subprocess.run(["promtool", *command], cwd=FOLDER, capture_output=True, text=True, timeout=DEADLINE, check=False)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        board = json.loads((FOLDER / "grafana.json").read_text())
        exprs = [target["expr"].replace("$instance", ".*") for panel in board["panels"] for target in panel["targets"]] + QUERIES
        rules = self.folder / "board.yml"
        rules.write_text(json.dumps({"groups": [{"name": "board", "rules": [{"record": f"board:{i}", "expr": expr}
                                                                             for i, expr in enumerate(exprs)]}]}))
        ran = subprocess.run(["promtool", "check", "rules", "--lint=none", str(rules)], capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def scraped(self, daemon):
        """A Prometheus that scrapes the daemon twice a second; returns a query function."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        config = self.folder / "prometheus.yml"
        config.write_text(json.dumps({"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"}, "scrape_configs": [
            {"job_name": "hob", "static_configs": [{"targets": [f"127.0.0.1:{daemon.port}"]}]}]}))
        with open(self.folder / "prometheus.log", "wb") as log:
            prometheus = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
                                           f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)

        def ask(query):
            self.assertIsNone(prometheus.poll(), "Prometheus ended")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}", timeout=DEADLINE) as answer:
                    return json.load(answer)["data"]["result"]
            except (ConnectionError, urllib.error.URLError):
                return []
        return ask

    @unittest.skipUnless(shutil.which("prometheus"), "there is no prometheus")
    def test_every_panel_shows_what_the_daemon_did(self):
        """Each query of the dashboard, with all daemons selected as in Grafana, and each recording rule returns numbers."""
        self.put("a.obj", obj_text(2))
        above = self.folder / "above"
        above.mkdir()
        with Daemon([above], self.folder / "above-cache") as upstream, self.serve("--upstream", f"http://127.0.0.1:{upstream.port}") as daemon:
            daemon.sync()
            ask = self.scraped(daemon)
            until(lambda: ask("hob_assets"), "the first look")
            # Between two scrapes: a cook, a hit, a failure, requests.
            self.put("b.obj", obj_text(3))
            self.put("c.obj", obj_text(2))
            self.put("d.obj", "v 1\nf 1 2 3\n")
            daemon.sync()
            daemon.blob("art/b.obj")
            # The last scrape may precede the last cook, and a rate needs two scrapes.
            board = json.loads((FOLDER / "grafana.json").read_text())
            queries = [(panel["title"], target["expr"].replace("$instance", ".*")) for panel in board["panels"] for target in panel["targets"]]
            until(lambda: any(float(row["value"][1]) > 0 for row in ask('increase(hob_cache_requests_total{result="hit"}[1h])')), "a hit")
            until(lambda: {("fresh", "3"), ("failed", "1")} <= {(row["metric"]["state"], row["value"][1]) for row in ask(queries[0][1])},
                  "3 fresh and 1 failed")
            # Without a farm only its panel is empty.
            until(lambda: all(ask(expr) for _, expr in queries if "hob_farm_" not in expr), "a number in every panel")
            self.assertEqual({title for title, expr in queries if not ask(expr)}, {"Shared out by the farm"})
            for query in QUERIES + [rule["expr"] for rule in self.recorded()]:
                self.assertRegex(str([row["value"][1] for row in ask(query)]), r"^\['[0-9.e+-]+'\]$", query)

    def recorded(self):
        text = (FOLDER / "alerts.yml").read_text().split("name: hob-alerts")[0]
        rules = re.findall(r"record: (\S+)\n +expr: (?:>-\n)?((?:.*\n)(?: {10}.*\n)*)", text)
        self.assertEqual(len(rules), 2)
        return [{"record": name, "expr": " ".join(expr.split())} for name, expr in rules]


if __name__ == "__main__":
    main()
