"""Every error that a user can meet, as one tree.

::

    QuorateError
    ├── InputError              something that was handed in is wrong
    │   ├── FileError           … in a file: names file, place, value and the way out
    │   ├── SpecError           … in a campaign, an instance or an option
    │   └── AnswerError         … in an answer that was told
    ├── TooFewWorkerClasses     the estimator cannot identify what it is asked for
    ├── LifecycleError          the campaign is not in a state for this call
    ├── StoreError              the store cannot do its work
    │   ├── StoreLocked         another process holds it
    │   ├── StoreDamaged        a row does not match its checksum: names table and row
    │   ├── StoreVersion        written by another version of Quorate
    │   └── StoreFull           no room left: stop before money is spent
    ├── PlatformError           a platform refused or broke its word
    └── MissingExtra            an optional dependency is not installed

Each says what was wrong, with which value, and — as ``hint`` — what to do about it.
"""

from __future__ import annotations


class QuorateError(Exception):
    """The root: ``str(error)`` is what was wrong, ``error.hint`` the way out."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_dict(self) -> dict[str, str]:
        """The three parts, as the command line's ``--json`` and HTTP show them."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class InputError(QuorateError):
    """Something that was handed in is wrong; nothing was changed."""

    code = "input"
    exit_code = 2


class FileError(InputError):
    """A file is wrong at a named place."""

    code = "file"


class SpecError(InputError):
    """A campaign, an instance or an option is wrong."""

    code = "spec"


class AnswerError(InputError):
    """An answer that was told does not fit any ask, or carries a label that does not exist."""

    code = "answer"


class TooFewWorkerClasses(InputError):
    """The accuracies cannot be identified from this few classes and answers."""

    code = "too-few-classes"


class LifecycleError(QuorateError):
    """The campaign is closed, paused or finished, and the call needs it otherwise."""

    code = "lifecycle"
    exit_code = 3


class StoreError(QuorateError):
    """The store cannot do its work; what it had acknowledged is safe."""

    code = "store"
    exit_code = 4


class StoreLocked(StoreError):
    """Another process has this store open for buying."""

    code = "store-locked"


class StoreDamaged(StoreError):
    """A row does not match its checksum, or a row is missing."""

    code = "store-damaged"


class StoreVersion(StoreError):
    """The store was written by another version of Quorate."""

    code = "store-version"


class StoreFull(StoreError):
    """There is no room to record what would be bought, so nothing is bought."""

    code = "store-full"


class PlatformError(QuorateError):
    """A platform refused an ask, or broke its word."""

    code = "platform"
    exit_code = 5


class MissingExtra(QuorateError):
    """An optional dependency is not installed."""

    code = "missing-extra"
    exit_code = 6

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the extra '{extra}', which is not installed.",
            hint=f"Install it with: pip install 'quorate[{extra}]'",
        )
