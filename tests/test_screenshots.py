"""The pictures of the README are what the program shows: those of some films in CI, all of them with the slow tests."""

from __future__ import annotations

import pytest

from tests.screenshots import FILMS, FOLDER, SIZES, differences, shoot
from tests.support.examples import some


@pytest.mark.parametrize("film", some(FILMS, 3))
@pytest.mark.parametrize(
    "size",
    [pytest.param(size, marks=() if size == (120, 36) else pytest.mark.slow) for size in SIZES],
    ids=str,
)
def test_pictures_have_not_drifted(film: str, size: tuple[int, int]) -> None:
    assert not differences(shoot(film, size), size)


def test_no_picture_is_left_of_a_scene_that_is_gone() -> None:
    names = {path.name for path in FOLDER.glob("*.svg")}
    assert names
    scenes = {name.rsplit("-", 1)[0] for name in names}
    assert names == {f"{scene}-{width}x{height}.svg" for scene in scenes for width, height in SIZES}
