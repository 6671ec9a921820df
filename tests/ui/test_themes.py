"""What the colours and signs of the screen promise."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from rich.color import ColorSystem
from textual import events
from textual.color import Color
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Input

from tests.support.examples import some
from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.stage import Stage, stage
from tui_agent import events as said
from tui_agent.messages.blocks import text_block, tool_result
from tui_agent.settings.load import load
from tui_agent.settings.rules import SettingsError
from tui_agent.settings.schema import Settings
from tui_agent.ui import answers, own_themes, themes
from tui_agent.ui.answers import GroundTold
from tui_agent.ui.listing import Listing
from tui_agent.ui.over import Over
from tui_agent.ui.theme_list import ThemeScreen

AA = 4.5
"""The least contrast of text that WCAG 2 asks for at level AA."""

HUES = ["primary", "secondary", "accent", "warning", "error", "success"]
TEXTS = [
    *(f"text-{name}" for name in [*HUES, "muted", "disabled"]),
    *("text", "foreground", "foreground-muted", "foreground-disabled", "link-color", *HUES),
]
BACKGROUNDS = ["background", "surface", "panel", "block-hover-background"]

PAIRS = [
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("input-cursor-foreground", "input-cursor-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("screen-selection-foreground", "screen-selection-background"),
    ("footer-foreground", "footer-background"),
    ("footer-key-foreground", "footer-background"),
    ("footer-description-foreground", "footer-background"),
    ("link-color-hover", "link-background-hover"),
    *((f"text-{name}", f"{name}-muted") for name in HUES),
    *(("text", f"{name}-muted") for name in HUES),
    *(("button-color-foreground", name) for name in ["primary", "warning", "error", "success"]),
]


def luminance(color: Color) -> float:
    """Relative luminance as WCAG 2 defines it."""

    def linear(channel: int) -> float:
        value = channel / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two opaque colours, 1 to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def variables(theme: Theme) -> dict[str, str]:
    return {**theme.to_color_system().generate(), **theme.variables}


@pytest.mark.parametrize("theme", [themes.DARK, themes.LIGHT], ids=lambda theme: theme.name)
def test_every_text_colour_can_be_read_on_every_background(theme: Theme) -> None:
    names = variables(theme)
    pairs = [*itertools.product(TEXTS, BACKGROUNDS), *PAIRS]
    found = {
        f"${text} on ${ground}": contrast(
            Color.parse(names[ground]) + Color.parse(names[text]), Color.parse(names[ground])
        )
        for text, ground in pairs
    }
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < AA} == {}


@pytest.mark.parametrize("theme", [themes.DARK, themes.LIGHT], ids=lambda theme: theme.name)
def test_a_terminal_of_256_colours_shows_them_as_legibly(theme: Theme) -> None:
    def shown(colour: Color) -> Color:
        return Color(*colour.rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor())

    names = variables(theme)
    found = {}
    for text, ground in [*itertools.product(TEXTS, BACKGROUNDS), *PAIRS]:
        under = Color.parse(names[ground])
        found[f"${text} on ${ground}"] = contrast(shown(under + Color.parse(names[text])), shown(under))
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < AA} == {}


def test_the_measure_of_contrast_is_the_published_one() -> None:
    assert contrast(Color(255, 255, 255), Color(0, 0, 0)) == 21
    assert round(contrast(Color(119, 119, 119), Color(255, 255, 255)), 2) == 4.48


@pytest.mark.parametrize("set_of", [themes.UNICODE, themes.ASCII], ids=["unicode", "ascii"])
def test_every_glyph_is_one_cell_wide_in_any_locale(set_of: themes.Glyphs) -> None:
    signs = [sign for name in set_of.__struct_fields__ for sign in getattr(set_of, name)]
    assert all(unicodedata.east_asian_width(sign) in ("N", "Na", "H") for sign in signs)
    if set_of is themes.ASCII:
        assert all(sign.isascii() for sign in signs)


def test_the_16_colour_theme_names_only_colours_of_the_palette() -> None:
    named = [themes.ANSI.primary, themes.ANSI.error, themes.ANSI.success, *themes.ANSI.variables.values()]
    assert all(value is not None and value.startswith("ansi_") for value in named)


def test_the_16_colour_theme_draws_nothing_in_black_on_the_terminals_ground() -> None:
    black = {name for name, value in variables(themes.ANSI).items() if value == "ansi_black"}
    assert black == {
        f"{name}-foreground" for name in ("block-cursor", "input-selection", "screen-selection")
    }, "black stands on a colour alone"


async def test_an_app_takes_each_theme(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for name, theme in themes.NAMED.items():
            made.app.looks.show(name)
            await made.settle()
            assert made.app.theme == theme.name and made.app.looks.name == name
        with pytest.raises(ValueError, match="theme 'none'"):
            made.app.looks.show("none")
        assert made.app.theme == themes.ANSI_NAME, "the one before stays"


# --- the screen itself ------------------------------------------------------------------------------------------

UNSEEN = {"cursor-line", "gutter", "cursor-gutter", "matching-bracket"}
"""Styles of a text area that draw nothing here: there are no line numbers."""

DECORATION = re.compile(r"[\s\u2500-\u259f\U0001fb00-\U0001fbff╌╎]*")
"""Lines, bars and borders: what says nothing."""

MARKDOWN = """# Heading

