"""What was not written here: it is what it says it is, and nothing is fetched from elsewhere."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
FOLDERS = (WEB / "static" / "vendor", ROOT / "tests" / "web" / "vendor")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_every_vendored_file_is_the_one_whose_checksum_is_kept(folder: Path) -> None:
    kept = dict(line.split()[::-1] for line in (folder / "CHECKSUMS").read_text().splitlines())
    found = {path.name for path in folder.iterdir() if path.suffix in (".js", ".css")}
    assert set(kept) == found
    for name, digest in kept.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_every_vendored_script_has_its_licence_and_its_version_in_the_docs() -> None:
    page = (ROOT / "docs" / "dashboard.md").read_text()
    licences = {path.stem for path in (FOLDERS[0] / "licenses").iterdir()}
    assert licences == {"plotly", "htmx"}
    plotly = re.search(
        r"plotly\.js \(basic - minified\) v([\d.]+)", (FOLDERS[0] / "plotly-basic.min.js").read_text()[:400]
    )
    htmx = re.search(r'version:"([\d.]+)"', (FOLDERS[0] / "htmx.min.js").read_text())
    assert plotly is not None
    assert htmx is not None
    for version in (plotly.group(1), htmx.group(1)):
        assert version in page


def test_the_style_of_plotly_is_the_rules_of_the_script_that_is_vendored() -> None:
    """The script would put them into the page itself, which the policy forbids; a newer script needs a newer sheet."""
    script, sheet = (FOLDERS[0] / "plotly-basic.min.js").read_text(), (FOLDERS[0] / "plotly.css").read_text()
    assert ".no-inline-styles" in script
    rules = re.findall(r'"(X[^"]*)":(?:"([^"]*)"|\'([^\']*)\')', script[script.index('"X,X div":') :].split("}", 1)[0])
    assert len(rules) > 40
    for selector, double, single in rules:
        if "cloud-dialog" in selector or "input:focus" in selector:
            continue  # no dialog is ever shown, and a focus must be seen
        assert f"{selector.replace('X', '.js-plotly-plot .plotly')} {{ {double or single} }}" in sheet


def test_no_template_and_no_script_of_ours_names_another_host() -> None:
    own = [*WEB.glob("templates/**/*.html"), *WEB.glob("static/*.js"), *WEB.glob("static/*.css")]
    assert len(own) > 20
    for path in own:
        assert not re.search(r"""(src|href|action|url\()\s*=?\s*["'(]?\s*(https?:)?//""", path.read_text()), path


def test_our_script_stays_small() -> None:
    assert len((WEB / "static" / "app.js").read_text().splitlines()) <= 300
