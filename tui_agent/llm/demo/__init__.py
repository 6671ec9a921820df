"""The demo model: offline, deterministic, no AI, behind the same Protocol as a real one.

It makes real tool calls and answers with what the tools returned, so that everything around a model can be tried
without a key: approvals, checkpoints, the log, retries. `provider` streams, `planner` takes one step, `phrases`
understands a list of forms of words, `tasks` knows how each kind of work goes, `recap` sums a conversation up when its
history is shortened, `sample` is the long answer.
"""

from tui_agent.llm.demo.provider import DemoProvider

__all__ = ["DemoProvider"]
