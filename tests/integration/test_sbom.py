"""The image's bill of materials, generated for this machine."""
import json
import re
import shutil
import subprocess
import unittest

from hobtest import DEADLINE, PROJECT, Scenario, main

SCRIPT = PROJECT / "docker/sbom.sh"


@unittest.skipUnless(shutil.which("dpkg-query"), "no Debian")
class BillOfMaterials(Scenario):
    def run_script(self, *words):
        return subprocess.run(["sh", str(SCRIPT), *words], capture_output=True, text=True, timeout=DEADLINE, check=True).stdout

    def test_it_lists_every_package_and_what_is_embedded(self):
        embedded = self.run_script("embedded")
        wanted = json.loads((PROJECT / "web/package.json").read_text())["dependencies"]
        self.assertEqual(dict(re.findall(r"^npm (\S+) (\S+)$", embedded, re.M)), wanted)
        self.assertRegex(embedded, r"(?m)^deb libstb-dev \S+$")
        file = self.folder / "embedded"
        file.write_text(embedded + "npm @scope/with+plus 1.0.0+build\n")
        bill = json.loads(self.run_script("image", "1.2.3-1", str(file)))
        self.assertEqual([bill[key] for key in ("bomFormat", "specVersion", "version")], ["CycloneDX", "1.5", 1])
        self.assertEqual(bill["metadata"]["component"]["version"], "1.2.3-1")
        urls = [part["purl"] for part in bill["components"]]
        self.assertEqual(len(set(urls)), len(urls))
        self.assertEqual(urls, [part["bom-ref"] for part in bill["components"]])
        self.assertTrue(all(re.fullmatch(r"pkg:(deb/debian|npm)/[\w.%/-]+@[\w.%~-]+(\?arch=\w+)?", url) for url in urls))
        self.assertIn("pkg:npm/%40scope/with%2Bplus@1.0.0%2Bbuild", urls)
        installed = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"], capture_output=True, text=True,
                                   timeout=DEADLINE, check=True).stdout
        here = {tuple(line.split()[1:]) for line in installed.splitlines() if line.startswith("installed ")}
        self.assertGreater(len(here), 50)
        self.assertEqual(here - {(part["name"], part["version"]) for part in bill["components"]}, set())

    def test_it_is_the_same_every_time(self):
        file = self.folder / "embedded"
        file.write_text("npm a 1\n")
        self.assertEqual(self.run_script("image", "1", str(file)), self.run_script("image", "1", str(file)))

    def test_the_image_holds_it(self):
        text = (PROJECT / "docker/Dockerfile").read_text()
        self.assertIn("sbom.sh embedded > /packages/embedded", text)
        self.assertRegex(text, r"sbom\.sh image .* /packages/embedded > /usr/share/doc/hob/sbom\.cdx\.json")


if __name__ == "__main__":
    main()
