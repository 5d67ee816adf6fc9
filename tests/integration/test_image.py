"""The container image and its compose files, without a container engine: the context sent by docker contains everything that the
build installs, and named files exist. image.sh runs the image's stages."""
import json
import os
import re
import shutil
import subprocess
import threading
import unittest

from docker_context import files, is_sent
from hobtest import DEADLINE, HOB, MODELS, PROJECT, Scenario, main

try:
    import yaml
except ImportError:
    yaml = None

DOCKERFILE = re.sub(r"\\\n", "", (PROJECT / "docker/Dockerfile").read_text())
COMPOSE = ("compose.yml", "compose.farm.yml")
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
# Keys of a service in the Compose specification that the files use; a misspelt key is an error there, too.
KEYS = {"image", "build", "command", "environment", "volumes", "ports", "depends_on", "restart", "stop_grace_period", "healthcheck", "hostname",
        "read_only", "tmpfs"}


def compose(name):
    return yaml.safe_load((PROJECT / "docker" / name).read_text())


def services(name):
    return compose(name)["services"].items()


def environment_names():
    """The HOB_* variables listed in the daemon's help."""
    ran = subprocess.run([HOB, "serve", "--help"], capture_output=True, text=True, timeout=DEADLINE, check=True)
    return set(re.findall(r"HOB_\w+", ran.stdout)) | set(re.findall(r"HOB_\w+", (PROJECT / "docs/settings.md").read_text()))


class Context(unittest.TestCase):
    def test_patterns_are_dockers(self):
        self.assertEqual([is_sent(name) for name in ("dev", "web/build/web.cmake", "examples/art/lantern.gltf")], [True] * 3)
        self.assertEqual([is_sent(name) for name in ("tests/README.md", "web/node_modules/preact/x", "node_modules/x", "build/debug/hob", ".git/config")],
                         [False] * 5)

    def test_what_the_build_names_is_sent(self):
        sent, folders = set(files()), set()
        for name in sent:
            folders |= {str(parent) for parent in (PROJECT / name).relative_to(PROJECT).parents}
        named = set()
        for file in ("CMakeLists.txt", "docker/install.cmake"):
            text = (PROJECT / file).read_text().replace("${docker}", "${CMAKE_SOURCE_DIR}/docker").replace("\\\"", " ")
            named |= set(re.findall(r"\$\{CMAKE_SOURCE_DIR\}/([\w./-]+)", text))
        named |= {word for line in re.findall(r"(?m)^COPY (?!--from)(.*) \S+$", DOCKERFILE) for word in line.split() if word != "."}
        self.assertGreater(len(named), 10)
        self.assertEqual({name for name in named if name.rstrip("/") not in sent | folders}, set())


