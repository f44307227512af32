"""Pictures of workloads, drawn with matplotlib (the extra ``plots``); numbers come from :mod:`workloads.synthesize`."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuner.errors import MissingToolError
from tuner.files import write_bytes_atomically
from workloads.synthesize import samples
from workloads.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["draw_workloads"]

_BINS: Final = 48
_POINTS: Final = 120
_PANELS: Final = (
    ("gaps", "gap between jobs / its mean"),
    ("tasks", "tasks of a job"),
    ("durations", "duration of a task, s"),
)
_COLOURS: Final = ("#1f6fb2", "#d9641e")


def draw_workloads(workloads: dict[str, Workload], path: Path) -> None:
    """Draws workloads into one SVG file: arrivals and running tasks over time, and three distributions.

    Args:
        workloads: one or two, by what the legend calls them.
        path: of the file.

    Raises:
        MissingToolError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingToolError(
            "pictures need matplotlib, which is not installed", "pip install 'yarntune[plots]'"
        ) from None
    # The same picture for the same workloads: no date, and ids that do not change.
    with matplotlib.rc_context({"svg.hashsalt": "yarntune", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(9.0, 4.6), layout="constrained")
        axes: dict[str, Any] = figure.subplot_mosaic("AAARRR;aabbcc")
        for colour, (name, workload) in zip(_COLOURS, workloads.items(), strict=False):
            _over_time(axes["A"], axes["R"], workload, name, colour)
            found = samples(workload)
            for key, (what, title) in zip("abc", _PANELS, strict=True):
                _distribution(axes[key], found[what], title, colour)
        axes["A"].legend(frameon=False)
        data = BytesIO()
        figure.savefig(data, format="svg", metadata={"Date": None})
    write_bytes_atomically(path, data.getvalue())


def main(folder: Path) -> None:
    """``python -m workloads.plots FOLDER``: a picture of each sample beside a workload synthesized from it."""
    from workloads.samples import SAMPLES, generate
    from workloads.synthesize import profile_of, synthesize

    for name, sample in SAMPLES.items():
        original = generate(name, sample)
        drawn = {name: original, f"synthesized from {name}": synthesize(profile_of(original), name, seed=1)}
        draw_workloads(drawn, folder / f"{name}.svg")


def _over_time(arrivals: Any, running: Any, workload: Workload, name: str, colour: str) -> None:
    start_s, end_s = workload.span_s
    edges = np.linspace(start_s, max(end_s, start_s + 1), _BINS + 1)
    hours = (edges - start_s) / 3600
    submits = [job.submit_s for job in workload.jobs]
    per_hour = np.histogram(submits, edges)[0] / ((edges[1] - edges[0]) / 3600)
    arrivals.stairs(per_hour, hours, color=colour, label=name)
    arrivals.set(title="jobs submitted an hour", xlabel="hours", ylim=(0, None))
    tasks = workload.tasks
    begin = tasks.submit_s + np.nan_to_num(tasks.wait_s)
    # The mean over each step, so that no short task falls between two looks.
    held_s = [float((tasks.count * np.clip(edge - begin, 0.0, tasks.duration_s)).sum()) for edge in edges]
    running.stairs(np.diff(held_s) / np.diff(edges), hours, color=colour)
    running.set(title="tasks that run, without waits", xlabel="hours", ylim=(0, None))


def _distribution(axes: Any, values: NDArray[np.float64], title: str, colour: str) -> None:
    shares = np.linspace(0.0, 1.0, _POINTS)
    quantiles = np.quantile(values, shares) if len(values) else np.zeros(_POINTS)
    axes.plot(np.maximum(quantiles, 1e-3), shares, color=colour)
    axes.set(xscale="log", title=title, ylabel="cumulative share", ylim=(0, 1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
