"""The scripts of the CI templates, taken out of the templates, to run them as a CI system would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "ci-templates"


def gitlab_job(template: str = "asmevo-gate.yml") -> tuple[dict[str, str], dict[str, Any]]:
    """The variables and the job of the GitLab template."""
    content = yaml.safe_load((TEMPLATES / "gitlab" / template).read_text())
    variables = {name: str(entry["value"]) for name, entry in content["variables"].items()}
    return variables, content["asmevo-gate"]


def gitlab_component() -> tuple[dict[str, Any], str]:
    """The inputs of the component, and its text with the defaults in their place, as GitLab interpolates it."""
    text = (TEMPLATES / "gitlab" / "component" / "template.yml").read_text()
    header, _, body = text.partition("\n---\n")
    inputs = yaml.safe_load(header)["spec"]["inputs"]

    def default(match: re.Match[str]) -> str:
        return str(inputs[match[1]]["default"])

    return inputs, re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", default, body)


def github_workflow() -> dict[Any, Any]:
    """The GitHub workflow. (YAML 1.1 reads its key ``on`` as true.)"""
    content: dict[Any, Any] = yaml.safe_load((TEMPLATES / "github" / "asmevo-gate.yml").read_text())
    return content


def github_step(name: str) -> dict[str, Any]:
    """A step of the workflow."""
    steps: list[dict[str, Any]] = github_workflow()["jobs"]["asmevo-gate"]["steps"]
    return next(step for step in steps if step.get("name") == name)


def jenkinsfile() -> str:
    """The text of the Jenkinsfile."""
    return (TEMPLATES / "jenkins" / "Jenkinsfile").read_text()


def jenkins_script() -> tuple[dict[str, str], str]:
    """The environment and the shell script of the Jenkinsfile."""
    text = jenkinsfile()
    environment = dict(re.findall(r"^    (\w+) = '([^']*)'$", text, re.MULTILINE))
    script = re.search(r"sh '''\n(.*?)'''", text, re.DOTALL)
    assert script is not None
    return environment, script[1]


def command_on_path(folder: Path) -> str:
    """A PATH with a command ``asmevo-gate`` that runs this checkout, so that a template installs nothing."""
    folder.mkdir(exist_ok=True)
    command = folder / "asmevo-gate"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m asmevo_gate "$@"\n')
    command.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def run_script(script: str, where: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script as CI runners do: by a shell that ends at the first failure."""
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=where,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