Words with **weight**, `code`, a [link](https://example.org) and *stress*.

- one
- two

> quoted

| a | b |
|---|---|
| 1 | 2 |

```python
def report(rows: list[str]) -> str:
    # a comment
    return f"{len(rows)} rows" if rows is not None else "none"  # 1.5
```
"""


def written(tmp_path: Path, text: str) -> Settings:
    """Settings out of a file, so that a change of another one keeps them."""
    file = tmp_path / "settings.toml"
    file.write_text(text + "\n")
    return load(file)


def drawn(made: Stage) -> dict[tuple[str, str], str]:
    """The colours of every text on the screen, with one text that has them."""
    found: dict[tuple[str, str], str] = {}
    for strip in made.app.screen._compositor.render_strips():
        for text, style, _ in strip:
            if style is None or DECORATION.fullmatch(text) or style.color is None or style.bgcolor is None:
                continue
            pair = (style.color, style.bgcolor)
            if style.reverse:
                pair = (style.bgcolor, style.color)
            assert not style.dim, f"{text!r} is half bright"
            found.setdefault(tuple(part.name for part in pair), text.strip())  # type: ignore[arg-type]
    return found


def hard_to_read(made: Stage) -> dict[str, float]:
    pairs = {
        f"{text!r} {one} on {ground}": contrast(Color.parse(one), Color.parse(ground))
        for (one, ground), text in drawn(made).items()
    }
    return {name: round(ratio, 2) for name, ratio in pairs.items() if ratio < AA}


def fill(session: FakeSession) -> None:
    """A conversation in which everything the transcript draws stands."""
    context = session.context
    conversation(context)
    context.mark_turn("and now")
    context.say("user", text_block("and now"))
    context.say(
        "assistant",
        {"type": "thinking", "thinking": "I wonder", "signature": "s"},
        text_block(MARKDOWN),
        {
            "type": "tool_use",
            "id": "e1",
            "name": "edit_file",
            "input": {"path": "a.py", "old": "x = 1", "new": "y = 2"},
        },
    )
    context.say(
        "user",
        tool_result("e1", "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+y = 2\n", error=True),
        origin="tool",
    )


async def _chat(made: Stage) -> None:
    await made.press("ctrl+o")


async def _card(made: Stage) -> None:
    made.session.begin()
    made.session.ask()
    await made.until(lambda: made.chat.dock.has_keys)


async def _toasts(made: Stage) -> None:
    for severity in ("information", "warning", "error"):
        made.app.notify(f"a toast, {severity}", severity=severity, markup=False)  # type: ignore[arg-type]
    made.session.emit(said.Notice("something failed", "error", "x"), said.Notice("take care", "warning", "x"))
    await made.until(lambda: "a toast, error" in made.text and "take care" in made.text)


async def _draft(made: Stage) -> None:
    await made.type("/re")
    await made.until(lambda: made.chat.completion.is_open)


async def _letters(made: Stage) -> None:
    await made.press("ctrl+x")


async def _selection(made: Stage) -> None:
    await made.type("some words")
    made.chat.composer.select_all()


async def _records(made: Stage) -> None:
    await made.press("f3")
    await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within)


async def _help(made: Stage) -> None:
    await made.press("f1")
    await made.until(lambda: isinstance(made.app.screen, Over))


async def _settings(made: Stage) -> None:
    await made.press("ctrl+x", "comma")
    await made.until(lambda: isinstance(made.app.screen, Listing) and bool(len(made.app.screen.rows)))
    await made.press("down", "down", "down", "down", "down", "down", "enter")


async def _connect(made: Stage) -> None:
    await made.press("ctrl+x", "o")
    await made.until(lambda: isinstance(made.app.screen, Listing))


async def _palette(made: Stage) -> None:
    await made.press("ctrl+p")
    await made.until(lambda: made.app.screen is not made.chat)
    await made.type("set")
    await made.settle()


STATES: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "chat": _chat,
    "card": _card,
    "toasts": _toasts,
    "completion": _draft,
    "letters": _letters,
    "selection": _selection,
    "records": _records,
    "help": _help,
    "settings": _settings,
    "connect": _connect,
    "palette": _palette,
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("state", some(STATES, 2))
async def test_every_text_that_is_drawn_can_be_read(state: str, tmp_path: Path) -> None:
    settings = written(tmp_path, 'theme = "dark"')
    async with stage(tmp_path, size=(120, 50), settings=settings, prepare=fill) as made:
        await STATES[state](made)
        await made.settle()
        for theme in ("dark", "light"):
            made.app.looks.show(theme)
            await made.settle()
            assert len(drawn(made)) >= 3
            assert hard_to_read(made) == {}, theme


@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_every_component_style_can_be_read_on_its_ground(theme: str, tmp_path: Path) -> None:
    settings = written(tmp_path, f'theme = "{theme}"')
    async with stage(tmp_path, size=(160, 50), settings=settings, prepare=fill) as made:
        await _records(made)
        weak = {}
        for screen in made.app.screen_stack:
            for widget in screen.walk_children(Widget, with_self=True):
                for name in widget._get_component_classes():
                    if name.startswith("scrollbar"):
                        continue
                    style = widget.get_visual_style(name)
                    ground = style.background if style.background.a else widget.background_colors[1]
                    ratio = contrast(ground + style.foreground, ground)
                    if ratio < AA and name.split("--")[-1] not in UNSEEN:
                        weak[f"{type(widget).__name__} {name}"] = round(ratio, 2)
        assert weak == {}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "state",
    [
        state
        if state in ("chat", "card", "records", "settings")
        else pytest.param(state, marks=pytest.mark.slow)
        for state in STATES
    ],
)
async def test_with_ascii_signs_every_screen_is_ascii(state: str, tmp_path: Path) -> None:
    settings = written(tmp_path, 'glyphs = "ascii"')
    async with stage(tmp_path, size=(120, 50), settings=settings, prepare=fill) as made:
        await STATES[state](made)
        await made.settle()
        assert made.text.isascii(), {sign for sign in made.text if not sign.isascii()}


async def test_ascii_signs_leave_letters_alone_and_keep_every_column(tmp_path: Path) -> None:
    words = "漢字 é – “quoted” → done … ✓"
    for glyphs in ("unicode", "ascii"):
        settings = Settings(glyphs=glyphs, file=tmp_path / "settings.toml")  # type: ignore[arg-type]
        async with stage(
            tmp_path, settings=settings, prepare=lambda s: conversation(s.context, 1, words)
        ) as made:
            assert {strip.cell_length for strip in made.app.screen._compositor.render_strips()} == {80}
            if glyphs == "ascii":
                assert '漢字 é - "quoted" > done ~ y' in made.text


@pytest.mark.parametrize("name", ["light", "ansi", "nord"])
async def test_a_change_of_theme_draws_what_a_start_with_it_draws(name: str, tmp_path: Path) -> None:
    seen = []
    for first in (name, "dark"):
        settings = Settings(theme=first, file=tmp_path / "settings.toml")
        async with stage(tmp_path, size=(160, 50), settings=settings, prepare=fill) as made:
            await _records(made)
            made.app.looks.show(name)
            await made.settle()
            await made.settle()
            seen.append(drawn_whole(made))
    assert seen[0] == seen[1]


def drawn_whole(made: Stage) -> list[list[tuple[str, str]]]:
    return [
        [(segment.text, str(segment.style)) for segment in Strip(strip).simplify()]
        for strip in made.app.screen._compositor.render_strips()
    ]


async def test_reduced_motion_animates_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, settings=Settings(motion="reduced")) as made:
        assert made.app.animation_level == "none"
        assert not made.chat.composer.cursor_blink


def reversed_texts(made: Stage) -> str:
    strips = made.app.screen._compositor.render_strips()
    return "|".join(
        text for strip in strips for text, style, _ in strip if style is not None and style.reverse
    )


def colours(made: Stage) -> set[str]:
    strips = made.app.screen._compositor.render_strips()
    styles = [style for strip in strips for _, style, _ in strip if style is not None]
    return {part.name for style in styles for part in (style.color, style.bgcolor) if part is not None}


async def test_without_any_colour_what_is_marked_stands_in_reverse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with stage(tmp_path, settings=written(tmp_path, 'theme = "ansi"'), prepare=fill) as made:
        assert colours(made) == {"default"}
        await made.type("draft")
        await made.press("left")
        assert reversed_texts(made).replace("|", "").split() == ["t"], "the cursor"
        made.chat.composer.select_all()
        await made.settle()
        assert "draf" in reversed_texts(made), "a selection"
        await _settings(made)
        await made.until(lambda: isinstance(made.app.focused, Input))
        assert "profiles.claude.model" in reversed_texts(made), "the row under the cursor"
        await made.type("m")
        assert reversed_texts(made).endswith(" "), "the cursor of a line"
        assert colours(made) == {"default"}


@pytest.mark.parametrize("without", [True, False])
async def test_the_chosen_row_of_the_palette_is_marked_without_the_themes_colours(
    without: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if without:
        monkeypatch.setenv("NO_COLOR", "1")
    async with stage(tmp_path, settings=written(tmp_path, 'theme = "ansi"')) as made:
        await made.press("ctrl+p")
        await made.until(lambda: "jump back" in made.text)
        await made.press("down")
        await made.settle()
        assert "❯ jump back" in made.text and made.text.count("❯") == 1
        marked = reversed_texts(made)
        assert "jump back" in marked and "go back to a checkpoint" in marked, "its help is as easy to read"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("state", ["chat", "card", "toasts", "records", "palette"])
async def test_without_colour_every_state_is_said_in_words_or_signs(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    wanted = {
        "chat": ["error", "-x = 1", "+y = 2", "ok"],
        "card": ["1 to answer", "[y] once"],
        "toasts": ["! something failed", "take care"],
        "records": ["records", "❯"],
        "palette": ["❯ settings"],
    }[state]
    async with stage(
        tmp_path, size=(120, 50), settings=written(tmp_path, 'theme = "ansi"'), prepare=fill
    ) as made:
        await STATES[state](made)
        await made.settle()
        assert [words for words in wanted if words not in made.text] == []


# --- auto -------------------------------------------------------------------------------------------------------


async def test_auto_follows_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORFGBG", raising=False)
    async with stage(tmp_path) as made:
        assert made.app.theme == themes.DARK_NAME and made.app.asks_ground
        made.app.post_message(GroundTold(dark=False))
        await made.until(lambda: made.app.theme == themes.LIGHT_NAME)
    monkeypatch.setenv("COLORFGBG", "0;15")
    async with stage(tmp_path) as made:
        assert made.app.theme == themes.LIGHT_NAME
    async with stage(tmp_path, settings=Settings(theme="dark")) as made:
        assert not made.app.asks_ground
        made.app.post_message(GroundTold(dark=False))
        await made.settle()
        assert made.app.theme == themes.DARK_NAME, "what settings say stands"


@pytest.mark.parametrize(
    ("variable", "dark"),
    [
        ("15;0", True),
        ("0;15", False),
        ("0;default;7", False),
        ("12;8", True),
        ("", None),
        ("0;default", None),
    ],
)
def test_colorfgbg_gives_the_first_guess(variable: str, dark: bool | None) -> None:
    assert answers.guess(variable) is dark


LIGHT_ANSWER = "\x1b]11;rgb:ffff/fefe/f0f0\x1b\\"


@pytest.mark.parametrize("cut", range(1, len(LIGHT_ANSWER)))
def test_an_answer_is_heard_whole_or_in_pieces_and_never_typed(cut: int) -> None:
    parser = answers.Parser(awaited=True)
    said = [*parser.feed("a" + LIGHT_ANSWER[:cut]), *parser.tick(), *parser.feed(LIGHT_ANSWER[cut:] + "b")]
    assert [event.dark for event in said if isinstance(event, GroundTold)] == [False]
    assert [event.key for event in said if isinstance(event, events.Key)] == ["a", "b"]


def test_keys_that_look_like_the_beginning_of_an_answer_are_typed_after_a_moment() -> None:
    parser = answers.Parser()
    parser._since = 0.0
    said = [*parser.feed("\x1b]1")]
    assert said == []
    parser._since -= 10
    while not any(isinstance(event, events.Key) for event in said):
        said += parser.tick()
    assert [event.key for event in said if isinstance(event, events.Key)][-1] == "1"


def test_an_answer_that_ends_in_a_bell_or_says_nothing_is_no_key_either() -> None:
    parser = answers.Parser()
    said = [*parser.feed("\x1b]11;rgb:0000/0000/0000\x07"), *parser.feed("\x1b]11;?\x1b\\")]
    assert [event.dark for event in said if isinstance(event, GroundTold)] == [True]
    assert not [event for event in said if isinstance(event, events.Key)]


# --- own themes -------------------------------------------------------------------------------------------------

OWN = 'base = "light"\n[colors]\nprimary = "#004080"\n[variables]\ntext-muted = "#404040"\n'


def own(tmp_path: Path, text: str = OWN, name: str = "mine") -> Path:
    folder = tmp_path / "themes"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.toml").write_text(text)
    return folder / f"{name}.toml"


def test_a_theme_takes_what_it_leaves_out_from_its_base(tmp_path: Path) -> None:
    theme = own_themes.load(own(tmp_path))
    assert (theme.dark, theme.primary, theme.surface) == (False, "#004080", themes.LIGHT.surface)
    assert theme.variables["text-muted"] == "#404040"
    assert own_themes.warning(theme) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('base = "grey"\n', ':1: base is "grey"; allowed: one of "dark", "light"'),
        ('[colors]\n\nprimray = "#fff"\n', ":3: unknown key colors.primray, did you mean primary?"),
        ('[colors]\nprimary = "blu"\n', ":2: colors.primary is 'blu'; allowed: a colour such as"),
        ("[colors]\nprimary = 5\n", ":2: colors.primary is 5"),
        (
            '[variables]\ntext-mutd = "#fff"\n',
            ":2: unknown key variables.text-mutd, did you mean text-muted?",
        ),
        ("base = \n", ":1: is not TOML"),
        ("colour = 1\n", ":1: unknown key colour, did you mean colors?"),
    ],
)
def test_what_is_wrong_in_a_theme_names_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError) as error:
        own_themes.load(own(tmp_path, text))
    assert f"mine.toml{words}" in str(error.value)


def test_a_text_that_is_hard_to_read_is_warned_about(tmp_path: Path) -> None:
    theme = own_themes.load(own(tmp_path, '[variables]\ntext-muted = "#333333"\n'))
    assert "text-muted on" in own_themes.warning(theme) and "4.5 to 1" in own_themes.warning(theme)


async def open_themes(made: Stage) -> ThemeScreen:
    await made.press("ctrl+x", "t")
    await made.until(lambda: isinstance(made.app.screen, ThemeScreen) and bool(made.app.screen._list))
    assert isinstance(made.app.screen, ThemeScreen)
    return made.app.screen


async def test_themes_are_shown_while_one_chooses_and_kept_by_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_AGENT_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    own(tmp_path / "config")
    own(tmp_path / "config", "[colors]\nprimary = 1\n", "wrong")
    file = tmp_path / "config" / "settings.toml"
    async with stage(tmp_path, size=(120, 36), settings=load(file)) as made:
        place = await open_themes(made)
        names = [row.name for row in place._list]
        assert names[:6] == ["auto", "dark", "light", "ansi", "mine", "wrong"]
        place.rows.move(names.index("mine"))
        await made.until(lambda: made.app.theme.startswith("own-mine-"))
        place.rows.move(names.index("wrong"))
        await made.until(lambda: "wrong.toml:2" in made.text.replace("\n", ""))
        assert made.app.theme.startswith("own-mine-"), "the one before stays"
        await made.press("escape")
        await made.until(lambda: made.app.theme == themes.DARK_NAME)
        assert not file.exists()
        place = await open_themes(made)
        place.rows.move(names.index("mine"))
        await made.press("enter")
        await made.until(lambda: made.app.screen is made.chat)
        assert file.read_text() == 'theme = "mine"\n'
        assert made.app.theme.startswith("own-mine-")
    async with stage(tmp_path, settings=load(file)) as made:
        assert made.app.theme.startswith("own-mine-")


async def test_opening_the_list_changes_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, settings=Settings(theme="light")) as made:
        place = await open_themes(made)
        await made.settle()
        assert place._list[place.rows.cursor].name == "light"
        assert made.app.theme == themes.LIGHT_NAME
        await made.press("up")
        await made.until(lambda: made.app.theme == themes.DARK_NAME)
        await made.press("f3")
        await made.until(lambda: made.app.screen is made.chat)
        assert made.app.theme == themes.LIGHT_NAME, "a theme that was only looked at is put back"


async def test_a_theme_that_cannot_be_used_is_said_and_auto_stands_in(tmp_path: Path) -> None:
    async with stage(tmp_path, settings=Settings(theme="nowhere")) as made:
        await made.until(lambda: "theme 'nowhere'" in made.text)
        assert made.app.theme == themes.DARK_NAME
