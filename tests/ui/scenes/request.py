"""The exact request, and what does not fit in it."""

from __future__ import annotations

from tests.ui.context import conversation
from tests.ui.fake import FakeSession
from tests.ui.scenes.scene import scene
from tests.ui.stage import Stage
from tui_agent.messages.blocks import text_block
from tui_agent.messages.tokens import Tokens
from tui_agent.prompt.manifest import Item


def _requested(session: FakeSession) -> None:
    conversation(session.context, 3)
    goal = "<system-reminder>\nThe goal: reports as JSON.\n</system-reminder>"
    session.context.say("user", text_block(goal), origin="injection")
    session.requests.send(4, turn=0, read=0)
    session.requests.send(8, turn=2, predicted=16_900)
    session.requests.send(10, turn=4, predicted=17_010)
    for name, kind, reason in (
        ("read_file", "result", "shortened: to make room"),
        ("bash", "result", "shortened: to make room"),
        ("style", "memory", "no room: newer memories fill what they may take"),
    ):
        tokens = Tokens(690, "estimated")
        session.requests.left.append(Item("messages", kind, name, tokens, kept=False, reason=reason))  # type: ignore[arg-type]


async def _request(made: Stage, *keys: str) -> None:
    await made.press("ctrl+x", "v")
    await made.until(lambda: made.chat.panel is not None and "what is sent" in made.text)
    if keys:
        await made.press(*keys)


@scene("request", "the next request", "your words", "left out", "framing", fill=_requested)
async def _request_tree(made: Stage) -> None:
    await _request(made)


@scene("request_found", "hit 1 of 3", "claude-sonnet-5-5", fill=_requested)
async def _request_found(made: Stage) -> None:
    await _request(made, "j")
    await made.until(lambda: "as JSON" in made.text)
    await made.type("/system")
    await made.until(lambda: "hit 1 of 3" in made.text)


@scene("request_older", "request 2", "17,000 read", "cache 95%", "the endpoint counts", fill=_requested)
async def _request_older(made: Stage) -> None:
    await _request(made, "o", "o")
    await made.until(lambda: "request 2" in made.text)
    await made.press("x")
    await made.until(lambda: "the endpoint counts" in made.text)


@scene("requests", "every request of this session", "3 requests", "95%", fill=_requested)
async def _requests(made: Stage) -> None:
    await _request(made, "l")
    await made.until(lambda: "every request" in made.text)


@scene("request_diff", "what differs", "request 2 ->", "added", fill=_requested)
async def _request_diff(made: Stage) -> None:
    await _request(made, "o", "o")
    await made.until(lambda: "request 2" in made.text)
    await made.press("m", "n")
    await made.until(lambda: "request 3" in made.text)
    await made.press("n")
    await made.until(lambda: "the next request" in made.text)
    await made.press("d")
    await made.until(lambda: "what differs" in made.text)


def _too_full(session: FakeSession) -> None:
    conversation(session.context, 3)
    session.window = 19_000
    session.requests.ways = (
        "compact (/compact)",
        "elide the largest item, record 12 (bash, about 1,400 tokens less) (/elide 12)",
        "switch to a model with a window of 20,962 tokens or more (/model)",
    )
    session.requests.stays = {session.context.history[-1].id: "newest words"}


@scene("request_too_large", "does not fit", "ways out", "/compact", fill=_too_full)
async def _request_too_large(made: Stage) -> None:
    await made.press("ctrl+x", "v")
    await made.until(lambda: "ways out" in made.text)
