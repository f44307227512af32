"""Configurations that are wrong in one way each, what finds it, and what a real ResourceManager 3.5 says to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PREFIX = "yarn.scheduler.capacity."

# What the embedded cluster starts with.
LIVE = {
    f"{PREFIX}root.queues": "default",
    f"{PREFIX}root.default.capacity": "100",
    f"{PREFIX}maximum-am-resource-percent": "0.5",
    f"{PREFIX}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
}
_TWO = {"root.queues": "default,a", "root.default.capacity": "60", "root.a.capacity": "40"}
_WEIGHTS = {**_TWO, "root.default.capacity": "3w", "root.a.capacity": "1w"}
_NESTED = {**_TWO, "root.a.queues": "x,y", "root.a.x.capacity": "50", "root.a.y.capacity": "50"}
_AMOUNTS = {**_TWO, "root.default.capacity": "[memory=2048,vcores=2]", "root.a.capacity": "[memory=2048,vcores=2]"}
_AMOUNTS_NESTED = {
    **_AMOUNTS,
    "root.a.queues": "x,y",
    "root.a.x.capacity": "[memory=1024,vcores=1]",
    "root.a.y.capacity": "[memory=1024,vcores=1]",
}
_LABEL = {"root.accessible-node-labels.gpu.capacity": "100", "root.a.accessible-node-labels": "gpu"}

RM = Literal["takes", "refuses"]


@dataclass(frozen=True)
class Case:
    """One configuration, to which the running one is changed."""

    name: str
    rule: str | None
    rm: RM
    base: dict[str, str]
    changes: dict[str, str] = field(default_factory=dict)

    def properties(self) -> dict[str, str]:
        live = {name: value for name, value in LIVE.items() if not name.startswith(f"{PREFIX}root.")}
        given = {**self.base, **self.changes}
        return {
            **live,
            **{name if name.startswith("yarn.") else PREFIX + name: value for name, value in given.items()},
        }


def _case(rule: str | None, rm: RM, base: dict[str, str], changes: dict[str, str] | None = None) -> Case:
    shown = ",".join(f"{name}={value}" for name, value in (changes or base).items())
    return Case(f"{rule or 'fine'}:{shown}", rule, rm, base, changes or {})


CASES: tuple[Case, ...] = (
    _case(None, "takes", _TWO),
    _case(None, "takes", _WEIGHTS),
    _case(None, "takes", _NESTED),
    _case(None, "takes", _AMOUNTS_NESTED),
    _case(None, "takes", _TWO, {"root.a.capacity": " 40 "}),
    _case(None, "takes", _TWO, {"root.a.maximum-capacity": "-1"}),
    _case(None, "takes", _TWO, {"root.a.capacity": "39.96"}),
    _case(None, "takes", _TWO, {"root.a.state": "stopped"}),
    _case(None, "takes", _TWO, {"root.a.user-limit-factor": "-1"}),
    _case(
        None,
        "takes",
        _TWO,
        {"root.a.maximum-application-lifetime": "100", "root.a.default-application-lifetime": "50"},
    ),
    _case(None, "takes", _TWO, {"root.a.ordering-policy": "fair"}),
    _case(None, "takes", _TWO, {"root.ordering-policy": "priority-utilization", "root.a.priority": "2"}),
    _case(None, "takes", _TWO, {**_LABEL, "root.a.accessible-node-labels.gpu.capacity": "100"}),
    _case(
        None,
        "takes",
        _NESTED,
        {
            **_LABEL,
            "root.a.accessible-node-labels.gpu.capacity": "100",
            "root.a.x.accessible-node-labels.gpu.capacity": "30",
            "root.a.y.accessible-node-labels.gpu.capacity": "70",
        },
    ),
    _case(None, "takes", _TWO, {"root.a.auto-create-child-queue.enabled": "true"}),
    _case(None, "takes", _WEIGHTS, {"root.a.auto-queue-creation-v2.enabled": "true"}),
    _case(None, "takes", _TWO, {"queue-mappings": "u:bob:a, g:eng:root.default"}),
    _case(None, "takes", _NESTED, {"queue-mappings": "u:%user:root.a.%user"}),
    _case(None, "takes", _TWO, {"root.a.auto-create-child-queue.enabled": "true", "queue-mappings": "u:bob:a.new"}),
    _case(None, "takes", _TWO, {"root.a.minimum-user-limit-percent": "25", "root.a.user-settings.bob.weight": "4"}),
    _case("unreadable-value", "refuses", _TWO, {"root.a.capacity": "40%"}),
    _case("unreadable-value", "refuses", _TWO, {"root.a.capacity": "abc"}),
    _case("unreadable-value", "takes", _TWO, {"root.a.capacity": "NaN"}),
    _case("unreadable-value", "takes", _AMOUNTS, {"root.a.capacity": "[memory=2g,vcores=2]"}),
    _case("unreadable-value", "takes", _AMOUNTS, {"root.a.capacity": "[vcores=2]"}),
    _case("unreadable-value", "refuses", _TWO, {"root.a.state": "PAUSED"}),
    _case("unreadable-value", "refuses", _TWO, {"root.a.state": "DRAINING"}),
    _case("unreadable-value", "refuses", _TWO, {"root.a.user-limit-factor": "x"}),
    _case("unreadable-value", "refuses", _TWO, {"root.a.maximum-applications": "x"}),
    _case("unreadable-value", "takes", _TWO, {"root.a.disable_preemption": "maybe"}),
    _case(
        "unreadable-value",
        "refuses",
        _TWO,
        {"root.a.auto-create-child-queue.enabled": "true", "root.a.leaf-queue-template.capacity": "x"},
    ),
    _case("blank-around-value", "refuses", _WEIGHTS, {"root.a.capacity": "4w "}),
    _case("blank-around-value", "refuses", _TWO, {"root.a.state": "RUNNING "}),
    _case("blank-around-value", "refuses", _TWO, {"root.a.max-parallel-apps": " 5 "}),
    _case("unresolved-variable", "takes", _TWO, {"root.a.default-node-label-expression": "${nowhere}"}),
    _case("unknown-property", "takes", _TWO, {"root.a.maximum-capcity": "50"}),
    _case("unknown-property", "takes", _TWO, {"maximum-aplications": "50"}),
    _case("short-queue-name", "takes", _TWO, {"a.maximum-capacity": "50"}),
    _case("invalid-queue-name", "takes", _TWO, {"root.queues": "default,,a"}),
    _case("invalid-queue-name", "takes", _TWO, {"root.queues": "default,a,a"}),
    _case("ambiguous-leaf-name", "takes", _TWO, {"root.a.queues": "default", "root.a.default.capacity": "100"}),
    _case("root-stopped", "takes", _TWO, {"root.state": "STOPPED"}),
    _case("capacity-range", "refuses", _TWO, {"root.a.capacity": "-5"}),
    _case("capacity-range", "refuses", _TWO, {"root.a.capacity": "500"}),
    _case("capacity-range", "refuses", _WEIGHTS, {"root.a.capacity": "20000w"}),
    _case("capacity-range", "takes", _TWO, {"root.a.maximum-capacity": "150"}),
    _case("capacity-range", "refuses", _TWO, {**_LABEL, "root.a.accessible-node-labels.gpu.capacity": "-1"}),
    _case("root-capacity", "takes", _TWO, {"root.capacity": "90"}),
    _case("maximum-below-capacity", "takes", _TWO, {"root.a.maximum-capacity": "10"}),
    _case("maximum-below-capacity", "refuses", _AMOUNTS, {"root.a.maximum-capacity": "[memory=1024,vcores=1]"}),
    _case("maximum-is-weight", "refuses", _TWO, {"root.a.maximum-capacity": "8w"}),
    _case(
        "mode-not-in-version",
        "takes",
        _TWO,
        {"root.a.capacity": "[memory=40%,vcores=2w]", "root.default.capacity": "100"},
    ),
    _case("mixed-modes", "refuses", _TWO, {"root.a.capacity": "1w"}),
    _case("mixed-modes", "takes", _TWO, {"root.a.capacity": "[memory=2048,vcores=2]"}),
    _case("mixed-modes", "refuses", _AMOUNTS_NESTED, {"root.a.x.capacity": "50", "root.a.y.capacity": "50"}),
    _case("sibling-sum", "refuses", _TWO, {"root.a.capacity": "50"}),
    _case("sibling-sum", "refuses", _TWO, {"root.a.capacity": "39.94"}),
    _case("sibling-sum", "refuses", _NESTED, {"root.a.y.capacity": "40"}),
    _case("sibling-sum", "refuses", _NESTED, {"root.a.x.capacity": "0", "root.a.y.capacity": "0"}),
    _case("sibling-sum", "refuses", _NESTED, {"root.a.capacity": "0", "root.default.capacity": "100"}),
    _case("sibling-sum", "refuses", _TWO, {**_LABEL, "root.a.accessible-node-labels.gpu.capacity": "50"}),
    _case("sibling-sum", "refuses", _TWO, {"root.accessible-node-labels.gpu.capacity": "100"}),
    _case("sibling-sum", "takes", _TWO, {"legacy-queue-mode.enabled": "false", "root.a.capacity": "90"}),
    _case("capacity-not-set", "takes", {"root.queues": "default,a", "root.default.capacity": "100"}),
    _case("absolute-sum", "refuses", _AMOUNTS_NESTED, {"root.a.x.capacity": "[memory=2000,vcores=1]"}),
    _case(
        "absolute-sum",
        "refuses",
        _AMOUNTS_NESTED,
        {
            "root.a.maximum-capacity": "[memory=3072,vcores=3]",
            "root.a.x.maximum-capacity": "[memory=4096,vcores=4]",
        },
    ),
    _case(
        "label-without-parent",
        "takes",
        _TWO,
        {"root.a.accessible-node-labels": "gpu", "root.a.accessible-node-labels.gpu.capacity": "100"},
    ),
    _case(
        "label-not-accessible",
        "takes",
        _TWO,
        {**_LABEL, "root.a.accessible-node-labels": "", "root.a.accessible-node-labels.gpu.capacity": "100"},
    ),
    _case(
        "label-not-in-parent",
        "refuses",
        _NESTED,
        {"root.a.accessible-node-labels": "gpu", "root.a.x.accessible-node-labels": "gpu,ssd"},
    ),
    _case(
        "label-not-in-parent",
        "refuses",
        _TWO,
        {"root.a.accessible-node-labels": "ssd", "root.a.default-node-label-expression": "gpu"},
    ),
    _case("absolute-over-cluster", "takes", _AMOUNTS, {"root.a.capacity": "[memory=1048576,vcores=2]"}),
    _case("rounds-to-no-core", "takes", _TWO, {"root.default.capacity": "95", "root.a.capacity": "5"}),
    _case("below-smallest-container", "takes", _TWO, {"root.default.capacity": "95", "root.a.capacity": "5"}),
    _case("refuses-applications", "takes", _TWO, {"root.default.capacity": "100", "root.a.capacity": "0"}),
    _case("refuses-applications", "takes", _WEIGHTS, {"root.default.capacity": "0w", "root.a.capacity": "0w"}),
    _case("user-limit-factor", "takes", _TWO, {"root.a.user-limit-factor": "0"}),
    _case("user-limit-factor", "takes", _TWO, {"user-limit-factor": "-2"}),
    _case("minimum-user-limit-percent", "takes", _TWO, {"root.a.minimum-user-limit-percent": "0"}),
    _case("minimum-user-limit-percent", "takes", _TWO, {"root.a.minimum-user-limit-percent": "150"}),
    _case("am-resource-percent", "takes", _TWO, {"root.a.maximum-am-resource-percent": "2"}),
    _case("am-resource-percent", "takes", _TWO, {"maximum-am-resource-percent": "0"}),
    _case("no-applications", "takes", _TWO, {"root.a.max-parallel-apps": "0"}),
    _case("no-applications", "takes", _TWO, {"root.a.maximum-applications": "0"}),
    _case("user-weight", "refuses", _TWO, {"root.a.user-settings.bob.weight": "2"}),
    _case("user-weight", "takes", _TWO, {"root.a.user-settings.bob.weight": "0"}),
    _case("ordering-policy", "refuses", _TWO, {"root.a.ordering-policy": "bogus"}),
    _case("ordering-policy", "refuses", _TWO, {"root.a.ordering-policy": "priority-utilization"}),
    _case("ordering-policy", "refuses", _TWO, {"root.ordering-policy": "fair"}),
    _case(
        "ordering-policy",
        "refuses",
        _TWO,
        {"root.a.auto-create-child-queue.enabled": "true", "root.a.ordering-policy": "fair"},
    ),
    _case("size-based-weight", "takes", _TWO, {"root.a.ordering-policy.fair.enable-size-based-weight": "true"}),
    _case("priority-without-effect", "takes", _TWO, {"root.a.priority": "2"}),
    _case("running-under-stopped", "refuses", _NESTED, {"root.a.state": "STOPPED", "root.a.x.state": "RUNNING"}),
    _case("maximum-allocation", "refuses", _TWO, {"root.a.maximum-allocation-mb": "16384"}),
    _case("maximum-allocation", "refuses", _TWO, {"root.a.maximum-allocation": "memory-mb=16096,vcores=4"}),
    _case("allocation-bounds", "refuses", _TWO, {"yarn.scheduler.minimum-allocation-mb": "16384"}),
    _case(
        "application-lifetime",
        "refuses",
        _NESTED,
        {"root.a.maximum-application-lifetime": "100", "root.a.x.default-application-lifetime": "500"},
    ),
    _case("queue-mapping", "refuses", _TWO, {"queue-mappings": "u:bob"}),
    _case("queue-mapping", "refuses", _TWO, {"queue-mappings": "x:bob:a"}),
    _case("queue-mapping", "refuses", _TWO, {"queue-mappings": "u:bob:nope"}),
    _case("queue-mapping", "refuses", _NESTED, {"queue-mappings": "u:bob:root.a"}),
    _case("queue-mapping", "refuses", _NESTED, {"queue-mappings": "u:%user:root.default.%user"}),
    _case(
        "queue-mapping",
        "refuses",
        _TWO,
        {"root.a.queues": "default", "root.a.default.capacity": "100", "queue-mappings": "u:bob:default"},
    ),
    _case("mapping-format", "refuses", _TWO, {"mapping-rule-format": "xml"}),
    _case("leaf-became-parent", "refuses", _TWO, {"root.default.reservable": "true"}),
    _case("ordering-policy", "refuses", _NESTED, {"root.a.ordering-policy": "fifo"}),
    _case("reservable-parent", "refuses", _TWO, {"root.reservable": "true"}),
    _case("auto-creation", "takes", _NESTED, {"root.a.auto-create-child-queue.enabled": "true"}),
    _case("deleted-while-running", "refuses", {"root.queues": "a", "root.a.capacity": "100"}),
    _case("leaf-became-parent", "refuses", _TWO, {"root.default.queues": "x", "root.default.x.capacity": "100"}),
    _case("leaf-became-parent", "refuses", _WEIGHTS, {"root.default.auto-queue-creation-v2.enabled": "true"}),
    _case("auto-creation-converted", "refuses", _TWO, {"root.auto-create-child-queue.enabled": "true"}),
    _case("maximum-allocation-lowered", "refuses", _TWO, {"root.default.maximum-allocation-mb": "4096"}),
    _case(
        "maximum-allocation-lowered", "refuses", _TWO, {"root.default.maximum-allocation": "memory-mb=4096,vcores=4"}
    ),
    _case("needs-restart", "takes", _TWO, {"schedule-asynchronously.enable": "false"}),
    _case(
        "needs-restart",
        "takes",
        _TWO,
        {"resource-calculator": "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"},
    ),
    _case("legacy-mode-changed", "takes", _TWO, {"legacy-queue-mode.enabled": "false"}),
)
