"""The names a package needs to add an algorithm, a judge, an encoder or a reader.

These names are stable. A package offers its objects through entry points; `docs/extending.md` has an example.
"""

from conquer.learners.algorithm import Algorithm, Parameter, Published, Values, grid
from conquer.policies import ALWAYS, CONFIDENT, GREEDY, RELATIVE_UCB, THOMPSON, UCB, UNIFORM, WORST, Policy
from conquer.registry import bounded, family
from conquer.rivals.learner import Method, MethodBuilder, Pick, Rival, drawn, duel, finite
from conquer.rows import SparseRows, as_rows
from conquer.tickets import Draws, draw_ticket
from conquer.types import Choice, Floats, Judge, Learner, Model, Query


def rule(name: str, description: str, policy: Policy) -> Algorithm:
    """An algorithm that is a policy over CONQUER's models, with their parameters, files and grid.

    >>> ung = rule("ung", "UCB and Greedy", Policy(first=UCB, second=GREEDY, eta=0.1))
    >>> ung.build(3).name, ung.grid[0]
    ('ung', {'eta': 0.01, 'lam': 0.3})
    """
    return family(name, description, policy) if policy.eta is None else bounded(name, description, policy)


def rival(
    name: str,
    description: str,
    build: MethodBuilder,
    parameters: tuple[Parameter, ...] = (),
    points: tuple[Values, ...] = ({},),
    models: tuple[str, ...] = ("diagonal",),
) -> Algorithm:
    """An algorithm with its own state: `build(dim, model, values)` makes its `Method`.

    `points` is the grid on which studies tune it; `models` are the values that model= may take, default first.

    >>> from conquer.rivals.contextual.gradient import PreferencePerceptron
    >>> row = rival("mine", "A perceptron on duels", lambda dim, model, values: PreferencePerceptron(dim))
    >>> row.build(3).parameters
    {'model': 'diagonal'}
    """

    def built(name: str, dim: int, model: str, values: Values) -> Learner:
        return Rival(build(dim, model, values), dim=dim, name=name, parameters={"model": model, **values})

    return Algorithm(name, description, built, parameters, points, models)


__all__ = [
    "ALWAYS",
    "CONFIDENT",
    "GREEDY",
    "RELATIVE_UCB",
    "THOMPSON",
    "UCB",
    "UNIFORM",
    "WORST",
    "Algorithm",
    "Choice",
    "Draws",
    "Floats",
    "Judge",
    "Learner",
    "Method",
    "MethodBuilder",
    "Model",
    "Parameter",
    "Pick",
    "Policy",
    "Published",
    "Query",
    "Rival",
    "SparseRows",
    "Values",
    "as_rows",
    "draw_ticket",
    "drawn",
    "duel",
    "finite",
    "grid",
    "rival",
    "rule",
]
