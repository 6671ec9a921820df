"""Breakpoints and what they get: the watch's predictions against the simulated cache of a provider."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support import validity
from tests.support.prompt_cache import Figures, PromptCache
from tui_agent.llm.provider import Usage
from tui_agent.messages.blocks import Message, text_block, tool_result
from tui_agent.messages.request import Request
from tui_agent.messages.tokens import Estimator
from tui_agent.prompt.cache import NOTHING, Prediction, PrefixWatch, breakpoints

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
TOOL = {"name": "bash", "description": "run " * 1_400, "input_schema": {"type": "object", "properties": {}}}
SYSTEM = [text_block("be good " * 500)]


class Talk:
    """A conversation with a watch on this side and a simulated cache on the other."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.server = PromptCache(clock=lambda: (self.now - BEGIN).total_seconds(), least=1_024)
        self.watch = PrefixWatch()
        self.history: list[Message] = []
        self.options: dict[str, Any] = {"model": "m", "system": SYSTEM, "tools": [TOOL]}
        self._numbers = iter(range(10**6))

    def say(self, *texts: str, results: int = 0, picture: bool = False) -> Talk:
        """A person's words, or the results of so many calls of an answer with words behind them."""
        if results:
            names = [f"c{next(self._numbers)}" for _ in range(results)]
            calls = [{"type": "tool_use", "id": name, "name": "bash", "input": {}} for name in names]
            self._add("assistant", calls)
            self._add("user", [tool_result(name, f"result of {name}") for name in names], origin="tool")
        if picture:
            source = {"type": "url", "url": "https://example.com/a.png"}
            self._add("user", [{"type": "image", "source": source}])
        if texts:
            self._add("user", [text_block(text) for text in texts])
        return self

    def answer(self, text: str = "yes") -> Talk:
        self._add("assistant", [text_block(text)])
        return self

    def request(self) -> Request:
        made = Request.make(history=self.history, max_tokens=100, **self.options)
        return made.marked(breakpoints(made))

    def predict(self) -> Prediction:
        request = self.request()
        total = Estimator("m").count([request.tools, list(request.system), request.messages])
        return self.watch.predict(request, self.now, total=total)

    def send(self) -> Figures:
        """Send it, without an answer yet."""
        request, predicted = self.request(), self.predict()
        assert not validity.check(request.body())
        self.watch.sent(request, self.now, predicted)
        return self.server.begin(request.body())

    def ask(self) -> tuple[Prediction, Figures]:
        """Send it and hear the figures."""
        predicted, figures = self.predict(), self.send()
        self.watch.answered(Usage(figures.input, 1, figures.read, figures.written))
        return predicted, figures

    def _add(self, role: Any, content: list[Any], **fields: Any) -> None:
        model = "m" if role == "assistant" else None
        self.history.append(Message(role, content, id=f"r{next(self._numbers)}", model=model, **fields))


@pytest.fixture
def talk() -> Talk:
    return Talk()


def begun(talk: Talk, turns: int = 3) -> Talk:
    for number in range(turns):
        talk.say(f"question {number} " + "word " * 300).ask()
        talk.answer(f"answer {number}")
    return talk


# --- breakpoints ---------------------------------------------------------------------------------------------------


def test_they_are_the_last_two_user_messages_the_system_prompt_and_the_tools(talk: Talk) -> None:
    talk.say("one").answer().say("two", "more").answer().say("three")
    assert talk.request().breakpoints == (("message", 4, 0), ("message", 2, 1), ("system", 0), ("tool", 0))


@pytest.mark.parametrize("results", [19, 40, 200])
def test_a_long_message_gets_one_inside_instead_of_the_tools(talk: Talk, results: int) -> None:
    talk.say("one", results=0).say(results=results)
    last = results - 1
    assert talk.request().breakpoints == (
        ("message", 2, last), ("message", 0, 0), ("system", 0), ("message", 2, last - 18),
    )  # fmt: skip


def test_never_more_than_four_whatever_is_long(talk: Talk) -> None:
    talk.say("one").say(results=60).say(results=90)
    assert len(talk.request().breakpoints) == 4


def test_without_tools_and_system_prompt_there_are_fewer(talk: Talk) -> None:
    talk.options |= {"system": [], "tools": []}
    assert talk.say("one").request().breakpoints == (("message", 0, 0),)


# --- predictions -----------------------------------------------------------------------------------------------------


def test_nothing_is_expected_of_the_first_request(talk: Talk) -> None:
    predicted, figures = talk.say("hello").ask()
    assert (predicted.read, figures.read) == (0, 0)
    assert predicted.why == "nothing was sent before" and predicted.edge is None
    assert predicted.written == pytest.approx(figures.written, rel=0.4)


def test_what_extends_the_last_request_reads_all_of_it(talk: Talk) -> None:
    begun(talk)
    for number in range(30):
        predicted, figures = talk.say(f"{number}", results=number % 3).ask()
        assert predicted.read == figures.read > 3_000
        assert predicted.why == ""
        talk.answer("x" * number * 50 or "x")


