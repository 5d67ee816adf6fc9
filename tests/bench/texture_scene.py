"""texture_scene.py BUILD [MODEL ...] - see texture_scene.sh. The best of several runs, alternating 1 and 2 threads; prints
Markdown."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

RUNS = int(os.environ.get("HOB_RUNS", "3"))
STAGES = ["import", "meshes", "scene", "animations", "textures", "write"]
HERE = pathlib.Path(__file__).resolve().parent
CORPUS = pathlib.Path(os.environ.get("HOB_CORPUS", HERE.parent.parent.parent / "shared/corpus"))


def cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cook(hob, model, settings, cpus):
    with tempfile.TemporaryDirectory(prefix="hob-bench-") as out:
        before = cpu()
        subprocess.run(["taskset", "-c", ",".join(map(str, cpus)), hob, "cook", model.name, "-q", "-j", "1", "-o", out,
                        "--settings", json.dumps(settings)], cwd=model.parent, check=True)
        report = json.loads((pathlib.Path(out) / (model.name + ".report.json")).read_text())
        times = {stage: report["timings_us"].get(stage, 0) / 1000 for stage in STAGES}
        textures = [size for name, size in report["bytes"].items() if name.startswith("textures/")]
        return {"stages": times, "whole": sum(times.values()), "cpu": cpu() - before, "textures": len(textures),
                "bytes": sum(textures)}


def main():
    hob = str(pathlib.Path(sys.argv[1]).resolve() / "hob")
    models = [pathlib.Path(path).resolve() for path in sys.argv[2:]] or [
        CORPUS / "gltf/bevy/FlightHelmet/FlightHelmet.gltf", CORPUS / "gltf/khronos/Avocado/glTF/Avocado.gltf"]
    cpus = sorted(os.sched_getaffinity(0))[:2]
    print("| scene, quality | threads | cook ms | CPU ms | " + " | ".join(f"{stage} %" for stage in STAGES) + " |")
    print("|---|---:|---:|---:|" + "---:|" * len(STAGES))
    for model in models:
        for quality in ("fast", "good"):
            best = {}
            for _ in range(RUNS):
                for threads in range(1, len(cpus) + 1):
                    run = cook(hob, model, {"texture": {"encoding": "bc", "quality": quality}}, cpus[:threads])
                    if threads not in best or run["whole"] < best[threads]["whole"]:
                        best[threads] = run
            for threads, run in best.items():
                shares = " | ".join(f"{100 * run['stages'][stage] / run['whole']:.1f}" for stage in STAGES)
                print(f"| {model.stem}, {run['textures']} textures, `{quality}` | {threads} | {run['whole']:.0f} | "
                      f"{1000 * run['cpu']:.0f} | {shares} |", flush=True)


main()
