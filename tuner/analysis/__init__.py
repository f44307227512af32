"""What an event log says: findings with evidence, and a configuration that follows from them."""

from tuner.analysis.analysis import Analysis, analyze
from tuner.analysis.model import Change, Finding, Observation, Severity, Unjudged
from tuner.analysis.registry import HEURISTICS, Heuristic, Need
from tuner.analysis.report import configuration_text, properties_header, report_json, report_text
from tuner.analysis.thresholds import THRESHOLDS, Threshold

__all__ = [
    "HEURISTICS",
    "THRESHOLDS",
    "Analysis",
    "Change",
    "Finding",
    "Heuristic",
    "Need",
    "Observation",
    "Severity",
    "Threshold",
    "Unjudged",
    "analyze",
    "configuration_text",
    "properties_header",
    "report_json",
    "report_text",
]
