"""The transcript: one line-API view.

    events  -> live     -+
    history -> entries  -+-> layout (where each entry stands) -> sheet (a scroll view) -> view.Transcript
                               |            |
                       render (of which     paint (a part as rows, kept while near)
                       parts it consists)
                               |
            stream (Markdown in chunks), markdown, inline, code, diff, pages -> lines, each with its origin

    live (gives out events) -> reply (what is being written), calls (whose end has not come)

    said (what an entry says in words) + origin (which characters of that a line shows)
         -> selection (what is between two places) -> places (from rows) -> selecting (by mouse and by keys)
         -> pointing (a cursor on a block)

    search (which messages hold some words) -> seek (goes to hits and turns, marks hits on rows)
    paper (all of it as plain text, for a pager)

`Transcript` takes a history (`load`) and events (`feed`) and posts `CheckpointChosen`, `LinkChosen`,
`NewLines`, `HitWanted` and `SelectionChanged`.
"""
