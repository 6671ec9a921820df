"""Events in words: each state, result and failure as a line that says what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent import changes, literal
from tui_agent import events as said
from tui_agent.ui import words
from tui_agent.ui.plain import compacting
from tui_agent.ui.plain.reading import change, count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui_agent.events import Event
    from tui_agent.ui.plain.voice import Voice

_TITLE = 200
"""Characters of a call's main argument."""
_OWN_LINES, _ERROR_LINES = 100, 3
"""Lines that are read out of what a person's own command printed, and of a failure."""
_REASONS = {
    "end_turn": "done",
    "stop_sequence": "done",
    "cancelled": "stopped",
    "planned": "done, with the plan",
    "denied": "stopped, because you said no",
    "failed": "failed",
    "budget": "stopped, because the budget of the goal is spent",
    "max_tokens": "the answer was cut: it reached the longest length that the model may write",
    "refusal": "the model declined to answer",
}


class Telling:
    """Tells a `Voice` what happens; `clock` gives seconds. `output` is the last result of a call, whole, in words."""

    def __init__(self, voice: Voice, clock: Callable[[], float]) -> None:
        self._voice = voice
        self._clock = clock
        self.output = ""
        self.doing = ""
        """What happens now, in words; empty while nothing runs."""
        self.sends = False
        """Words are on their way to an idle session."""
        self._since = self._heard = clock()
        self._thinks = self._told = False
        """Thinking and text of the open reply were told of."""
        self._block = 0
        self._calls: dict[str, bool] = {}
        """The calls under way, and whether their beginning was told."""
        self._weight: said.Weighed | None = None
        self._trouble: set[str] = set()
        self._attempt = 0
        self._in_turn = False
        self._goal: object = None
        """The goal, as the log keeps it."""
        self._stage = ""

    def hear(self, event: Event) -> None:
        """Something happened."""
        self._heard = self._clock()
        match event:
            case said.TextDelta(text=text, block=block):
                self._do("answering")
                if block != self._block:
                    self._voice.end_piece()
                    self._block = block
                self._told = self._told or bool(text.strip())
                self._voice.piece(text, "model")
            case said.ThinkingDelta():
                if not self._thinks:
                    self._do("thinking")
                    self._voice.say("thinking", "model")
                self._thinks = True
            case said.ToolUseDelta(tool=tool):
                self._do(f"writing a call of {literal.one_line(tool, _TITLE)}")
            case said.ReplyEnded() | said.StepStarted():
                self._thinks = self._told = False
                self._voice.end_piece()
            case said.ReplyDropped(reason=reason) if self._told:
                self._told = False
                self._voice.say(f"the answer above does not count: {reason}", "model")
            case said.ToolStarted():
                self._started(event)
            case said.ToolEnded():
                self._ended(event)
            case said.Weighed():
                self._weight = event
            case said.TurnStarted(goal=goal):
                self.sends, self._in_turn = False, True
                self._trouble.clear()
                self._do("asking the model")
                self._voice.say(self._alone() if goal else "working", "model")
            case said.TurnEnded():
                self._turn_ended(event)
            case _:
                self._beside(event)

    def _alone(self) -> str:
        """That a turn begins in which nobody spoke, what such turns took, and how they end."""
        from tui_agent.planning.goal import STATE_KEY, read  # not needed before somebody sets a goal

        state = read({STATE_KEY: self._goal})
        took = f", {', '.join(state.figures())}" if state is not None else ""
        return f"working on the goal by itself{took}; ctrl+c stops it"

    def _beside(self, event: Event) -> None:
        """What happens beside the turns, and what goes wrong."""
        match event:
            case said.SessionOpened(repaired=texts):
                for text in texts:
                    self._voice.say(text, "warning")
            case said.Notice(text=text, level=level):
                self._voice.say(text, {"info": "note"}.get(level, level))
            case said.RetryWaiting(attempt=attempt):
                if attempt != self._attempt:
                    self._voice.say(
                        f"{event.reason}; asking again in {_seconds(event.seconds)}, "
                        f"attempt {attempt} of {event.attempts}",
                        "retry",
                    )
                self._attempt = attempt
            case said.RequestFailed(message=message, ways=ways):
                self._fail(message, ways)
            case changes.LogFailed(message=message, ways=ways):
                self._fail(f"the session could not be written. {message}", ways)
            case said.StateChanged(key="mode", value=mode) if self._in_turn:
                self._voice.say(f"the mode is {mode} now", "note")
            case said.StateChanged(key="goal", value=value):
                self._goal = value
            case changes.LogRecovered():
                self._voice.say("the session is written again", "note")
            case said.Reminded(told=told, left=left):
                if told:
                    self._voice.say(f"the model is told: {', '.join(one.short for one in told)}", "note")
                for missing in left:
                    self._voice.say(f"not told: {missing.source}: {missing.why}", "warning")
            case said.ModelChanged(model=model):
                self._voice.say(f"{model} answers from now on", "note")
            case said.QueueChanged(prompts=prompts, paused=paused) if prompts:
                self.sends = not (paused or self.doing)
                if not self.sends:
                    self._voice.say(_waiting(prompts, paused=paused), "note")
            case said.Answered(answer=answer) if answer.verdict == "dismissed":
                self._voice.say("the question is taken back", "note")
            case _:
                self._compaction(event)

    def _compaction(self, event: Event) -> None:
        """What becomes of the context: it is summarised, or old results are shortened."""
        stage = event.stage if isinstance(event, changes.CompactionStage) else ""
        if stage and stage == self._stage:
            return  # a strategy may begin with what was said before it
        self._stage = stage
        for text, label in compacting.told(event):
            self._voice.say(text, label)
        if isinstance(event, changes.CompactionStarted) and event.trigger != "ahead":
            self._do("compacting")
        elif isinstance(event, compacting.ENDS) and self.doing == "compacting":
            self._do("asking the model" if self._in_turn else "")

    def since(self) -> float:
        """Seconds since anything happened."""
        return self._clock() - self._heard

    def still(self) -> None:
        """Say that it still runs."""
        self._voice.say(f"still {self.doing}, {_seconds(self._clock() - self._since)}", "model")

    def weight(self) -> str:
        """How full the context is."""
        weight = self._weight
        if weight is None:
            return "the context is not weighed yet"
        about = "" if weight.mark == "exact" and not weight.pending else "about "
        window, share = "", ""
        if weight.window:
            said = words.window(weight.window, guessed=weight.guessed)
            window, share = f" of {said}", f", {weight.total / weight.window:.0%}"
        return f"context {about}{weight.total:,}{window} tokens{share}"

    def _do(self, doing: str) -> None:
        if doing != self.doing:
            self.doing, self._since = doing, self._clock()

    def _started(self, event: said.ToolStarted) -> None:
        """A call begins: told once, as soon as its main argument is known."""
        self._do(f"running {literal.one_line(event.tool, _TITLE)}")
        told = self._calls.get(event.call)
        if told or (told is None and not event.title):
            self._calls.setdefault(event.call, False)
            return
        self._calls[event.call] = True
        self._voice.say(f"called, {_line(event.title)}".rstrip(", "), _tool(event.tool))

    def _ended(self, event: said.ToolEnded) -> None:
        self.output = "\n".join(change(event.diff)) if event.diff else event.text
        said_so: list[str] = [event.outcome]
        if not self._calls.pop(event.call, False) and event.title:
            said_so.append(_line(event.title))
        if event.summary and not event.diff:
            said_so.append(_line(event.summary))
        if event.diff:
            lines = event.diff.split("\n")
            more = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
            less = sum(line.startswith("-") and not line.startswith("---") for line in lines)
            said_so.append(f"{more} {'line' if more == 1 else 'lines'} added, {less} removed")
        said_so += [words.size(event.size), _seconds(event.seconds)]
        self._voice.say(", ".join(said_so), _tool(event.tool))
        self._tell_result(event)
        self._do("asking the model")

    def _tell_result(self, event: said.ToolEnded) -> None:
        """What the person has to know of it: what their own command printed, and why a call failed."""
        lines = event.text.strip().split("\n")
        most = _OWN_LINES if event.tool.startswith("!") else 0 if event.outcome == "ok" else _ERROR_LINES
        for line in lines[:most]:
            self._voice.say(f"| {line}")
        if most and len(lines) > most:
            self._voice.say(
                f"{count(len(lines) - most, 'more line', 'more lines')}; /output reads it", "note"
            )

    def _turn_ended(self, event: said.TurnEnded) -> None:
        self._calls.clear()
        self.doing, self._thinks, self._attempt, self._in_turn = "", False, 0, False
        if event.error and event.error not in self._trouble:
            self._fail(event.error, ())
        reason = _REASONS.get(event.reason, event.reason)
        steps = count(event.steps, "step", "steps")
        self._voice.say(f"{reason}: {steps}, {_seconds(event.seconds)}, {self.weight()}", "model")

    def _fail(self, message: str, ways: Sequence[str]) -> None:
        self._trouble.add(message)
        self._voice.say("\n".join([message, *(f"you can: {way}" for way in ways)]), "error")


def _tool(name: str) -> str:
    return f"tool {literal.one_line(name, _TITLE)}"


def _line(text: str) -> str:
    return literal.one_line(text.strip(), _TITLE)


def _seconds(value: float) -> str:
    return count(round(value), "second", "seconds")


def _waiting(prompts: Sequence[said.QueuedPrompt], *, paused: bool) -> str:
    count = "1 message of yours waits" if len(prompts) == 1 else f"{len(prompts)} messages of yours wait"
    if paused:
        return f"{count}; sent with the next one that you send"
    ends = all(prompt.when == "turn" for prompt in prompts)
    return f"{count}; sent at the end of the turn" if ends else f"{count}; sent at the next step"
