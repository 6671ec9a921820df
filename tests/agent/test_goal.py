"""A goal in a real session: turns that nobody speaks in, what stops them, and that nothing loses it."""

from __future__ import annotations

from pathlib import Path

from tests.support.engine import engine
from tests.support.server import Reply, ScriptedServer
from tui_agent.events import UsageReported


async def test_it_goes_on_by_itself_until_the_model_says_that_it_is_complete(tmp_path: Path) -> None:
    async with ScriptedServer() as server, engine(tmp_path, server, allow=["bash"]) as run:
        server.script(
            Reply.tools(("goal", {"add": ["one", "two"]})),
            Reply.text("planned"),
            Reply.tools(("bash", {"command": "echo one"}), ("goal", {"done": [1]})),
            Reply.text("one is done"),
            Reply.tools(("goal", {"done": [2], "status": "complete", "reason": "both are there"})),
            Reply.text("all done"),
        )
        await run.session.perform("goal", "do one and two")
        await run.session.until_idle()
        state = run.session.goal.now
        assert state is not None
        assert (state.status, state.reason, state.done) == ("complete", "both are there", 2)
        assert state.spent.turns == 3 and len(server.requests) == 6
        assert state.spent.tokens == sum(usage.total for usage in run.all(UsageReported))
