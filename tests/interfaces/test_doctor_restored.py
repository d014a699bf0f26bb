"""A backup put back is refused until somebody says that it was meant; then the campaign goes on."""

import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"m{j},mail {j}\n" for j in range(30)))
    return tmp_path


def quorate(folder, *arguments):
    command = [sys.executable, "-m", "quorate", *arguments]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)


def test_a_backup_goes_on_when_it_is_owned_up_to(folder):
    begun = quorate(
        folder, "init", "--labels", "ham,spam", "--budget", "0.9 USD", "--class", "crowd=0.02", "--policy", "votes-3"
    )
    assert begun.returncode == 0, begun.stderr
    assert quorate(folder, "run").returncode == 0
    store = next(folder.glob("*.db"))
    shutil.copy(store, folder / "backup")
    assert quorate(folder, "budget", "campaign.toml", "5 USD").returncode == 0
    assert quorate(folder, "run").returncode == 0
    shutil.copy(folder / "backup", store)

    refused = quorate(folder, "run")
    assert refused.returncode == 4
    assert "quorate doctor --restored" in refused.stderr
    assert "Traceback" not in refused.stderr

    owned = quorate(folder, "doctor", "--restored")
    assert "put back from a backup" in owned.stdout
    assert quorate(folder, "budget", "campaign.toml", "5 USD").returncode == 0  # the backup is older than the new one
    again = quorate(folder, "run")
    assert again.returncode == 0, again.stderr
    assert "30 of 30 items labelled" in again.stdout
