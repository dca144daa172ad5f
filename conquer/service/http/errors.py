"""One exception for everything the service says no to, so that each refusal has a status, a code and a sentence."""


class RefusalError(ValueError):
    """A request that is not carried out; nothing has changed.

    >>> RefusalError(404, "unknown_model", "there is no model 'x'").status
    404
    """

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after
        self.tainted = False
        """Memory may have changed before the refusal: the model must be read again from the store."""


def unknown_model(name: str) -> RefusalError:
    return RefusalError(404, "unknown_model", f"there is no model {name!r}")


def unknown_event(model: str, event: str) -> RefusalError:
    return RefusalError(404, "unknown_event", f"model {model!r} has no event {event!r}")


def invalid(message: str) -> RefusalError:
    return RefusalError(422, "invalid", message)
