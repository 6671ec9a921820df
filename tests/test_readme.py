"""The README says what is."""

from __future__ import annotations

import re
from pathlib import Path

from tests.readme import README, with_table

_ROOT = README.parent


def test_its_key_table_is_that_of_the_bindings() -> None:
    text = README.read_text()
    assert with_table(text) == text, "run: python -m tests.readme"


def test_the_pictures_and_files_it_names_are_there() -> None:
    text = README.read_text()
    for picture in re.findall(r"\]\(([^)#]+)\)", text):
        assert (_ROOT / picture).is_file(), picture
    for file in re.findall(r"`((?:tui_agent|tests|styles)/[\w/]+\.(?:py|sh|tcss))`", text):
        assert Path(_ROOT / file).is_file(), file