def test_parallel_calls_with_many_results_miss_nothing(talk: Talk) -> None:
    begun(talk, 1)
    before = talk.server.figures[-1]
    for results in (60, 25, 19, 90):
        predicted, figures = talk.say(results=results).ask()
        assert predicted.read == figures.read == before.total
        before = figures


@pytest.mark.parametrize("gained", [5, 19, 20, 37])
def test_a_message_that_gains_blocks_is_found_by_looking_back(talk: Talk, gained: int) -> None:
    """As after a request that failed: words come to the words, and no answer stands between them."""
    begun(talk).say("words " * 300)
    asked = talk.ask()[1]
    predicted, figures = talk.say(*(f"more {number}" for number in range(gained))).ask()
    assert predicted.read == figures.read == asked.total


def test_beyond_both_look_backs_the_message_is_read_from_its_beginning(talk: Talk) -> None:
    begun(talk).say("words " * 300)
    asked = talk.ask()[1]
    predicted, figures = talk.say(*(f"more {number}" for number in range(60))).ask()
    assert predicted.read == figures.read < asked.total
    assert predicted.why == "what was sent last ends further back than the cache looks"


def test_the_edge_is_the_last_block_that_is_read(talk: Talk) -> None:
    begun(talk, 2).say("next")
    assert talk.predict().edge == ("message", 2, 0)
    talk.options["thinking"] = {"type": "adaptive"}
    assert talk.predict().edge == ("system", 0)
    talk.options["system"] = [text_block("another")]
    assert talk.predict().edge == ("tool", 0)
    talk.options["tools"] = []
    assert talk.predict().edge is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tools": [TOOL, TOOL | {"name": "read"}]}, "other tools"),
        ({"model": "another"}, "another model"),
        ({"system": [text_block("be better " * 500)]}, "another system prompt"),
        ({"thinking": {"type": "adaptive"}}, "another thinking setting"),
    ],
)
def test_a_break_is_named_and_what_is_left_of_the_cache_foretold(
    talk: Talk, change: dict[str, Any], why: str
) -> None:
    begun(talk)
    talk.options |= change
    predicted, figures = talk.say("next").ask()
    assert predicted.why == why == talk.watch.parted
    assert predicted.read == pytest.approx(figures.read, rel=0.05)
    assert predicted.read < 3_000


def test_an_announced_break_is_named_by_what_was_announced(talk: Talk) -> None:
    begun(talk)
    del talk.history[1:3]
    talk.watch.announce("a compaction")
    predicted, figures = talk.say("next").ask()
    assert predicted.why == "a compaction" == talk.watch.parted
    assert predicted.read == pytest.approx(figures.read, rel=0.05)
    talk.answer().say("on").ask()
    assert talk.watch.parted == ""


def test_what_was_announced_and_did_not_come_is_no_break(talk: Talk) -> None:
    begun(talk)
    talk.watch.announce("old results were shortened")
    predicted, figures = talk.say("next").ask()
    assert predicted.read == figures.read and predicted.why == talk.watch.parted == ""


def test_the_first_picture_parts_the_messages_and_the_next_do_not(talk: Talk) -> None:
    begun(talk)
    predicted, figures = talk.say("look", picture=True).ask()
    assert predicted.read == pytest.approx(figures.read, rel=0.05) and predicted.read < 3_000
    for _ in range(2):
        predicted, figures = talk.answer().say("and this", picture=True).ask()
        assert predicted.read == figures.read > 3_000


def test_pictures_left_out_because_there_are_many_are_no_surprise(talk: Talk) -> None:
    large = {
        "type": "blob",
        "sha256": "0" * 64,
        "media_type": "image/png",
        "bytes": 9,
        "width": 3_000,
        "height": 9,
    }
    talk.say("look")._add("user", [{"type": "image", "source": large}])
    for number in range(20):
        assert talk.watch.sent(talk.request(), talk.now) is None
        talk.answer().say(f"and {number}", picture=True)
    assert talk.watch.sent(talk.request(), talk.now) is None
    assert talk.watch.parted == "pictures of over 2000 px are left out of a request with more than 20"


def test_an_undone_revert_finds_the_old_branch_again(talk: Talk) -> None:
    begun(talk)
    whole = list(talk.history)
    del talk.history[2:]
    predicted, figures = talk.say("another way").ask()
    assert predicted.read == figures.read
    talk.history[:] = whole
    predicted, figures = talk.say("on with the first").ask()
    assert predicted.read == figures.read == talk.server.figures[2].total


@pytest.mark.parametrize(("seconds", "is_there"), [(299, True), (300, True), (301, False)])
def test_entries_lapse_five_minutes_after_their_last_use(talk: Talk, seconds: int, is_there: bool) -> None:
    begun(talk)
    talk.now += timedelta(seconds=seconds)
    predicted, figures = talk.say("next").ask()
    assert predicted.read == figures.read
    assert bool(predicted.read) is is_there
    assert is_there or predicted.why == "the last request was 5 minutes ago, so its cache is gone"


