"""The log of a session on disk, and what it means.

A session's context is a folder of plain files. `context.jsonl` is only ever appended to; what seems to edit history
either appends a record that changes how the others are read (eliding a result) or rewrites the file in one step, with
the old one kept whole beside it as `context_<n>.jsonl`. So every such action can be undone.

The file is UTF-8, one JSON object a line, each line ended by a newline. Ids are ULIDs, made once; a record without one
(other programs' files) is called `L<first 12 hex digits of its line's SHA-256>-<n>`, where n counts equal lines for
messages and elisions and is the line's number for the rest. Records by `role`:

    _system_prompt   content, blocks (layers: layer, source, bytes [from, to)), memories    the newest counts
                     (those it lists: id, rev, scope, key, fp (hash of what is said of it), left (not listed: no room))
    _tools           sha256, tools: the tool set offered                                    the newest counts
    _checkpoint      id (from 0 in each file), uid (for ever), at, turn (a person's words follow)
    user, assistant  content (text or blocks of the Messages API), id, at, and
                     origin: who wrote a user's record when it was not a person: tool, summary, injection, dmail,
                     checkpoint, background, command (one that a person ran), repair
                     model, stop_reason, partial: of an answer; meta: of a result; sources: of an injection (name,
                     fp, and of memories those it tells, as in the prompt, and those that are gone)
                     pinned, priority, ttl, compressible: marks it was written with
    _usage           token_count, exact, through (last record of the request), produced (the answer), input, output,
                     cache_read, cache_write, params (model, max_tokens, thinking), request (its SHA-256); factor: what
                     estimates are multiplied by, carried on by the estimate that a compaction makes
    _elide           id, by, reason, items: record, block (without: the whole record), as (text, or null to drop it);
                     before, after: what the context weighed in tokens, of a batch that was made unasked. A person's
                     text in place of a record's has the reason edit
    _restore_elided  elide, items (without: all)
    _mark            record, by, and marks: pinned, priority, ...                           the newest of each counts
    _state           key, value                                                             the newest of each counts
    _compaction, _rewind   the head record, which ends a rewrite: n, op, at, backup, sha256 and bytes of the backup,
                     to (uid of the checkpoint gone back to), undo, redo (names of backups, or null), records and
                     tokens of the backup, head (offset and length of the head in force in the backup), and figures
                     of the operation: of a compaction replaces (first and last message that went), summary (its
                     record), after (tokens), dropped, trigger, strategy, ...; of an undo restored, undid

Unknown roles are kept and shown. Kimi CLI's files are read as they are.

What is promised:

- Disk first: a record counts only after its write returned; a failed write leaves the file as long as it was.
- A torn last line is closed before the next append. A line that is no record is counted with its number and never
  stops a restore; rewrites leave it in the backup, except undo and redo, which bring a file back byte by byte.
- A rewrite is one step: killed anywhere, the next process finds the state before or after it.
- What is in memory equals what a fresh process reads: history, marks, elisions, state, figures, undo, redo.
- One process writes, any number read. A file that somebody else changed is not written to.
- Going back to a checkpoint takes everything behind it out of the log, elisions and state too; only marks that a
  person set on what remains are carried along. Undo brings back exactly what was.
- A compaction copies what stays byte by byte, in order, with ids, marks, elisions and, from the first message on
  behind which all stays, checkpoints and states too; figures of requests go with the file they are true of.
- Redo is there until a message is appended; what it would have led to stays among the backups.
- Backups are never deleted unless asked; their numbers are never used twice.

The modules: `context` is the door, `reading` its side that only looks, `appending` the one that adds; `writer` and
`rewriting` keep disk and memory in step, with `log` (append, fsync) and `rotate` (rewrite) beneath; `pieces` and
`compacted` say what a rewrite copies. `records` reads a line, `encoding` writes one, `source` holds a file open;
`projection` folds lines into what they mean, kind by kind (`folding`), in columns (`table`) with `elisions` and
`usages`; `views` shows that lazily, `accounting` weighs it by what usages in `pairs` tell, `sent` finds every request
that it and its backups tell of. `backups`, `blobs`, `lease`, `kimi`, `peek`: as they say.

How odd things are read:

- A blank line is nothing, but counts as a line. A byte order mark is passed over. CRLF is fine.
- A message without content, or whose blocks are all elided, is a record but no part of the history.
- An id that is there twice names the first; the second record gets one by its line.
- Numbers that JSON readers do not agree on (1e999, NaN) are null; an integer of over 4300 digits is damage. What is
  nested deeper than 200 levels is cut with a word, deeper than a decoder goes (about 1000) it is damage.
- A usage covers the log up to `through`, or, where nothing but non-messages stands between, up to the checkpoint of
  its step; without `through` up to itself. The answer in `produced` is covered too.
- An elision of a result puts its text in the place of the content, of a call in the place of the arguments (under
  `elided`), of any other block a text block; of a whole record it keeps calls and results so, or else one text.
"""

from tui_agent.context.accounting import Weight
from tui_agent.context.backups import Backup
from tui_agent.context.blobs import BlobStore, OutputStore
from tui_agent.context.context import Context
from tui_agent.context.elisions import Elision
from tui_agent.context.errors import (
    ContextError,
    Holder,
    LogBusy,
    LogChanged,
    LogReadError,
    LogWriteError,
    NoSuchBackup,
    NothingToUndo,
    ReadOnlyLog,
)
from tui_agent.context.records import Record
from tui_agent.context.rewriting import Cause, Keep
from tui_agent.context.table import Damage, Head
from tui_agent.context.views import Checkpoint

__all__ = [
    "Backup",
    "BlobStore",
    "Cause",
    "Checkpoint",
    "Context",
    "ContextError",
    "Damage",
    "Elision",
    "Head",
    "Holder",
    "Keep",
    "LogBusy",
    "LogChanged",
    "LogReadError",
    "LogWriteError",
    "NoSuchBackup",
    "NothingToUndo",
    "OutputStore",
    "ReadOnlyLog",
    "Record",
    "Weight",
]
