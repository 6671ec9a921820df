"""Pictures that a person sends: stored first, sent before the words, and given back with them."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.engine import engine, reread
from tests.support.script import Hold, Reply
from tests.support.server import ScriptedServer
from tui_agent.changes import Rotated
from tui_agent.commands import CommandError
from tui_agent.events import QueueChanged, TurnEnded, TurnStarted
from tui_agent.messages.lint import lint


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as scripted:
        yield scripted


def png(width: int = 40, height: int = 30, color: str = "red") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), color).save(buffer, "PNG")
    return buffer.getvalue()


def sizes(blocks: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [
        Image.open(io.BytesIO(base64.b64decode(block["source"]["data"]))).size
        for block in blocks
        if block["type"] == "image"
    ]


async def test_pictures_are_stored_first_and_sent_before_the_words(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("a red one"))
    async with engine(tmp_path, server) as run:
        images = [await run.session.picture(png(40, 30), "a"), await run.session.picture(png(50, 20), "b")]
        assert run.session.folder.blobs.get(images[0]["source"]["sha256"]) == png(40, 30)
        await run.session.submit("look at [Image #1] and [Image #2]", images=images)
        await run.until(TurnEnded)
        assert run.all(TurnStarted)[0].images == tuple(images)
        message = (await reread(run)).history[0]
        assert [block["type"] for block in message.content] == ["image", "image", "text"]
        assert message.content[0]["source"]["type"] == "blob"
        assert message.text == "look at [Image #1] and [Image #2]"
        assert run.session.title == "look at [Image #1] and [Image #2]"
    sent = server.requests[0]["messages"][0]["content"]
    assert sizes(sent) == [(40, 30), (50, 20)]


async def test_a_large_picture_is_scaled_to_what_many_in_a_request_may_have(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("large"))
    async with engine(tmp_path, server) as run:
        images = [await run.session.picture(png(9000, 30), "wide") for _ in range(21)]
        source = images[0]["source"]
        assert max(source["width"], source["height"]) == 2000
        await run.session.submit("look", images=images)
        await run.until(TurnEnded)
    assert len(sizes(server.requests[0]["messages"][0]["content"])) == 21


@pytest.mark.parametrize("data", [b"", b"no picture", png()[:60]])
async def test_what_is_no_picture_is_refused_in_words(
    data: bytes, tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        with pytest.raises(CommandError, match=r"dot\.png"):
            await run.session.picture(data, "dot.png")


async def test_pictures_wait_with_their_words_and_come_back_with_them(
    tmp_path: Path, server: ScriptedServer
) -> None:
    hold = Hold()
    server.script(Reply.text("one").holding(hold), Reply.text("two"))
    async with engine(tmp_path, server) as run:
        image = await run.session.picture(png(), "dot")
        await run.session.submit("first")
        await run.until(TurnStarted)
        await run.session.submit("[Image #1] now", images=[image])
        await run.session.submit("[Image #1] later", when="turn", images=[image])
        waiting = run.session.queue
        assert [prompt.images for prompt in waiting] == [(image,), (image,)]
        assert run.session.withdraw(waiting[1].id) == waiting[1]
        assert run.session.withdraw(waiting[1].id) is None
        assert run.all(QueueChanged)[-1].prompts == waiting[:1]
        hold.release.set()
        await run.until(TurnEnded)
        await run.session.until_idle()
        said = [message for message in run.context.history if message.is_words]
        assert [block["type"] for block in said[1].content] == ["image", "text"]
    assert sizes(server.requests[1]["messages"][-1]["content"]) == [(40, 30)]


async def test_going_back_gives_the_pictures_back(tmp_path: Path, server: ScriptedServer) -> None:
    server.script(Reply.text("one"))
    async with engine(tmp_path, server) as run:
        image = await run.session.picture(png(), "dot")
        await run.session.submit("[Image #1]", images=[image])
        await run.until(TurnEnded)
        await run.session.until_idle()
        await run.session.perform("revert", "0")
        rotated = run.all(Rotated)[-1]
        assert (rotated.words, rotated.images) == ("[Image #1]", (image,))


async def test_a_picture_of_another_session_of_the_workspace_is_taken_over(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.script(Reply.text("one"), Reply.text("two"))
    async with engine(tmp_path, server) as run:
        image = await run.session.picture(png(), "dot")
        await run.session.submit("[Image #1]", images=[image])
        await run.until(TurnEnded)
        first = run.session.folder
    async with engine(tmp_path, server) as run:
        assert run.session.folder.path != first.path
        await run.session.submit("[Image #1] again", images=[image])
        await run.until(TurnEnded)
    assert sizes(server.requests[1]["messages"][0]["content"]) == [(40, 30)]


async def test_a_picture_that_is_gone_is_said_and_nothing_is_sent(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async with engine(tmp_path, server) as run:
        image = await run.session.picture(png(), "dot")
        (run.session.folder.blobs.folder / image["source"]["sha256"]).unlink()
        with pytest.raises(CommandError, match="picture 1 of these words is not kept any more"):
            await run.session.submit("[Image #1]", images=[image])
        assert run.session.queue == ()
    assert server.requests == []


async def test_the_demo_model_takes_a_message_with_a_picture(tmp_path: Path) -> None:
    async with engine(tmp_path) as run:
        image = await run.session.picture(png(), "dot")
        before = run.context.weigh().total
        await run.session.submit("hello [Image #1]", images=[image])
        assert (await run.until(TurnEnded)).reason == "end_turn"
        assert run.context.weigh().total > before
        assert not lint(run.context.history[:1], model=run.session.provider.model)[1]
