"""A session out of its parts: the only file that names the concrete ones (but for the model, see `choice`, and the
tools, see `outfit`).

Everything above (the screen, `-p`, tests) calls `open_session`; nothing below knows who calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent import paths
from tui_agent.agent.approvals import Approvals
from tui_agent.agent.building import assemble, limits_of
from tui_agent.agent.calls import Calls
from tui_agent.agent.checking import taken_in
from tui_agent.agent.commands.every import every_command
from tui_agent.agent.offering import ToolSource
from tui_agent.agent.parts import Parts
from tui_agent.agent.premises import Premises
from tui_agent.agent.prompted import Prompted
from tui_agent.agent.proposing import Proposing
from tui_agent.agent.questions import Questions
from tui_agent.agent.recall import Recall
from tui_agent.agent.reminders import Reminders, moment
from tui_agent.agent.replies import Replies
from tui_agent.agent.requests import Requests
from tui_agent.agent.session import Session
from tui_agent.agent.shelf import ARCHIVED
from tui_agent.choice import Choice
from tui_agent.compaction.priority import Priorities
from tui_agent.context import Context, ContextError, LogBusy
from tui_agent.events import Emit, Event, Notice, SessionOpened, StateChanged
from tui_agent.llm.provider import ProviderError
from tui_agent.memory import lives, markers
from tui_agent.memory.filed import Files
from tui_agent.memory.store import MemoryStore
from tui_agent.opening import Log, read
from tui_agent.opening import OpenError as OpenError  # who opens a session takes it from here
from tui_agent.outfit import serve
from tui_agent.outfit import toolbox as outfit
from tui_agent.planning.briefing import GoalSource
from tui_agent.planning.goal import Goal
from tui_agent.planning.mode import LAPSED, ModeSource
from tui_agent.planning.nag import TodoSource
from tui_agent.planning.plan import Plans, PlanSource
from tui_agent.planning.todo import TodoList
from tui_agent.prompt.extensions import offered
from tui_agent.prompt.injections import Injections
from tui_agent.prompt.remembered import Memories
from tui_agent.prompt.reread import Instructions
from tui_agent.prompt.skills import Found, Skills
from tui_agent.prompt.skills import find as find_skills
from tui_agent.prompt.sources import Budget, ChangedFiles, OwnRules
from tui_agent.prompt.system import OPTION, SETTING, SystemPrompt
from tui_agent.sessions.catalog import Catalog
from tui_agent.sessions.folder import SessionFolder
from tui_agent.settings import secrets
from tui_agent.timeline.timeline import Timeline
from tui_agent.tools.permission import Rules
from tui_agent.workspace.reads import Reads
from tui_agent.workspace.root import find_root, identity

if TYPE_CHECKING:
    from tui_agent.messages.request import Request
    from tui_agent.prompt.injections import InjectionSource
    from tui_agent.prompt.manifest import Manifest
    from tui_agent.settings.schema import Settings
    from tui_agent.tools.mcp.servers import Servers
    from tui_agent.tools.permission import Mode


async def open_session(
    workspace: Path,
    settings: Settings,
    *,
    resume: str | None = None,
    profile: str | None = None,
    model: str = "",
    demo: bool = False,
    append_system: str = "",
    mode: Mode | None = None,
    allow: Sequence[str] = (),
    listen: Callable[[Event], None] | None = None,
    log: Log | None = None,
    attended: bool = True,
) -> Session:
    """Open a new session in a folder, or an old one: `resume` is `latest`, an id or its beginning, or a path.

    `model` is asked in place of the profile's. Without a key for the profile's endpoint the demo model answers, and a
    notice says how to connect. `mode` is in force in the place of the log's. `allow` adds rules for this session alone.
    `listen` hears every event from the first on. A session that another process writes is opened to be read. `log` is
    the session's, if it was read already by the same arguments. `attended` False: nobody is there to be asked.

    Raises:
        OpenError: there is no such session, its log cannot be read, or a rule of `allow` is none.
        SettingsError: there is no such profile.
    """
    workspace = workspace.resolve()
    log = log or await read(workspace, settings, resume=resume, listen=listen)
    folder, context, bus = log.folder, log.context, log.bus
    try:
        rules = _rules(settings, allow)
        choose = Choice(settings, folder)
        chosen = await asyncio.to_thread(
            choose.first, profile, demo=demo, model=model
        )  # a keyring may ask the person
    except (ValueError, OpenError) as error:
        await log.abandon()
        raise OpenError(str(error)) from error
    context.assign = Priorities(settings.compaction.priorities).of
    questions = Questions(bus.emit)
    todo, reads = TodoList(context), Reads()
    goal = Goal(context, lambda value: bus.emit(StateChanged("goal", value)), secrets.redact)
    plans = Plans(context, todo, ask=questions.ask, emit=bus.emit, redact=secrets.redact)
    toolbox = outfit(workspace, folder, reads, todo, goal, plans, bus.emit)
    servers = await serve(
        toolbox,
        workspace,
        settings,
        context,
        window=lambda: session.window,
        emit=bus.emit,
        ask=questions.ask if attended else None,
    )
    recall = _recall(workspace, folder, context, lambda: session.window, bus.emit)
    prompt = _prompt(workspace, append_system, recall, lambda: session.settings.prompt.append_system)
    rules.guides = lambda: prompt.imported

    def skills() -> Found:
        wanted = session.settings.prompt
        if not wanted.skills:
            return Found()
        home = Path.home() if wanted.claude_skills else None
        return find_skills(workspace, paths.config_dir(), find_root(workspace), home)

    premises = Premises(context, prompt, toolbox.offer, bus.emit, skills)

    async def save_rule(rule: str) -> None:
        from tui_agent.settings.save import add_rule  # not needed to open a session

        await asyncio.to_thread(add_rule, settings.file, rule)

    proposing = Proposing(
        recall=recall,
        context=context,
        emit=bus.emit,
        redact=secrets.redact,
        keep=lambda: session.settings.memory.keep_markers,
    )
    files = ChangedFiles(reads, workspace)
    bus.listen(files.hear)
    sources: list[InjectionSource] = [  # each tells the model of one thing that changes
        Instructions(prompt.instructions, prompt.untold, bus.emit),
        Memories(recall.changes),
        OwnRules(lambda: session.settings.prompt.rules),
        files,
        Skills(skills, bus.emit),
        Budget(),
        ToolSource(toolbox),
        PlanSource(),
        ModeSource(),
        TodoSource(),
        GoalSource(),
    ]
    if servers is not None:
        sources.append(Prompted(servers))
    injections = Injections(context, sources, emit=bus.emit, more=offered)
    reminders = Reminders(injections, lambda words: moment(session, words))
    replies = Replies(
        context=context,
        provider=chosen.provider,
        level=chosen.thinking,
        emit=bus.emit,
        proposing=proposing,
    )
    replies.unsent = reminders.unsent
    session = Session(
        Parts(
            folder=folder,
            workspace=workspace,
            settings=settings,
            context=context,
            timeline=Timeline(context),
            todo=todo,
            plans=plans,
            goal=goal,
            memories=recall,
            remind=reminders.remind,
            bus=bus,
            questions=questions,
            replies=replies,
            calls=Calls(
                toolbox=toolbox,
                approvals=Approvals(
                    rules, questions, mode=lambda: plans.mode.allows, save=save_rule, emit=bus.emit
                ),
                context=context,
                outputs=folder.outputs,
                blobs=folder.blobs,
                emit=bus.emit,
                redact=secrets.redact,
                redacting=secrets.Stream,
            ),
            commands=every_command(),
            rules=rules,
            redact=secrets.redact,
            chosen=chosen,
            toolbox=toolbox,
            servers=servers,
            choose=choose.named,
            choose_from=choose.take,
            premises=premises,
            attended=attended,
            on_compacted=(injections.on_compacted,),
        ),
        title=folder.meta.title,
    )
    came_from = _copied_from(folder, resume)
    repaired = [] if came_from is None else await taken_in(context, chosen.provider.model)
    repaired += await _settle_in(session, premises.write_missing)
    bus.emit(
        SessionOpened(
            session=session.id,
            title=session.title,
            workspace=str(workspace),
            model=session.model,
            demo=session.demo,
            window=session.window,
            resumed=resume is not None,
            repaired=tuple(repaired),
            guessed=session.guessed,
        )
    )
    session.shrinking.rotated()
    if came_from is not None:
        await recall.carry_over(came_from)
    elif not session.read_only:
        await recall.follow()
        await proposing.reopen()
    if resume == "latest" and not len(context.records):
        bus.emit(Notice("there is no session here to go on with: this is a new one", "info", "session"))
    if folder.meta.archived and not session.read_only:
        bus.emit(Notice(ARCHIVED, "info", "session"))
    for text in choose.notices:
        bus.emit(Notice(text, "info", "model"))
    for text in await premises.differences():
        bus.emit(Notice(text, "info", "session"))
    if mode is not None and not session.read_only:
        plans.mode.begin(mode)
    if plans.mode.lapsed:
        bus.emit(Notice(LAPSED, "info", "mode"))
    session.weigh(lacking=await asyncio.to_thread(premises.lacking))
    session.beside(_ask_limits(session), "limits")
    if servers is not None and not session.read_only:
        premises.settled = servers.settled
        session.beside(_begin(session, servers), "mcp")
    return session


def catalog() -> Catalog:
    """The sessions of the user, and what belongs to them elsewhere."""
    return Catalog(follow=lives.follow, clean=markers.clean)


async def follow_history(context: Context, emit: Emit) -> None:
    """Let memories follow a history that was rewritten without a session."""
    folder = SessionFolder(context.path.parent)
    await _recall(Path(folder.meta.workspace), folder, context, lambda: 0, emit).follow()


async def open_log(path: Path) -> Context:
    """Any log, to be looked at: no lease is taken and nothing is written.

    Raises:
        LogReadError: it cannot be read.
    """
    context = Context(path, read_only=True)
    await context.restore()
    return context


def requests_in(context: Context) -> Requests:
    """The requests of a log that is only looked at: those that were sent."""
    return Requests(context)


async def preview_request(
    context: Context,
    workspace: Path,
    settings: Settings,
    *,
    profile: str | None = None,
    append_system: str = "",
) -> tuple[Request, Manifest]:
    """The request that the next prompt would send, from the log alone; nothing is written.

    What a new log lacks (its prompt, its tools) is taken as it would be written. The endpoint is asked only if the
    profile names no model: limits that settings leave open come from the table of known models.

    Raises:
        DoesNotFit: there is no room for it.
        OpenError: no model is named, and the endpoint does not tell.
        SettingsError: there is no such profile.
    """
    choice = Choice(settings, SessionFolder(context.path.parent))
    chosen = await asyncio.to_thread(choice.first, profile, demo=False)
    provider = chosen.provider
    if not provider.model:
        try:
            await provider.prepare()
        except ProviderError as error:
            raise OpenError(
                f"profile {chosen.profile} names no model, and none can be asked: {error}"
            ) from error
    context.model = provider.model
    folder = SessionFolder(context.path.parent)
    recall = _recall(workspace, folder, context, lambda: provider.window, lambda event: None)
    prompt = _prompt(workspace, append_system, recall, lambda: settings.prompt.append_system)
    layers = await asyncio.to_thread(prompt.layers)
    goal = Goal(context, lambda value: None)
    todo = TodoList(context)
    plans = Plans(context, todo, emit=lambda event: None)
    toolbox = outfit(workspace, folder, Reads(), todo, goal, plans, lambda event: None)
    await serve(
        toolbox, workspace, settings, context, window=lambda: provider.window, emit=lambda event: None
    )
    limits = limits_of(provider, chosen.thinking)
    return await asyncio.to_thread(assemble, context, limits, layers=layers, tools=toolbox.offer())


def _rules(settings: Settings, allow: Sequence[str]) -> Rules:
    try:
        rules = Rules(settings.approvals.allow)
    except ValueError as error:
        raise OpenError(f"{settings.file or 'settings'}: approvals.allow: {error}") from error
    for rule in allow:
        rules.remember(rule)
    return rules


def _recall(
    workspace: Path, folder: SessionFolder, context: Context, window: Callable[[], int], emit: Emit
) -> Recall:
    return Recall(
        store=MemoryStore(paths.memory_db()),
        files=Files(paths.profile_file(), find_root(workspace)),
        context=context,
        session=folder.id,
        workspace=identity(workspace),
        window=window,
        emit=emit,
    )


def _copied_from(folder: SessionFolder, resume: str | None) -> str | None:
    """The folder whose log was copied just now to begin this session with, by name: a session's id if it is ours."""
    if resume is None or not (source := folder.meta.forked_from):
        return None
    log = Path(source)
    if Path(resume).expanduser().resolve() not in (log, log.parent):
        return None
    return log.parent.name


