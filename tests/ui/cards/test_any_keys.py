"""Whatever is pressed, clicked and pasted, at whatever moment: nothing is answered by accident, nothing typed is lost.

The test keeps its own book: which card is at the front since when, and where the focus was when a key was pressed. A
card may be answered only by a key pressed, or a click made, on it half a second after it came. A typed character is in
the draft, in the reply line, in what was sent, or it was swallowed in the first half second, and the card says so.
Bursts are keys that come in one read of the terminal, with cards that come and go between them. A play that fails is
printed, and kept in `.hypothesis/plays.txt`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual import events

from tests.ui.cards.clock import Clock
from tests.ui.stage import Stage, stage
from tui_agent.events import Answer
from tui_agent.ui.cards.arming import ARMING, letter_of
from tui_agent.ui.cards.card import Card

_ASCII = "yynwtesxku5aar"
_ODD = "ｙé"
_MEANT = {
    "approval": {"once": "y", "no": "nt", "session": "y", "always": "y"},
    "plan": {"once": "a", "no": "rn"},
}
"""By the kind of a card: the letters that may have given an answer."""
_COMES, _GOES, _NEXT = "a card comes", "the card goes", "f7"
_NAMED = ("enter", "escape", "tab", "up", "down", "space")

STEPS = st.one_of(
    st.tuples(st.just("type"), st.sampled_from(_ASCII + _ODD), st.sampled_from((0.05, 0.2, 0.31, 0.7))),
    st.tuples(st.just("type"), st.sampled_from(_ASCII), st.sampled_from((0.05, 0.31))),
    st.tuples(st.just("press"), st.sampled_from(_NAMED), st.sampled_from((0.05, 0.31, 0.7))),
    st.tuples(st.just("ask"), st.sampled_from(("pnpm test", "a\n" * 30)), st.sampled_from((0.0, 0.3, 0.6))),
    st.tuples(st.just("plan"), st.sampled_from(("# a", "# a\n" * 30)), st.sampled_from((0.0, 0.3, 0.6))),
    st.tuples(
        st.just("click"),
        st.sampled_from(("[y] ", "[n] ", "[w] ", "$ ", "[a] ", "[r] ")),
        st.sampled_from((0.05, 0.6)),
    ),
    st.tuples(st.just("paste"), st.just("pasted"), st.just(0.2)),
    st.tuples(st.just("withdraw"), st.just(""), st.just(0.2)),
    st.tuples(st.just("wait"), st.just(""), st.sampled_from((0.3, 0.5, 1.5))),
)

BURSTS = st.tuples(
    st.tuples(st.just("ask"), st.just("git push"), st.sampled_from((0.0, 0.1, 0.45, 0.55))),
    st.tuples(st.just("press"), st.sampled_from(("tab", "escape")), st.just(0.0)),
    st.tuples(st.just("press"), st.just("tab"), st.just(0.0)),
    st.tuples(st.just("type"), st.sampled_from("yn"), st.just(0.35)),
)
"""A card, and at once somebody who goes to it and presses a letter."""
HURRIED = st.tuples(
    st.tuples(st.just("withdraw"), st.just(""), st.just(1.5)),
    st.tuples(st.just("ask"), st.just("git push"), st.sampled_from((0.0, 0.1, 0.45, 0.55))),
    st.tuples(st.just("type"), st.sampled_from("yn"), st.just(0.35)),
)
"""The card that is there goes, another comes, and a letter is pressed."""
_AT_ONCE = st.one_of(
    *(
        st.lists(st.sampled_from((*"ynex", event)), min_size=2, max_size=6).map(tuple)
        for event in ("enter", _COMES, _GOES, _NEXT)
    )
)
AT_ONCE = st.tuples(st.tuples(st.just("burst"), _AT_ONCE, st.sampled_from((0.0, 0.31, 0.7))))
"""Keys of one read, and what happens between them."""
PLAYS = st.lists(
    st.one_of(STEPS.map(lambda step: (step,)), BURSTS, HURRIED, AT_ONCE), min_size=6, max_size=20
)
_KEPT = Path(".hypothesis/plays.txt")


@dataclass
class Book:
    """What a person did, and what may have come of it."""

    made: Stage
    clock: Clock
    front: Card | None = None
    since: float = 0.0
    pressed: dict[str, str] = field(default_factory=dict)
    """Question -> the letters, keys and clicks that counted on its card."""
    plans: set[str] = field(default_factory=set)
    """The questions that ask about a plan."""
    seen: int = 0
    swallowed: list[str] = field(default_factory=list)
    """What cards said that they had not taken."""

    def look(self) -> None:
        """Note which card is at the front, and check the answers that came."""
        answers = self.made.session.answers
        for question, answer in answers[self.seen :]:
            self._check(question, answer)
        self.seen = len(answers)
        card = self.made.chat.dock.card
        if card is not self.front:
            self.front, self.since = card, self.clock.now

    def ask(self, **changes: Any) -> None:
        """A card comes; the id of one that went is given again."""
        question = self.made.session.ask(**changes)
        (self.plans.add if question.kind == "plan" else self.plans.discard)(question.id)

    def _check(self, question: str, answer: Answer) -> None:
        counted = self.pressed.get(question, "")
        meant = _MEANT["plan" if question in self.plans else "approval"][answer.verdict]
        assert any(sign in counted for sign in (*meant, "\n")), f"{answer} of {question} after {counted!r}"

    def count(self, sign: str) -> None:
        """A key or a click on the card that has the focus; it counts when the card could be read."""
        card = self.made.chat.dock.card
        if card is not None and self.clock.now - self.since >= ARMING - 1e-6:
            self.pressed[card.question.id] = self.pressed.get(card.question.id, "") + sign

    def texts(self) -> str:
        """Everywhere that something typed may have gone."""
        made = self.made
        card = made.chat.dock.card
        parts = [made.chat.composer.text, *(text for text, _ in made.session.submitted)]
        parts += [answer.note + answer.rule + (answer.edited or "") for _, answer in made.session.answers]
        if card is not None:
            parts += [card.words, card._gate.letter if card.writes else "", *card._line.left.values()]
            parts += [getattr(card, "_edited", None) or "", *(key.character or "" for key in card.late)]
        parts += [text for words in made.chat.dock._unsaid.values() for text in words.values()]
        return "\n".join([*parts, *self.swallowed])


async def _burst(book: Book, keys: tuple[str, ...]) -> None:
    """Keys that are not waited for, and cards that come and go meanwhile."""
    made = book.made
    before = Counter(book.texts())
    # who goes to another card takes back the letter that has not acted
    typed = Counter(
        key for key, then in zip(keys, (*keys[1:], ""), strict=True) if len(key) == 1 and then != _NEXT
    )
    went = False
    for key in keys:
        card = made.chat.dock.card
        if key == _COMES:
            book.ask(body="git push")
        elif key == _GOES and card is not None:
            await made.session.settle(card.question.id, Answer("dismissed"))
        elif key != _GOES:
            went = went or key == _NEXT  # the card has the keys before the next one is looked at
            if (made.chat.dock.has_keys or went) and key != _NEXT:
                book.count("\n" if key == "enter" else key)
            event = events.Key(key, key if len(key) == 1 else None)
            event.time = book.clock.now
            made.app.post_message(event)
    await made._handled()
    await made.settle()
    if made.chat.jump is None:
        await made.until(
            lambda: not typed - (Counter(book.texts()) - before), f"of {keys} something is lost\n{before}"
        )


async def _step(book: Book, what: str, argument: Any) -> None:
    made, clock = book.made, book.clock
    card = made.chat.dock.card
    match what:
        case "type":
            if made.app.focused is card:
                book.count(letter_of(argument))
            before = book.texts().count(argument)
            over = made.chat.jump is not None  # a list: letters are no words there
            await clock.type(made, argument, every=0)
            await made.until(lambda: over or book.texts().count(argument) > before, f"{argument!r} is lost")
        case "burst":
            await _burst(book, argument)
        case "press":
            if made.chat.dock.has_keys and argument == "enter":
                book.count("\n")
            await clock.press(made, argument)
        case "click":
            row = next(
                (number for number, line in enumerate(made.lines) if argument in line and "│" in line), None
            )
            if row is not None and card is not None:
                if argument != "$ ":
                    book.count({"[w] ": "w"}.get(argument, argument[1]))
                await made.pilot.click(offset=(made.lines[row].index(argument) + 1, row))
        case "paste":
            before = book.texts().count(argument)
            await clock.paste(made, argument)
            assert book.texts().count(argument) > before, "what was pasted is lost"
        case "ask":
            book.ask(body=argument.strip())
            await made.settle()
        case "plan":
            book.ask(kind="plan", tool="", call="", body="", rule="ask", editable=argument.strip())
            await made.settle()
        case "withdraw" if card is not None:
            words = card.words
            await made.session.settle(card.question.id, Answer("dismissed"))
            await made.settle()
            await made.until(
                lambda: words in made.chat.composer.text, "words of a card that went in the composer"
            )


_TOO_EARLY = Card._too_early


def _swallow(book: Book, card: Card, text: str, *how: str) -> None:
    _TOO_EARLY(card, text, *how)
    assert not text.strip() or "not taken" in card._hint, "nothing says that it was not taken"
    book.swallowed.append(text)


async def _play(
    place: Path, clock: Clock, steps: list[tuple[str, Any, float]], patch: pytest.MonkeyPatch
) -> None:
    async with stage(place) as made:
        made.session.begin()
        book = Book(made, clock)
        patch.setattr(Card, "_too_early", lambda card, text, *how: _swallow(book, card, text, *how))
        for what, argument, wait in steps:
            await _step(book, what, argument)
            book.look()
            await clock.advance(made, wait)
            book.look()
        await clock.advance(made, 5)
        book.look()


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


_LOOSE = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def _play_all(place: Path, clock: Clock, plays: list[tuple[Any, ...]]) -> None:
    clock.alarms.clear()
    steps = [("ask", "pnpm test", 0.3), *(step for play in plays for step in play)]
    # a folder for each play: the draft that one leaves is offered again in its folder
    with tempfile.TemporaryDirectory(dir=place) as fresh:
        try:
            with pytest.MonkeyPatch.context() as patch:
                asyncio.run(_play(Path(fresh), clock, steps, patch))
        except AssertionError as error:
            error.add_note(f"the play: {steps!r}")
            _KEPT.parent.mkdir(exist_ok=True)
            with _KEPT.open("a") as kept:
                kept.write(f"{error}\n{steps!r}\n\n")
            raise


@settings(_LOOSE, max_examples=4)
@given(plays=PLAYS)
def test_no_card_is_answered_by_accident_and_no_typed_character_is_lost(
    clock: Clock, place: Path, plays: list[tuple[Any, ...]]
) -> None:
    _play_all(place, clock, plays)


@pytest.mark.slow
@settings(_LOOSE, max_examples=300)
@given(plays=PLAYS)
def test_nor_in_any_longer_play(clock: Clock, place: Path, plays: list[tuple[Any, ...]]) -> None:
    _play_all(place, clock, plays)
