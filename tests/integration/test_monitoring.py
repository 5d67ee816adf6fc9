"""What docker/monitoring offers, against a daemon's own metrics and promtool."""
import json
import re
import shutil
import subprocess
import unittest

from hobtest import DEADLINE, PROJECT, Scenario, main, obj_text

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


if __name__ == "__main__":
    main()