def test_an_answer_that_broke_off_has_filled_the_cache_too(talk: Talk) -> None:
    begun(talk).say("words " * 500)
    sent = talk.send()
    talk.watch.begun(talk.now)
    predicted, figures = talk.answer("half").say("go on").ask()
    assert figures.read == sent.total == pytest.approx(predicted.read, rel=0.3)
    talk.answer().say("and on")
    assert talk.predict().read == figures.total


def test_a_request_that_failed_has_not(talk: Talk) -> None:
    begun(talk).say("words " * 500)
    before = talk.server.figures[-1]
    talk.watch.sent(talk.request(), talk.now, talk.predict())
    predicted, figures = talk.ask()
    assert predicted.read == figures.read == before.total


def test_below_the_minimum_nothing_is_expected(talk: Talk) -> None:
    talk.options |= {"system": [text_block("short")], "tools": []}
    for _ in range(2):
        predicted, figures = talk.say("hello").ask()
        assert predicted.read == predicted.written == figures.read == figures.written == 0
        talk.answer()


def test_a_minimum_above_the_known_one_is_learned(talk: Talk) -> None:
    talk.server.least = 3_000
    for _ in range(3):
        predicted, figures = talk.say("word " * 100).ask()
        talk.answer()
    assert predicted.read == figures.read == 0
    begun(talk, 8)
    predicted, figures = talk.say("next").ask()
    assert predicted.read == figures.read > 3_000


def test_an_endpoint_without_a_cache_is_expected_to_have_none(talk: Talk) -> None:
    talk.say("word " * 4_000)
    for number in range(3):
        predicted = talk.predict()
        talk.watch.sent(talk.request(), talk.now, predicted)
        talk.watch.answered(Usage(input=6_000 + number, output=1))
        talk.answer().say("next")
    assert predicted.read == predicted.written == 0
    assert predicted.why == "the endpoint tells of no cache"


def test_an_endpoint_that_caches_by_itself_is_expected_to_go_on(talk: Talk) -> None:
    for read, total in ((0, 5_000), (4_992, 5_200), (5_184, 5_500)):
        talk.say("word " * 200)
        predicted = talk.predict()
        talk.watch.sent(talk.request(), talk.now, predicted)
        talk.watch.answered(Usage(input=total - read, output=1, cache_read=read))
        talk.answer()
    talk.say("next")
    assert talk.predict().read == 5_500


def test_a_summary_beside_keeps_what_it_has_in_common(talk: Talk) -> None:
    begun(talk)
    talk.now += timedelta(seconds=250)
    talk.say("summarise all of this")
    request = talk.request()
    talk.server.begin(request.body())
    talk.watch.beside(request, talk.now)
    talk.now += timedelta(seconds=250)
    del talk.history[:-1]
    talk.watch.announce("a compaction")
    predicted, figures = talk.ask()
    assert predicted.read == pytest.approx(figures.read, rel=0.05)
    assert figures.read > 1_500


def test_a_request_without_breakpoints_has_no_prediction(talk: Talk) -> None:
    talk.say("hello")
    bare = talk.request().marked(())
    assert talk.watch.predict(bare, talk.now, total=9_000) == NOTHING


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_any_conversation_is_foretold(talk: Talk, seed: int) -> None:
    """Within two points of its input, whatever happens; and exactly, where the request extends the last."""
    chance = random.Random(seed)
    foreseen = served = asked = 0
    kept: list[Message] = []
    for number in range(60):
        match chance.randrange(12):
            case 0 if len(talk.history) > 4:
                kept = list(talk.history)
                cut = chance.randrange(2, len(talk.history) - 1)
                del talk.history[cut - (talk.history[cut - 1].origin == "tool") * 2 :]
                talk.watch.announce("a revert")
            case 1 if kept:
                talk.history[:] = kept
                talk.watch.announce("an undo")
            case 2:
                talk.now += timedelta(seconds=chance.choice([60, 200, 400]))
            case 3:
                talk.options["thinking"] = chance.choice([None, {"type": "adaptive"}])
                talk.watch.announce()
            case 4:
                talk.say("one more thing")
            case 5:
                talk.say("look", picture=True)
            case 6 | 7:
                talk.say(results=chance.choice([1, 3, 20, 45]))
            case _:
                pass
        talk.say(f"{number} " + "word " * chance.randrange(200))
        predicted, figures = talk.ask()
        foreseen, served, asked = foreseen + predicted.read, served + figures.read, asked + figures.total
        if not predicted.why and predicted.edge and predicted.edge[0] == "message":
            assert predicted.read == figures.read
        talk.answer("word " * chance.randrange(60) or "yes")
        talk.now += timedelta(seconds=chance.randrange(30))
    assert abs(foreseen - served) / asked < 0.02
    assert served / asked > 0.5