def _prompt(workspace: Path, option: str, recall: Recall, setting: Callable[[], str]) -> SystemPrompt:
    return SystemPrompt(
        root=find_root(workspace),
        folder=workspace,
        profile=paths.profile_file(),
        own=lambda: {SETTING: setting(), OPTION: option},
        memories=recall.snapshot,
    )


async def _settle_in(session: Session, prepare: Callable[[], Awaitable[None]]) -> list[str]:
    """Take the log for writing if there is something to mend; tell if somebody else has it.

    A log gets what it lacks first (`prepare`) where the record of a command that was cut off may be its first.
    """
    context = session.context
    damaged = len(context.damage)
    repaired = [f"{damaged} damaged line{'s are' if damaged > 1 else ' is'} left out"] if damaged else []
    cut_off = session.folder.running_path.exists()
    if not len(context.records) and not cut_off:
        return repaired
    try:
        await context.hold()
        if cut_off:
            await prepare()
        mended = await session.mend()
        await session.driver.reopen()
        return repaired + mended
    except LogBusy as error:
        session.read_only = (
            f"the session can only be read here: {error.who} writes it. Close it there to go on"
        )
    except ContextError as error:
        session.read_only = f"the session can only be read: {error}"
    session.emit(Notice(session.read_only, "warning", "session"))
    return repaired


async def _begin(session: Session, servers: Servers) -> None:
    """Get to know the servers; a new log's tools are weighed again once they are known."""
    await servers.begin()
    await servers.learned()
    if session.context.tools is None:
        session.weigh(lacking=await asyncio.to_thread(session.premises.lacking))


async def _ask_limits(session: Session) -> None:
    try:
        await session.prepare()
    except ProviderError as error:
        session.emit(Notice(f"{error}", "warning", "model"))
