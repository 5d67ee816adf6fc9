"""Queries off the loop: any announced data is found, whatever else the daemon does."""
import json
import threading

from hobtest import SETTINGS_SCHEMA, Scenario, amount, main, obj_text, until


class Questions(Scenario):
    def test_an_event_is_followed_by_what_it_says(self):
        with self.serve() as daemon:
            daemon.sync()
            for turn in range(amount(60, 1000)):
                self.put("a.obj", obj_text(2 + turn % 7, shift=turn))
                said = daemon.wait_event("asset", lambda data: data["state"] == "fresh" and data["quality"] == "final")
                key = said["key"]
                asset = f"/api/v1/assets/{said['id']}"
                self.assertEqual(daemon.get(asset + "/why").json()["key"], key)
                self.assertEqual(daemon.get(asset + "/history?limit=1").json()["items"][0]["key"], key)
                manifest = daemon.get(f"/api/v1/revs/{said['rev']}/manifest").json()
                self.assertEqual([item["rev"] for item in manifest["assets"]], [said["rev"]])

    def test_a_job_is_in_the_list_from_its_first_event_to_its_row(self):
        """Queried continuously while models are saved: a job seen once is never missing or duplicated."""
        stop, found = threading.Event(), []

        def ask(daemon):
            seen = set()
            while not stop.is_set():
                items = [item["id"] for item in daemon.get("/api/v1/jobs?limit=1000").json()["items"]]
                if len(items) != len(set(items)):
                    found.append(("twice", items))
                if seen - set(items):
                    found.append(("lost", seen - set(items)))
                seen |= set(items)

        with self.serve() as daemon:
            thread = threading.Thread(target=ask, args=(daemon,))
            thread.start()
            for turn in range(amount(30, 300)):
                for name in "abc":
                    self.put(f"{name}.obj", obj_text(2 + turn % 5, shift=turn))
                daemon.sync()
            stop.set()
            thread.join()
        self.assertEqual(found, [])

    def test_one_job_is_found_queued_running_and_over(self):
        with self.serve() as daemon:
            self.put("a.obj", obj_text(3))
            daemon.sync()
            item = daemon.assets()["art/a.obj"]
            job = daemon.post(f"/api/v1/assets/{item['id']}/cook", {"force": True}).json()["job"]
            until(lambda: daemon.get(f"/api/v1/jobs/{job}").json()["state"] == "done", "the end of the job")
            self.assertEqual(daemon.get(f"/api/v1/jobs/{job}/log").status, 200)
            self.assertEqual(daemon.get(f"/api/v1/jobs/{job + 1000}").status, 404)

    def test_a_trace_has_each_job_once_and_no_two_at_a_time_in_a_lane(self):
        names = [f"{letter}.obj" for letter in "abcdefgh"]
        for turn, name in enumerate(names):
            self.put(name, obj_text(3 + turn))
        with self.serve() as daemon:
            daemon.sync()
            jobs = {job["id"]: job for job in daemon.get("/api/v1/jobs?limit=1000").json()["items"]}
            events = daemon.get("/api/v1/trace").json()["traceEvents"]
            cooks = [event for event in events if event["ph"] == "X"]
            self.assertEqual(sorted(jobs), sorted(event["args"]["job"] for event in cooks))
            lanes = {}
            for event in cooks:
                job = jobs[event["args"]["job"]]
                self.assertEqual((job["asset"], job["result"], job["cached"]), (event["name"], event["cat"], event["args"]["cached"]))
                self.assertEqual(round(job["cook_ms"]), round(event["args"]["cook_ms"]))
                lanes.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
            for spans in lanes.values():
                spans.sort()
                self.assertTrue(all(end <= start for (_, end), (start, _) in zip(spans, spans[1:])), spans)
            self.assertEqual(sorted(lanes), [event["tid"] for event in events if event["ph"] == "M"])
            newest = [event["args"]["job"] for event in daemon.get("/api/v1/trace?limit=3").json()["traceEvents"] if event["ph"] == "X"]
            self.assertEqual(sorted(jobs)[-3:], sorted(newest))

    def test_settings_follow_each_other(self):
        """Each change names the version it is based on; a change of an old version is refused."""
        with self.serve() as daemon:
            self.put("a.obj", obj_text(3))
            daemon.sync()
            path = f"/api/v1/assets/{daemon.assets()['art/a.obj']['id']}/settings"
            first = daemon.get(path).headers["etag"]
            tag = first
            for most in range(1, 6):
                answer = daemon.request("PATCH", path, {"lods": {"max": most}},
                                        {"If-Match": tag, "Content-Type": "application/merge-patch+json"})
                self.assertEqual(answer.status, 200, answer.body)
                self.assertEqual(answer.json()["settings"]["lods"]["max"], most)
                tag = answer.headers["etag"]
            self.assertEqual(daemon.request("DELETE", path, headers={"If-Match": first}).status, 412)
            self.assertEqual(json.loads((self.art / "a.obj.cook.json").read_text()), SETTINGS_SCHEMA | {"lods": {"max": 5}})
            self.assertEqual(daemon.request("DELETE", path, headers={"If-Match": tag}).status, 204)
            self.assertEqual(daemon.get(path).json()["sidecar"]["exists"], False)


if __name__ == "__main__":
    main()
