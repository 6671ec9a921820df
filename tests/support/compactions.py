"""A compaction as it is told when it is done, for what shows it."""

from tui_agent.changes import CompactionCompleted

COMPACTED = CompactionCompleted(
    trigger="auto",
    strategy="summary",
    before=150_212,
    after=41_300,
    seconds=12.4,
    backup="context_3.jsonl",
    summary="s1",
    text="## Done",
    replaced=34,
    kept=("the last 2 messages", "1 pinned message"),
    input=149_800,
    output=1_204,
    cache_read=140_000,
    cost=0.043,
    mark="exact",
)
"""Done by itself; a test puts in its place what it is about."""
