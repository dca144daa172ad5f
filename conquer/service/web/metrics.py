"""Counters and gauges in Prometheus's text format."""

from bisect import bisect_left
from collections import Counter as Counted
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from conquer.service.errors import Kind, RefusalError
from conquer.service.model.schemas import AnswerReply, ChooseReply

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Meters:
    """One server's metrics. Every answer sent is counted once, with the reason where there is one.

    It was learnt, repeat (said before), ignored, refused, or indeterminate: whether it was learnt is not known.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._often = _Often()
        self.registry.register(self._often)
        self.waiting = Gauge("conquer_queue", "Requests waiting for the engine.", registry=self.registry)
        self.commits = Gauge("conquer_commits", "Commits since the start.", registry=self.registry)
        self.models = Gauge("conquer_models_in_memory", "Models in memory.", registry=self.registry)
        self.model_bytes = Gauge("conquer_model_bytes", "Bytes of models in memory.", registry=self.registry)
        self.store_bytes = Gauge("conquer_store_bytes", "Bytes of the store on disk.", registry=self.registry)
        self.flight = Gauge("conquer_flight_bytes", "Bytes of large requests and replies.", registry=self.registry)
        self.connections = Gauge("conquer_connections", "Open connections.", registry=self.registry)
        self.quarantined = Gauge(
            "conquer_quarantined_rows", "Rows of models in memory that could not be read.", registry=self.registry
        )
        self.alarms = Gauge("conquer_alarms", "Alarms that stand, by kind.", ["kind"], registry=self.registry)
        self.failures = Counter("conquer_job_failures", "Failures in the background.", ["job"], registry=self.registry)
        self._failed: dict[str, int] = {}

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        often = self._often
        often.requests[method, path, status] += 1
        buckets, total = often.seconds[path]
        buckets[bisect_left(_BUCKETS, seconds)] += 1
        total[0] += seconds

    def answer(self, model: str, reply: AnswerReply) -> None:
        self._often.answers[model, reply.status, reply.reason or ""] += 1

    def refused(self, model: str, outcome: str, code: str, times: int = 1) -> None:
        """Answers that were not carried out (`refused`), or perhaps were (`indeterminate`)."""
        self._often.answers[model, outcome, code] += times

    def choice(self, model: str, query: str) -> None:
        self._often.choices[model, query] += 1

    def chosen_batch(self, model: str, queries: Mapping[str, int]) -> None:
        """The choices of a batch, by what was asked."""
        for query, times in queries.items():
            self._often.choices[model, query] += times

    def answered_batch(self, model: str, outcomes: Mapping[tuple[str, str], int]) -> None:
        """Every answer of a batch, by what became of it."""
        for (outcome, reason), times in outcomes.items():
            self._often.answers[model, outcome, reason] += times

    def forget(self, model: str) -> None:
        """A deleted model's counters go with it."""
        for counts in (self._often.answers, self._often.choices):
            for labels in [labels for labels in counts if labels[0] == model]:
                del counts[labels]

    def standing(self, alarms: Iterable[str], failures: Mapping[str, int]) -> None:
        """The kinds of the alarms that stand, without their subjects, and how often each job has failed."""
        self.alarms.clear()
        for kind, times in Counted(kind.partition(":")[0] for kind in alarms).items():
            self.alarms.labels(kind).set(times)
        for job, times in failures.items():
            self.failures.labels(job).inc(times - self._failed.get(job, 0))
            self._failed[job] = times

    def text(self, may_see: Callable[[str], bool]) -> bytes:
        """The metrics, of the models that `may_see` and of none."""
        return generate_latest(_Shown(self.registry, may_see))


def queries(found: Iterable[ChooseReply | RefusalError]) -> dict[str, int]:
    """How many rounds of a batch were decided, by what was asked; refusals are left out."""
    return Counted([one.query for one in found if isinstance(one, ChooseReply)])


def outcomes(found: Iterable[AnswerReply | RefusalError]) -> dict[tuple[str, str], int]:
    """How many answers of a batch were learnt, refused and so on, and for which reason.

    >>> outcomes([AnswerReply("learnt", "e"), RefusalError(Kind.CONFLICT, "answered", "another answer came first")])
    Counter({('learnt', ''): 1, ('refused', 'answered'): 1})
    """
    return Counted(
        [(one.status, one.reason or "") if isinstance(one, AnswerReply) else _not_done(one) for one in found]
    )


def _not_done(refusal: RefusalError) -> tuple[str, str]:
    """Outcome and reason of an answer that was not carried out, or perhaps was."""
    return "indeterminate" if refusal.kind is Kind.INDETERMINATE else "refused", refusal.code


class _Often(Collector):
    """What every request counts, on the event loop alone: plain numbers, made into metrics when somebody reads them."""

    def __init__(self) -> None:
        self.requests: Counted[tuple[str, str, int]] = Counted()
        self.answers: Counted[tuple[str, str, str]] = Counted()
        self.choices: Counted[tuple[str, str]] = Counted()
        self.seconds: defaultdict[str, tuple[list[int], list[float]]] = defaultdict(
            lambda: ([0] * (len(_BUCKETS) + 1), [0.0])
        )

    def collect(self) -> Iterator[Metric]:
        counted: tuple[tuple[str, str, tuple[str, ...], Counted[Any]], ...] = (
            ("conquer_requests", "Requests by route and status.", ("method", "path", "status"), self.requests),
            ("conquer_answers", "Answers sent, by what became of them.", ("model", "outcome", "reason"), self.answers),
            ("conquer_choices", "Rounds decided.", ("model", "query"), self.choices),
        )
        for name, about, labels, counts in counted:
            family = CounterMetricFamily(name, about, labels=labels)
            for values, count in list(counts.items()):
                family.add_metric([str(value) for value in values], count)
            yield family
        seconds = HistogramMetricFamily("conquer_request_seconds", "Time to reply.", labels=("path",))
        bounds = [*map(floatToGoString, _BUCKETS), "+Inf"]
        for path, (buckets, total) in list(self.seconds.items()):
            seconds.add_metric((path,), list(zip(bounds, accumulate(buckets), strict=True)), total[0])
        yield seconds


class _Shown(CollectorRegistry):
    """A registry with what one reader may not see left out."""

    def __init__(self, whole: CollectorRegistry, may_see: Callable[[str], bool]) -> None:
        super().__init__()
        self._whole, self._may_see = whole, may_see

    def collect(self) -> Iterator[Metric]:
        for family in self._whole.collect():
            family.samples = [one for one in family.samples if self._shown(one.labels.get("model"))]
            yield family

    def _shown(self, model: str | None) -> bool:
        return not model or self._may_see(model)
