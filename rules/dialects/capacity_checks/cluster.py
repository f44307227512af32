"""What a configuration comes to on the cluster at hand."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from rules.dialects.capacity import queue_property
from rules.dialects.capacity_checks.context import Context, Hit
from rules.dialects.capacity_properties import PREFIX
from rules.dialects.capacity_values import format_number
from rules.model import ROOT, CapacityMode, Resources

_PERCENT, _WEIGHT = CapacityMode.PERCENT, CapacityMode.WEIGHT


def absolute_over_cluster(context: Context) -> Iterator[Hit]:
    """Absolute amounts that the cluster does not have are scaled down."""
    if context.cluster is None:
        return
    children = context.tree.children(ROOT)
    total = sum((child.capacity.resources for child in children), Resources())
    if not total.fits_in(context.cluster):
        message = f"the queues below root are promised {total}, more than the cluster's {context.cluster}"
        yield Hit(ROOT, None, f"{message}; each will get less than is written")


def _shares_of_cluster(context: Context) -> dict[str, Fraction]:
    """The fraction of the cluster that is guaranteed to each queue, where percentages or weights say it."""
    shares = {ROOT: Fraction(1)}
    for parent in context.tree:
        if parent.path not in shares:
            continue
        children = context.tree.children(parent.path)
        weights = sum(Fraction(child.capacity.value) for child in children if child.capacity.mode is _WEIGHT)
        for child in children:
            value = Fraction(child.capacity.value)
            if child.capacity.mode is _PERCENT:
                shares[child.path] = shares[parent.path] * value / 100
            elif child.capacity.mode is _WEIGHT:
                shares[child.path] = shares[parent.path] * value / weights if weights else Fraction(0)
    return shares


def rounds_to_no_core(context: Context) -> Iterator[Hit]:
    """A guarantee below one vcore is cut to none, and the queue is then preempted for nothing (YARN-11073)."""
    if context.cluster is None or not context.cluster.vcores or not context.counts_vcores:
        return
    for path, share in _shares_of_cluster(context).items():
        vcores = share * context.cluster.vcores
        if 0 < vcores < 1:
            least = format_number(ceil(100_000 / context.cluster.vcores) / 1000)
            full = queue_property(path, "capacity")
            message = f"{path} is guaranteed {float(vcores):.3g} of {context.cluster.vcores} vcores, which is cut to 0"
            yield Hit(path, full, f"{message}; give it {least} % of the cluster at least")


def below_smallest_container(context: Context) -> Iterator[Hit]:
    """A guarantee that not one container fits in."""
    smallest = context.value("yarn.scheduler.minimum-allocation-mb")
    if context.cluster is None or not smallest.isdigit():
        return
    for path, share in _shares_of_cluster(context).items():
        memory_mib = int(share * context.cluster.memory_mib)
        if share > 0 and memory_mib < int(smallest):
            full = queue_property(path, "capacity")
            message = f"{path} is guaranteed {memory_mib} MiB, less than the smallest container ({smallest} MiB)"
            yield Hit(path, full, f"{message}; give it more, or lower yarn.scheduler.minimum-allocation-mb")


def refuses_applications(context: Context) -> Iterator[Hit]:
    """The number of applications that a leaf takes follows its share, so that a small one takes none."""
    total = context.value(f"{PREFIX}maximum-applications")
    if not total.isdigit() or context.value(f"{PREFIX}global-queue-max-application"):
        return
    shares = _shares_of_cluster(context)
    for leaf in context.tree.leaves():
        has_limit = bool(leaf.properties.get("maximum-applications")) or context.acts_as_parent(leaf)
        has_labels = any(shares.capacity.value > 0 for label, shares in leaf.capacities.items() if label)
        if has_limit or has_labels or leaf.path not in shares:
            continue
        if shares[leaf.path] * int(total) < 1:
            full = queue_property(leaf.path, "maximum-applications")
            message = f"{leaf.path} takes no application: its share of the {total} allowed in all is below 1"
            yield Hit(leaf.path, full, f"{message}; give it a capacity, or set {full}")
