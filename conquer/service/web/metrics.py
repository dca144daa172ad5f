"""Counters and gauges in Prometheus's text format."""

import re
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, disable_created_metrics
from prometheus_client import generate_latest as text_of
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from conquer.service.alarms import Alarms
from conquer.service.errors import Kind, RefusalError
from conquer.service.model.schemas import AnswerReply, ChooseReply

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_REQUEST, _ANSWER = ("method", "path", "status"), ("model", "outcome", "reason")
_MODEL = re.compile(r'[{,]model="([^"]+)"').search
"""The model of a line; its name needs no escapes."""
disable_created_metrics()


class Meters(Collector):
    """One server's metrics. Every answer sent is counted once, with the reason where there is one.

    It was learnt, repeat (the same as before), ignored, refused, or indeterminate: whether it was learnt is unknown.
    `gauges`: (name, help, function) of numbers that are read when the metrics are.
    """

    def __init__(self, alarms: Alarms, gauges: Iterable[tuple[str, str, Callable[[], float]]] = ()) -> None:
        self._alarms, self._registry = alarms, CollectorRegistry()
        registry = self._registry
        self._requests = Counter("conquer_requests", "Requests by route and status.", _REQUEST, registry=registry)
        self._seconds = Histogram(
            "conquer_request_seconds", "Time to reply.", ["path"], registry=registry, buckets=_BUCKETS
        )
        self._answers = Counter("conquer_answers", "Answers sent, by outcome.", _ANSWER, registry=registry)
        self._choices = Counter("conquer_choices", "Rounds decided.", ["model", "query"], registry=registry)
        # Looking a line up takes ten times as long as counting.
        self._count_of, self._time_of = cache(self._requests.labels), cache(self._seconds.labels)
        self._answered, self._chosen = cache(self._answers.labels), cache(self._choices.labels)
        registry.register(self)
        for name, about, read in gauges:
            Gauge(name, about, registry=registry).set_function(read)

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        self._count_of(method, path, status).inc()
        self._time_of(path).observe(seconds)

    def answered(self, model: str, found: Iterable[AnswerReply | RefusalError]) -> None:
        """Count answers by outcome."""
        for one in found:
            if isinstance(one, AnswerReply):
                self._answered(model, one.status, one.reason or "").inc()
            else:
                self.refused(model, one)

    def refused(self, model: str, refusal: RefusalError, times: int = 1) -> None:
        """Count answers that were not carried out, or perhaps were."""
        outcome = "indeterminate" if refusal.kind is Kind.INDETERMINATE else "refused"
        self._answered(model, outcome, refusal.code).inc(times)

    def chosen(self, model: str, found: Iterable[ChooseReply | RefusalError]) -> None:
        """Count rounds by what was asked; refusals are left out."""
        for one in found:
            if isinstance(one, ChooseReply):
                self._chosen(model, one.query).inc()

    def forget(self, model: str) -> None:
        """Drop the counters of a deleted model."""
        for counter in (self._answers, self._choices):
            counter.remove_by_labels({"model": model})
        self._answered.cache_clear()
        self._chosen.cache_clear()

    def text(self, may_see: Callable[[str], bool]) -> bytes:
        """The metrics of the server, and of the models for which `may_see` is true."""
        lines = text_of(self._registry).decode().splitlines(keepends=True)
        named = ((line, _MODEL(line)) for line in lines)
        return "".join(line for line, model in named if model is None or may_see(model[1])).encode()

    def collect(self) -> Iterator[Metric]:
        """Alarms by kind, without their subjects, and failures by job."""
        kinds = GaugeMetricFamily("conquer_alarms", "Alarms, by kind.", labels=["kind"])
        for kind, times in Counts(kind.partition(":")[0] for kind, _ in self._alarms.standing()).items():
            kinds.add_metric([kind], times)
        jobs = CounterMetricFamily("conquer_job_failures", "Failures in the background.", labels=["job"])
        for job, times in self._alarms.failures().items():
            jobs.add_metric([job], times)
        yield from (kinds, jobs)
