"""What a release says of itself agrees with itself, and with the code."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import biasflow as bf
import print_llms

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = {"3.11", "3.12", "3.13", "3.14"}
PAGES = (
    *("README.md", "CHANGELOG.md", "CITATION.cff", "NOTICE", "SECURITY.md", "SUPPORT.md"),
    *("llms.txt", "paper.md", "paper.bib"),
)
ENTRY = re.compile(r"^@\w+\{(\w+),.*?^\}", re.M | re.S)
PLACEHOLDER = re.compile(
    r"https?://|doi\.org|\b10\.\d{4,}/|example\.(?:com|org)|TODO|FIXME|XXX|@\w+\.\w+"
)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def workflow(name: str) -> dict:
    return yaml.safe_load(read(f".github/workflows/{name}.yml"))


def test_one_version_and_one_date():
    cited = yaml.safe_load(read("CITATION.cff"))
    newest, date = re.search(
        r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", read("CHANGELOG.md"), re.M
    ).groups()
    assert PROJECT["version"] == bf.__version__ == cited["version"] == newest
    assert cited["date-released"] == date


def test_every_version_of_the_changelog_is_dated_and_grouped():
    sections = re.split(r"^## ", read("CHANGELOG.md"), flags=re.M)[1:]
    assert all(re.match(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)\n", section) for section in sections)
    groups = re.findall(r"^### (\w+)$", sections[0], re.M)
    assert groups == ["Added", "Changed", "Fixed", "Deprecated"]


def test_the_citation_names_the_four_papers_as_they_are_in_the_references():
    bibliography = {m.group(1): m.group(0) for m in ENTRY.finditer(read("references.bib"))}
    cited = yaml.safe_load(read("CITATION.cff"))
    assert cited["cff-version"] == "1.2.0" and cited["authors"] == [
        {"name": "biasflow contributors"}
    ]
    for tag, reference in zip("WRBC", cited["references"], strict=True):
        entry = re.sub(r"[{}]", "", bibliography[tag])
        assert reference["title"] in entry and f"= {reference['year']}" in entry
        authors = re.search(r"author\s+= (.*),", entry).group(1).split(" and ")
        for person, author in zip(reference["authors"], authors, strict=True):
            family, given = author.split(", ")
            assert person["family-names"] == family
            assert given.isascii() is False or "\\" in given or person["given-names"] == given


def test_the_papers_references_are_ours():
    bibliography = {m.group(1): m.group(0) for m in ENTRY.finditer(read("references.bib"))}
    theirs = {m.group(1): m.group(0) for m in ENTRY.finditer(read("paper.bib"))}
    assert theirs.items() <= bibliography.items()
    assert set(re.findall(r"@(\w+)", read("paper.md").partition("\n---\n")[2])) == set(theirs)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_invented(name):
    assert not PLACEHOLDER.findall(read(name))


def test_the_page_for_assistants_is_up_to_date():
    """`python tests/print_llms.py > llms.txt`."""
    assert read("llms.txt") == print_llms.page()
    assert all((ROOT / path).is_file() for path in print_llms.PAGES)


@pytest.mark.parametrize("name", ["tests", "newest", "release"])
def test_workflows_may_read_only_and_end(name):
    found = workflow(name)
    assert found["permissions"] == {"contents": "read"}
    for job in found["jobs"].values():
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step.get("uses", "a/b@c"))


def test_workflows_cover_the_pythons_and_systems_that_are_promised():
    promised = {
        line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)
    }
    jobs = workflow("tests")["jobs"]
    assert promised == PYTHONS == set(jobs["linux"]["strategy"]["matrix"]["python"])
    assert set(jobs["elsewhere"]["strategy"]["matrix"]["python"]) == PYTHONS
    systems = jobs["elsewhere"]["strategy"]["matrix"]["system"]
    assert systems == ["macos-latest", "windows-latest"]
    assert {"everything", "package"} <= set(jobs)
    # YAML reads the word "on" as true
    assert workflow("newest")[True]["schedule"]


def test_a_release_needs_no_token():
    text, jobs = read(".github/workflows/release.yml"), workflow("release")["jobs"]
    assert "secrets." not in text and "password" not in text
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["needs"] == "build" and jobs["publish"]["environment"] == "release"
    assert "permissions" not in jobs["build"]


def test_the_core_set_exists():
    assert all((ROOT / line).exists() for line in read("tests/core_set.txt").split())


def test_what_is_vendored_has_its_notice():
    static = ROOT / "docs" / "_static"
    for folder in [path for path in static.glob("*") if path.is_dir()]:
        assert f"docs/_static/{folder.name}" in read("NOTICE")
        assert (folder / "LICENSE").is_file()
