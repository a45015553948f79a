"""The texts for clusters in the book (docs/fleet.md), as far as that can be without a cluster.

    python texts.py FOLDER        # with PyYAML and kubernetes-validate

The SLURM scripts are read by `bash -n`, then run as arrays by a loop that sets $SLURM_ARRAY_TASK_ID, in a store and with logs in FOLDER: the map must be that of
one mapper. The Kubernetes manifest is held against the schema of Kubernetes, and its command is run once for every index.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import yaml

PROGRAM = Path(os.environ["PROGRAM"])
RUNS = ["robot-0", "robot-1", "robot-2"]


def blocks(text: str) -> list[str]:
    """The indented blocks of a page, as they are to be copied."""
    parts, lines = [], []
    for line in [*text.splitlines(), "end"]:
        if line.startswith("    ") or (lines and not line.strip()):
            lines.append(line[4:])
        elif lines:
            parts.append("\n".join(lines).strip() + "\n")
            lines = []
    return parts


def bash(script: str, folder: Path, **variables: str) -> None:
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", **variables}
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    page = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text()
    scripts = [part for block in blocks(page) for part in re.split(r"(?=^#!/bin/bash$)", block, flags=re.M) if part.startswith("#!/bin/bash")]
    assert len(scripts) == 2 and all("#SBATCH --array=1-" in script for script in scripts), scripts
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)

    def local(text: str) -> str:
        """Where the book says /shared/city and /logs, it is here."""
        return text.replace("/shared/city", str(folder / "city")).replace("/logs", str(folder))

    (folder / "runs.txt").write_text("\n".join(RUNS) + "\n")
    one = folder / "one.e2bki"
    for i, name in enumerate(RUNS):
        where = ["--world", "urban", "--seed", "5", "--route", "loop", "--round", "200", "--start", str(12 * i), "--frames", "2"]
        subprocess.run([PROGRAM, "simulate", *where, "--no-images", "--format", "semantickitti", "--out", folder / name], check=True, stdout=subprocess.DEVNULL)
        # A perfect network.
        shutil.copytree(folder / name / "sequences" / "00" / "labels", folder / name / "sequences" / "00" / "predictions")
        onto = ["--onto", one] if i else []
        arguments = [folder / name, "--semantics", "labels:predictions", *onto, "--source", name, "-o", one]
        subprocess.run([PROGRAM, "map", *arguments], check=True, stdout=subprocess.DEVNULL)
    sha = hashlib.sha256(one.read_bytes()).hexdigest()
    bash(f"e2bki fleet init {folder}/city --like {one}", folder)
    mapping, reducing = map(local, scripts)
    for task in range(1, len(RUNS) + 1):
        bash(mapping, folder, SLURM_ARRAY_TASK_ID=str(task))
    tasks = int(re.search(r"--array=1-(\d+)", reducing)[1])
    for task in range(1, tasks + 1):
        bash(reducing, folder, SLURM_ARRAY_TASK_ID=str(task))
    commit = next(block for block in blocks(page) if block.startswith("sbatch --wait"))
    bash(local(commit).replace("sbatch --wait", "test -n"), folder)
    bash(f"e2bki fleet export {folder}/city -o {folder}/city.e2bki", folder)
    assert hashlib.sha256((folder / "city.e2bki").read_bytes()).hexdigest() == sha, "the arrays of the book made another map"
    print(f"SLURM: {len(RUNS)} tasks that map and {tasks} that reduce, run one after the other: the map of one mapper", flush=True)

    manifest = next(yaml.safe_load(block) for block in blocks(page) if block.startswith("apiVersion:"))
    kubernetes_validate.validate(manifest, "1.29", strict=True)
    shell, dash_c, text = manifest["spec"]["template"]["spec"]["containers"][0]["command"]
    assert [shell, dash_c] == ["bash", "-c"] and manifest["spec"]["completionMode"] == "Indexed"
    for path in (folder / "city" / "tiles").rglob("*.e2bki"):
        path.unlink()
    for index in range(manifest["spec"]["completions"]):
        bash(text.replace("s3://maps/city", str(folder / "city")), folder, JOB_COMPLETION_INDEX=str(index))
    bash(f"e2bki fleet export {folder}/city -o {folder}/again.e2bki", folder)
    assert hashlib.sha256((folder / "again.e2bki").read_bytes()).hexdigest() == sha, "the job of the book made another map"
    print(f"Kubernetes: the manifest fits the schema of 1.29; its command run for {manifest['spec']['completions']} indices: the map of one mapper", flush=True)


if __name__ == "__main__":
    main()
