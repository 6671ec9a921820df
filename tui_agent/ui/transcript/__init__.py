"""The transcript: one line-API view.

    events  -> live     -+
    history -> entries  -+-> layout (where each entry stands) -> sheet (a scroll view) -> view.Transcript
                               |            |
                       render (of which     paint (a part as rows, kept while near)
                       parts it consists)
                               |
            stream (Markdown in chunks), markdown, inline, code, diff -> lines

`Transcript` takes a history (`load`) and events (`feed`) and posts `CheckpointChosen`, `LinkChosen` and `NewLines`.
"""
