"""What ``agent.toml`` may say, and how it is told that it may not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tenure.agent.errors import InvalidSettings
from tenure.agent.settings import AgentSettings, load_settings

REFERENCE = Path("docs/reference/agent-settings.md").read_text()
SECTIONS = {"slurm", "aiida"}  # checked by their adapters


def written(folder: Path, text: str) -> Path:
    path = folder / "agent.toml"
    path.write_text(text)
    return path


def test_the_example_of_the_reference_can_be_used(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", REFERENCE, re.DOTALL)
    assert example is not None
    settings = load_settings(written(tmp_path, example[1]))
    assert (settings.node, str(settings.folder)) == ("cluster-1", "/var/lib/tenure-agent/cluster-1")
    assert settings.runner.inputs == ("https://data.example.org/runs/", "file:///srv/inputs/")


def test_the_reference_has_every_setting() -> None:
    missing = []
    for name, field in AgentSettings.model_fields.items():
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            section = REFERENCE.partition(f"## `[{name}]`")[2].partition("\n## ")[0]
            missing += [f"{name}.{each}" for each in inner.model_fields if f"\n| `{each}` |" not in section]
        elif name not in SECTIONS and f"\n| `{name}` |" not in REFERENCE.partition("## `[runner]`")[0]:
            missing.append(name)
    assert missing == []


def test_the_command_line_counts_more_than_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, 'node = "a"\nkind = "local"\nurl = "http://one"\n')
    settings = load_settings(path, node="b", url=None)
    assert (settings.node, settings.url) == ("b", "http://one")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node = ", "is no TOML"),
        ('node = "a"\nkind = "cloud"', "kind: Input should be 'local', 'slurm' or 'aiida'"),
        ('kind = "local"', "node: Field required"),
        ('node = "a"\nkind = "local"\ntoken = "x"', "token: Extra inputs are not permitted"),
        ('node = "a"\nkind = "local"\n[watch]\nfastest = 1', "watch.fastest: Extra inputs are not permitted"),
        ('node = "a"\nkind = "local"\n[watch]\nfastest_seconds = 0', "watch.fastest_seconds"),
        ('node = "a"\nkind = "local"\n[runner.environment]\nTENURE_X = "1"', "TENURE_X is one of the agent's own"),
        ('node = "a"\nkind = "local"\n[runner.environment]\n"A B" = "1"', "'A B' is no name of a variable"),
        ('node = "a"\nkind = "local"\nmax_executions = 0', "max_executions"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(written(tmp_path, text))
    assert said in str(refusal.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="cannot be read: No such file"):
        load_settings(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSettings, match="is not UTF-8"):
        load_settings(tmp_path / "bytes.toml")
