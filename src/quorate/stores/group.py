"""Group commit without a thread of its own: whoever comes first commits for all who wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")


class Task(Generic[Job]):
    """A job on its way through a group commit, and what became of it."""

    __slots__ = ("done", "error", "job", "result", "wake")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.wake = Event()


class GroupCommit(Generic[Job]):
    """Runs jobs one group at a time.  ``execute`` must set ``result`` or ``error`` of every task it is given.

    >>> def execute(tasks):
    ...     for task in tasks:
    ...         task.result = task.job + 1
    >>> GroupCommit(execute).run(41)
    42
    """

    def __init__(self, execute: Callable[[Sequence[Task[Job]]], None]) -> None:
        self._execute = execute
        self._waiting: list[Task[Job]] = []
        self._busy = False
        self._lock = Lock()

    def run(self, job: Job) -> Any:
        """The job's result, once its group is durable; or its error, raised."""
        task = Task(job)
        with self._lock:
            self._waiting.append(task)
            leads = not self._busy
            self._busy = True
        if not leads:
            try:
                task.wake.wait()
            except BaseException:  # Ctrl-C
                self._leave(task)
                raise
        if not task.done:
            self._lead(task)
        if task.error is not None:
            raise task.error
        return task.result

    def _lead(self, own: Task[Job]) -> None:
        with self._lock:
            group, self._waiting = self._waiting, []
        try:
            self._execute(group)
        except BaseException as error:
            for task in group:
                task.error = task.error or error
        finally:
            for task in group:
                task.done = True
            self._hand_over()
            for task in group:
                if task is not own:
                    task.wake.set()

    def _hand_over(self) -> None:
        """Let the first of those who wait lead the next group."""
        with self._lock:
            self._busy = bool(self._waiting)
            if self._busy:
                self._waiting[0].wake.set()

    def _leave(self, task: Task[Job]) -> None:
        """Whoever gives up waiting takes the job along; the lead, if it had just been given it, goes to the next."""
        with self._lock:
            waiting = task in self._waiting
            if waiting:
                self._waiting.remove(task)
        if waiting and task.wake.is_set():
            self._hand_over()
