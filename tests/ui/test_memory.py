"""The memory sidebar: what it shows, and what is done in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile import TEXTS, acts
from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.memories import now, proposal, proposed, remembered
from tests.ui.stage import Stage, stage
from tui_agent import changes
from tui_agent.ui.footer import KeyLine
from tui_agent.ui.memory.sidebar import Sidebar

pytestmark = pytest.mark.usefixtures("quick")


SELDOM = [
    pytest.param(name, marks=pytest.mark.slow)
    for name in ("csi clear", "bidi override", "c0 all", "prompt tags")
]
"""Hostile texts of which others are a sample."""


def _fill(session: FakeSession) -> None:
    conversation(session.context)
    remembered(session)
    remembered(session, "pnpm test --filter web", scope="workspace", key="tests")
    remembered(session, "提交信息用中文。", scope="workspace", key="commit.language")
    proposal(session)
    proposal(session, "Never push.", key="push", outside=("README.md",))
    proposal(session, "All tests passed.", key="status")


async def _opened(made: Stage, *turns: str) -> Sidebar:
    await made.press("ctrl+x", "b", *turns)
    await made.until(lambda: made.chat.sidebar is not None, "the sidebar")
    sidebar = made.chat.sidebar
    assert sidebar is not None
    await made.until(lambda: len(sidebar.rows) > 0 and made.app.focused is sidebar.rows, "the memories")
    await made.settle()
    return sidebar


def _rows(sidebar: Sidebar) -> list[str]:
    lines = (sidebar.rows.render_line(y).text for y in range(sidebar.rows.size.height))
    return [" ".join(line.strip("❯ ").split()) for line in lines if line.strip()]


async def _on(made: Stage, sidebar: Sidebar, key: str) -> None:
    """Put the cursor on a memory."""
    await made.press("home")
    for _ in range(len(sidebar.rows)):
        if sidebar.current is not None and sidebar.current.key == key:
            return
        await made.press("down")
    raise AssertionError(f"no {key}\n{made.text}")


async def test_it_lists_memories_under_their_scopes(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        rows = _rows(sidebar)
        names = [row.split()[0] for row in rows]
        assert names == ["▾", "indent", "▾", "commit.language", "tests"]
        assert "for you, everywhere" in rows[0] and "in this workspace" in rows[2]
        assert "Kept 3 Inbox 3 Refused Undone" in made.text
        await made.press("home", "enter")
        await made.until(lambda: "I use tabs." not in made.text, "the fold")


@pytest.mark.parametrize("way", ["ctrl+x b", "f2", "/memory", "palette"])
async def test_it_is_opened_by_key_command_and_palette_and_closed_by_its_key(
    way: str, tmp_path: Path
) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        if way == "/memory":
            await made.type("/memory")
            await made.press("enter")
        elif way == "palette":
            next(offer for offer in made.chat.offers() if offer.words == "memory").run()
        else:
            await made.press(*way.split())
        await made.until(
            lambda: made.chat.sidebar is not None and made.chat.sidebar.has_focus_within, "the sidebar"
        )
        await made.until(lambda: "I use tabs." in made.text, "the memories")
        await made.press("f2")
        await made.until(lambda: made.chat.sidebar is None, "it is closed")
        assert made.app.focused is made.chat.composer


async def test_words_behind_the_command_are_looked_for(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        await made.type("/memory 中文")
        await made.press("enter")
        await made.until(lambda: "commit.language" in made.text, "what was found")
        assert "I use tabs." not in made.text


async def test_a_search_finds_words_of_any_script_and_esc_takes_it_back(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        await made.press("slash")
        await made.type("提交")
        await made.until(lambda: "I use tabs." not in made.text, "what was found")
        assert [row.split()[0] for row in _rows(sidebar)][1:] == ["commit.language"]
        await made.press("escape")
        await made.until(lambda: "I use tabs." in made.text, "all of them")
        assert made.app.focused is sidebar.rows


async def test_an_opened_memory_tells_where_it_came_from_and_what_became_of_it(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        _fill(session)
        store = session.memories.store
        made = proposal(session, "Short ones.", key="branches", outside=("README.md",))
        store.accept(made.id)
        store.edit(made.id, body="Long ones.")

    async with stage(tmp_path, size=(120, 50), prepare=fill) as made:
        sidebar = await _opened(made)
        await _on(made, sidebar, "branches")
        await made.press("enter")
        await made.until(lambda: "Short ones." in made.text, "the history")
        for words in (
            "after reading README.md",
            "proposed in this session",
            "changed",
            "accepted",
            "Long ones.",
        ):
            assert words in made.text, words


async def test_it_goes_to_the_message_that_proposed_it(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context, 12)
        first = next(m for m in session.context.history if m.role == "assistant")
        proposal(session, record=first.id)

    async with stage(tmp_path, prepare=fill) as made:
        sidebar = await _opened(made)
        await _on(made, sidebar, "commit.style")
        await made.press("m")
        await made.until(lambda: made.chat.sidebar is None, "it makes room")
        assert made.app.focused is made.chat.transcript
        await made.until(lambda: "I will look at the command first." in made.lines[1], "the message")


async def test_a_message_of_another_session_is_named(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context)
        proposal(session, source="01OTHER")

    async with stage(tmp_path, prepare=fill) as made:
        sidebar = await _opened(made)
        await _on(made, sidebar, "commit.style")
        await made.press("m")
        await made.until(lambda: "/resume 01OTHER" in made.text, "the way")


async def test_a_new_memory_is_written(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        await made.press("n")
        await made.type("quotes")
        await made.press("enter")
        await made.type("Double ones: everywhere.")
        await made.press("enter")
        await made.until(lambda: "saved: quotes" in made.text, "it is stored")
        assert now(made.session)["quotes"] == ("workspace", "accepted", "Double ones: everywhere.")
        await made.until(lambda: sidebar.current is not None and sidebar.current.key == "quotes", "its row")
        assert "Double ones" in "".join(_rows(sidebar))


async def test_what_cannot_be_stored_is_said_and_not_lost(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        await made.press("n", "enter")
        await made.type("text")
        await made.press("enter")
        await made.until(lambda: "a memory needs a key" in made.text, "what is wrong")
        await made.press("escape")
        await made.until(lambda: made.app.focused is sidebar.rows, "it is left")
        await made.press("n")
        assert sidebar.editor.draft.body == "text"


async def test_a_memory_is_edited_and_the_change_taken_back(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        await _on(made, sidebar, "indent")
        await made.press("e")
        await made.type(" Always.")
        await made.press("enter")
        await made.until(lambda: now(made.session)["indent"][2] == "I use tabs. Always.", "the text")
        await made.until(lambda: "I use tabs. Always." in made.text, "the row")
        await made.press("u")
        await made.until(lambda: now(made.session)["indent"][2] == "I use tabs.", "the old text")


async def test_scope_and_key_are_edited_in_the_editor(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        await _on(made, sidebar, "tests")
        await made.press("e", "tab", "left", "tab")
        await made.type(".web")
        await made.press("enter", "enter")
        await made.until(lambda: "tests.web" in now(made.session), "the key")
        assert now(made.session)["tests.web"][0] == "user"


async def test_letters_at_the_scope_of_a_new_memory_are_no_prompt(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        await made.press("n", "shift+tab")
        assert not made.session.performed
        await made.pilot.click(offset=(made.lines[0].index(" ask ") + 2, 0))
        await made.until(lambda: ("mode", "next") in made.session.performed, "the mode, by its sign")
        await made.type("xu")
        assert sidebar.editor.scope.scope == "user"
        await made.press("enter")
        await made.type("day")
        await made.press("enter")
        await made.type("Never on Fridays.")
        await made.press("enter")
        await made.until(
            lambda: now(made.session).get("day") == ("user", "accepted", "Never on Fridays."), "it"
        )
        assert made.chat.composer.text == ""


async def test_a_deleted_memory_comes_back(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        await _on(made, sidebar, "tests")
        await made.press("d")
        await made.until(lambda: "tests" not in now(made.session), "it is gone")
        await made.until(lambda: "u brings it back" in made.text, "the way back")
        await made.press("u")
        await made.until(lambda: "tests" in now(made.session), "it is back")


@pytest.mark.parametrize("size", [(44, 24), pytest.param((120, 36), marks=pytest.mark.slow)])
async def test_all_that_can_be_done_about_an_opened_memory_can_be_clicked(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async with stage(tmp_path, size=size, prepare=_fill) as made:
        sidebar = await _opened(made)
        await _on(made, sidebar, "tests")
        at = next(row for row, line in enumerate(made.lines) if "❯" in line)
        await made.pilot.click(offset=(6, at))
        await made.until(lambda: "d delete" in made.text, "it is open")
        line = sidebar.query_one(KeyLine)
        offered = {(entry.key, entry.words) for entry in line.entries}
        assert offered == set(sidebar._letters()) and ("s", "scope") in offered
        at = next(row for row, text in enumerate(made.lines) if "d delete" in text)
        await made.pilot.click(offset=(made.lines[at].index("d delete") + 2, at))
        await made.until(lambda: "tests" not in now(made.session), "it is gone")
        await made.press("escape")
        await made.until(lambda: not line.display, "nothing is open")


async def test_the_inbox_decides_and_accepts_together_only_what_nothing_from_outside_came_before(
    tmp_path: Path,
) -> None:
    def fill(session: FakeSession) -> None:
        _fill(session)
        proposal(session, "Merge by rebase.", key="merge")

    async with stage(tmp_path, size=(120, 36), prepare=fill) as made:
        sidebar = await _opened(made, "right")
        assert "A accept 2" in made.lines[-1]
        await made.press("A")
        await made.until(lambda: "remembered: 2; 2 stay to be looked at" in made.text, "what was done")
        states = {key: status for key, (_, status, _) in now(made.session).items()}
        assert states["commit.style"] == states["merge"] == "accepted"
        assert states["push"] == states["status"] == "proposed"
        await _on(made, sidebar, "push")
        await made.press("r")
        await made.until(lambda: now(made.session)["push"][1] == "rejected", "the decision")
        await _on(made, sidebar, "status")
        await made.press("a")
        await made.until(lambda: now(made.session)["status"][1] == "accepted", "the decision")


async def test_what_would_be_changed_is_shown_before_it_is_accepted_and_not_accepted_together(
    tmp_path: Path,
) -> None:
    def fill(session: FakeSession) -> None:
        _fill(session)
        proposal(session, "Tabs of 8.", scope="user", key="indent")
        proposal(session, "One line.\nAnd another.", key="two lines")

    async with stage(tmp_path, size=(120, 36), prepare=fill) as made:
        sidebar = await _opened(made, "right")
        assert "A accept 2" in made.lines[-1], "commit.style, and the one of two lines"
        await _on(made, sidebar, "indent")
        await made.press("a")
        await made.until(lambda: "- I use tabs." in made.text and "+ Tabs of 8." in made.text, "the change")
        assert now(made.session)["two lines"][1] == "proposed"
        assert {
            m.body for m in made.session.memories.list() if m.status == "accepted" and m.key == "indent"
        } == {"I use tabs."}
        await made.press("a")
        await made.until(lambda: "remembered: indent" in made.text, "the decision")


async def test_what_is_decided_in_the_chat_is_seen_in_the_sidebar(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36)) as made:
        await proposed(made, proposal(made.session))
        sidebar = await _opened(made)
        assert "commit.style" in "".join(_rows(sidebar)), "nothing is kept yet: it begins with the inbox"
        await made.press("a")
        await made.until(lambda: "a again accepts" in made.text, "its row does not say all of it")
        await made.press("a")
        await made.until(lambda: "remembered  workspace  commit.style" in made.text, "the line in the chat")
        await made.press("left")
        await made.until(lambda: "commit.style" in "".join(_rows(sidebar)), "it is kept")


async def test_a_folded_line_leads_to_the_inbox(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        await proposed(made, proposal(made.session, "All tests passed.", key="status"))
        await made.until(lambda: "status, not worth remembering?" in made.text, "the line")
        made.chat.set_focus(made.chat.transcript)
        await made.settle()
        await made.press("enter", "p")
        await made.until(
            lambda: made.chat.sidebar is not None and made.chat.sidebar.has_focus_within, "the sidebar"
        )
        await made.until(lambda: "status: All tests passed." in made.text, "the inbox")


@pytest.mark.parametrize("yes", [True, False])
async def test_memories_are_shared_in_a_file_after_the_change_was_shown(yes: bool, tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36), prepare=_fill) as made:
        file = made.session.workspace / "MEMORY.md"
        file.write_text("# Notes\n")
        sidebar = await _opened(made)
        await made.press("w")
        await made.until(lambda: made.chat.dock.has_keys, "the card")
        assert "write 2 memories into MEMORY.md?" in made.text and file.read_text() == "# Notes\n"
        await made.press(*["space"] * 5, "a" if yes else "n")
        await made.until(lambda: made.chat.dock.card is None, "the answer")
        await made.until(lambda: made.app.focused is sidebar.rows, "the sidebar")
        assert ("### tests" in file.read_text()) == yes
        assert file.read_text().startswith("# Notes\n")


async def test_what_a_team_wrote_is_read_back_and_marked_as_from_outside(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36), prepare=_fill) as made:
        await made.session.perform("share", (await made.session.perform("share")).data["mark"])
        file = made.session.workspace / "MEMORY.md"
        file.write_text(file.read_text().replace("pnpm test", "npm test"))
        sidebar = await _opened(made)
        await made.press("i")
        await made.until(lambda: made.chat.dock.has_keys, "the card")
        assert "it was written by others" in made.text and "remember 1 memory from MEMORY.md?" in made.text
        await made.press("space", "a")
        await made.until(lambda: now(made.session)["tests"][2] == "npm test --filter web", "the text")
        await _on(made, sidebar, "tests")
        assert sidebar.current is not None and sidebar.current.outside == ("MEMORY.md",)


async def test_a_change_that_was_not_shown_is_not_made(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36), prepare=_fill) as made:
        await _opened(made)
        await made.press("w")
        await made.until(lambda: made.chat.dock.has_keys, "the card")
        remembered(made.session, "another", scope="workspace", key="later")
        await made.press(*["space"] * 5, "a")
        await made.until(lambda: "changed meanwhile: look at" in made.text, "why not")
        assert not (made.session.workspace / "MEMORY.md").exists()


async def test_a_read_only_session_only_shows(tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        _fill(session)
        session.read_only = "another program has it open"

    async with stage(tmp_path, size=(120, 36), prepare=fill) as made:
        await _opened(made)
        await made.press("d")
        await made.until(lambda: made.chat.composer.text == "d", "a letter as any other")
        assert "indent" in now(made.session)


async def test_another_program_s_change_is_there_after_the_turn(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36), prepare=_fill) as made:
        await _opened(made)
        remembered(made.session, "of another program", key="elsewhere")
        made.session.begin()
        made.session.end()
        await made.until(lambda: "of another program" in made.text, "the memory")


WIDTHS = {
    # width: (columns of the sidebar alone, beside the inspector, columns of that then); 0: over the chat
    80: (0, 0, 0),
    116: (0, 0, 0),
    117: (44, 0, 44),
    147: (44, 0, 44),
    148: (44, 30, 44),
    200: (44, 30, 64),
}
SAMPLE = ((80, "memory"), (117, "inspector"), (147, "memory"), (148, "inspector"), (200, "memory"))
"""What CI looks at; the others when all slow tests run."""


@pytest.mark.parametrize(
    ("width", "first"),
    [
        pytest.param(width, first, marks=() if (width, first) in SAMPLE else pytest.mark.slow)
        for width in WIDTHS
        for first in ("memory", "inspector")
    ],
)
async def test_it_stands_beside_the_chat_where_that_keeps_72_columns(
    width: int, first: str, tmp_path: Path
) -> None:
    alone, both, inspector = WIDTHS[width]
    async with stage(tmp_path, size=(width, 24), prepare=_fill) as made:
        if first == "memory":
            sidebar = await _opened(made)
            assert made.chat.transcript.size.width == width - alone
            await made.press("ctrl+x", "i")
            await made.until(lambda: made.chat.panel is not None, "the inspector")
        else:
            await made.press("ctrl+x", "i")
            await made.until(lambda: made.chat.panel is not None, "the inspector")
            sidebar = await _opened(made)
        await made.settle()
        if width < 117:
            assert (made.chat.panel is None) == (first == "inspector"), "one lies over the chat"
            assert (made.chat.sidebar is None) == (first == "memory")
            return
        panel = made.chat.panel
        assert panel is not None
        beside = both + inspector if both else 44
        assert made.chat.transcript.size.width == width - beside >= 72
        assert sidebar.has_class("-over") == (not both and first == "inspector")
        assert panel.has_class("-over") == (not both and first == "memory")


async def test_both_give_way_and_come_back_while_the_screen_is_resized(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(148, 24), prepare=_fill) as made:
        sidebar = await _opened(made)
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.chat.panel is not None and made.chat.panel.has_focus_within, "both")
        panel = made.chat.panel
        assert panel is not None
        for width, beside, over in (
            (147, 44, (False, True)),
            (100, 0, (True, True)),
            (148, 74, (False, False)),
        ):
            await made.pilot.resize_terminal(width, 24)
            await made.settle()
            assert made.chat.transcript.size.width == width - beside
            assert (sidebar.has_class("-over"), panel.has_class("-over")) == over
        await made.press("ctrl+x", "i")
        await made.until(lambda: made.chat.panel is None, "one is closed")
        await made.settle()
        assert made.chat.transcript.size.width == 148 - 44


@pytest.mark.parametrize("name", ["markup", "osc 52", *SELDOM])
@pytest.mark.parametrize("size", [(80, 24), pytest.param((200, 40), marks=pytest.mark.slow)])
async def test_hostile_texts_are_shown_literally(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    def fill(session: FakeSession) -> None:
        conversation(session.context)
        session.memories.store.add(
            "user", "key", TEXTS[name][:300] + ".", tainted=True, outside=(TEXTS[name][:99],)
        )

    async with stage(tmp_path, size=size, prepare=fill) as made:
        await _opened(made)
        await made.press("enter")
        await made.until(lambda: "written by you" in made.text, "the memory")
        assert not [found for line in made.lines for found in acts(line)]
        await made.press("e")
        await made.settle()
        assert not [found for line in made.lines for found in acts(line)]


async def test_the_help_and_the_footer_say_what_can_be_pressed(tmp_path: Path) -> None:
    async with stage(tmp_path, size=(120, 36), prepare=_fill) as made:
        await _opened(made)
        assert "e edit" in made.lines[-1] and "n new" in made.lines[-1] and "jump back" in made.lines[-1]
        await made.press("f1")
        await made.until(lambda: "Here: the memory sidebar" in made.text, "the help")
        assert "write MEMORY.md" in made.text


async def test_esc_closes_what_is_nearest(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        await _opened(made)
        await made.press("enter")
        await made.until(lambda: "written by you" in made.text, "the memory")
        await made.press("escape")
        await made.until(lambda: "written by you" not in made.text, "it is closed")
        assert made.chat.sidebar is not None and made.chat.sidebar.has_focus_within
        await made.press("escape")
        await made.until(lambda: made.chat.sidebar is None, "the chat")


async def test_an_event_while_it_is_closed_costs_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, prepare=_fill) as made:
        sidebar = await _opened(made)
        await made.press("f2")
        await made.until(lambda: made.chat.sidebar is None, "it is closed")
        made.session.emit(changes.MemoryChanged("x", "deleted", "user", "x"))
        await made.settle()
        assert not [worker for worker in made.app.workers if worker.node is sidebar]


async def test_over_the_chat_an_idle_letter_of_the_sidebar_stays_there_and_words_uncover_the_composer(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as made:
        sidebar = await _opened_empty(made)
        await made.press("u", "A")
        await made.until(lambda: "A does nothing here" in made.text, "what became of it")
        assert made.app.focused is sidebar.rows and made.chat.composer.text == ""
        await made.type("hello")
        await made.until(lambda: made.chat.sidebar is None, "the chat")
        assert made.chat.composer.text == "hello" and "> hello" in made.text


async def _opened_empty(made: Stage) -> Sidebar:
    await made.press("ctrl+x", "b")
    await made.until(lambda: "Nothing is remembered yet" in made.text, "the sidebar")
    assert made.chat.sidebar is not None
    return made.chat.sidebar