@unittest.skipUnless(yaml, "there is no yaml of Python (Debian: python3-yaml)")
class Compose(Scenario):
    def test_what_the_files_name_is_there(self):
        port = re.search(r"(?m)^EXPOSE (\d+)$", DOCKERFILE).group(1)
        made = set(re.findall(r"(?m)^VOLUME (\S+)$", DOCKERFILE)) | set(re.findall(r"mkdir -p (/art)\b", DOCKERFILE))
        known = environment_names()
        for name in COMPOSE:
            whole = compose(name)
            self.assertEqual(set(whole) - {"services", "volumes", "x-hob"}, set(), name)
            host_ports = []
            for service, what in whole["services"].items():
                where = f"{name}: {service}"
                self.assertEqual(set(what) - KEYS, set(), where)
                ours = "build" in what
                if ours:
                    self.assertTrue((PROJECT / "docker" / what["build"]["context"] / what["build"]["dockerfile"]).is_file(), where)
                self.assertLessEqual(set(what.get("environment", {})) - {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_HOST_AUTH_METHOD"}, known, where)
                for published in what.get("ports", ()):
                    host, outside, inside = published.split(":")
                    self.assertEqual((host, inside), ("127.0.0.1", port), where)
                    host_ports.append(outside)
                    self.assertIn(f"0.0.0.0:{inside}", what["command"], where)
                places = {}
                for volume in what.get("volumes", ()):
                    source, place = re.fullmatch(r"(\$\{[^}]*\}|[^:]+):([^:]+)(?::ro)?", volume).groups()
                    self.assertTrue(source.startswith("${HOB_ART:-") or source in whole["volumes"], f"{where}: {volume}")
                    places[place] = volume
                if ours:
                    # Files that a command reads and writes are mounted, or a volume or folder of the image.
                    for word in what["command"]:
                        self.assertTrue(not word.startswith("/") or word in made | set(places), f"{where}: {word}")
                for other, how in what.get("depends_on", {}).items():
                    self.assertIn(other, whole["services"], where)
                    self.assertIn(how["condition"], CONDITIONS, where)
                    if how["condition"] == "service_healthy":
                        self.assertIn("healthcheck", whole["services"][other], where)
            self.assertEqual(len(set(host_ports)), len(host_ports), name)
            text = (PROJECT / "docker" / name).read_text()
            self.assertEqual(set(re.findall(r"\$\{(\w+)", text)) - known, {"HOB_ART"}, name)

    def test_each_command_is_one_of_hob(self):
        # With local folders: services are started and answer the image's own check, other commands are parsed.
        shutil.copy(MODELS / "simple/spot.obj", self.art)
        check = json.loads(re.search(r"(?m)^HEALTHCHECK .*CMD (\[.*\])$", DOCKERFILE).group(1))
        default = json.loads(re.search(r"(?m)^CMD (\[.*\])$", DOCKERFILE).group(1))
        seen = set()
        for name in COMPOSE:
            for service, what in services(name):
                command = what["command"] if "build" in what else None
                if not command or tuple(command) in seen:
                    continue
                seen.add(tuple(command))
                if command[0] == "serve":
                    self.serves(command, check, f"{name}: {service}")
                else:
                    # Without a database: the error is about the database, not about the arguments.
                    ran = subprocess.run([HOB, *[word.replace("/var/lib/hob", str(self.cache)) for word in command]], capture_output=True, text=True,
                                         env=dict(os.environ, NO_COLOR="1"), timeout=DEADLINE, check=False)
                    self.assertIn("farm.metadata", ran.stderr, f"{name}: {service}: {ran.stdout}")
        self.assertEqual(len(seen), 3)
        self.serves([word for word in default if word not in ("--token-file", "/var/lib/hob/tokens")] + ["--trust-network"], check, "Dockerfile")

    def serves(self, command, check, where):
        words = [word.replace("/art", str(self.art)).replace("/var/lib/hob", str(self.cache)).replace("0.0.0.0:7780", "127.0.0.1:0") for word in command]
        with subprocess.Popen([HOB, *words], stderr=subprocess.PIPE, text=True, env=dict(os.environ, NO_COLOR="1")) as process:
            end = threading.Timer(DEADLINE, process.kill)
            self.addCleanup(end.cancel)
            end.start()
            ready = next((line for line in map(json.loads, process.stderr) if line["event"] == "ready"), None)
            self.assertTrue(ready, where)
            ran = subprocess.run([HOB, *check[1:]], env=dict(os.environ, HOB_URL=ready["message"].split()[0]), capture_output=True, text=True,
                                 timeout=DEADLINE, check=False)
            process.terminate()
            self.assertEqual({type(json.loads(line)) for line in process.stderr}, {dict}, where)
        self.assertEqual((ran.returncode, process.returncode), (0, 0), f"{where}: {ran.stderr}")

    @unittest.skipUnless(shutil.which("docker-compose"), "there is no docker-compose (Debian's package of that name)")
    def test_compose_reads_them(self):
        for name in COMPOSE:
            ran = subprocess.run(["docker-compose", "-f", str(PROJECT / "docker" / name), "config"], capture_output=True, text=True, timeout=DEADLINE,
                                 env=dict(os.environ, HOB_ART=str(self.art)), check=False)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn(f"{self.art}:/art:ro", ran.stdout)


if __name__ == "__main__":
    main()
