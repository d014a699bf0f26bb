"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def _programs() -> Path | None:
    """Where PostgreSQL's programs are: on the path, or where Debian puts the newest."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name), default=None)


def _as_postgres(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command, as user postgres if we are root: initdb refuses root."""
    if os.geteuid() == 0:
        quoted = " ".join(f"'{word}'" for word in command)
        command = ("su", "postgres", "-s", "/bin/sh", "-c", quoted)
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of our own: temporary directory, socket only."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL's programs (initdb, pg_ctl) are not installed")
    if os.geteuid() == 0 and subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
        pytest.skip("PostgreSQL refuses to run as root, and there is no user postgres")
    home = Path(tempfile.mkdtemp(prefix="quorate-pg-"))
    home.chmod(0o777)
    data = home / "data"
    try:
        _as_postgres(
            f"{programs}/initdb", "-D", str(data), "-A", "trust", "-U", "quorate", "-E", "UTF8", "--no-locale"
        )
        options = f"-k {home} -c listen_addresses= -c shared_buffers=64MB"
        _as_postgres(f"{programs}/pg_ctl", "-D", str(data), "-w", "-l", f"{home}/log", "-o", options, "start")
        try:
            yield f"postgresql://quorate@/postgres?host={home}"
        finally:
            _as_postgres(f"{programs}/pg_ctl", "-D", str(data), "-m", "fast", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """The server's database, empty for one test."""
    import psycopg

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("drop schema if exists quorate cascade")
    return postgres_server
