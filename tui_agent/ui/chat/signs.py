"""A text area in which signs are one thing each: the cursor steps over them, and what touches one takes it whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Selection

from tui_agent import literal
from tui_agent.ui.chat.attachments import SIGN, Prompt, is_long, sign_of_image, sign_of_paste

if TYPE_CHECKING:
    from rich.text import Text
    from textual.widgets.text_area import Location

    from tui_agent.messages.blocks import Block


class Signed(TextArea):
    """A text area over a `Prompt`. What a sign stood for is kept after the sign is deleted: it may be undone."""

    _pastes: dict[str, str]
    _images: dict[str, Block]

    @property
    def prompt(self) -> Prompt:
        """The words, and what the signs in them stand for."""
        return Prompt(self.text, self._pastes, self._images).only(self.text)

    def show(self, prompt: Prompt) -> None:
        """Make `prompt` what is written, the cursor at its end."""
        self._pastes, self._images = dict(prompt.pastes), dict(prompt.images)
        self.text = literal.visible(prompt.text)
        self.move_cursor(self.document.end)

    def write(self, text: str) -> None:
        """Put `text` in place of the selection, or where the cursor is."""
        result = self._replace_via_keyboard(literal.visible(text), *self.selection)
        if result is not None:
            self.move_cursor(result.end_location)

    def write_paste(self, text: str) -> None:
        """Put a paste where the cursor is: as it is, or a sign for it if it is long."""
        if not is_long(text):
            self.write(text)
            return
        sign = sign_of_paste(text, self._taken)
        self._pastes[sign] = literal.clean(text)
        self.write(sign)

    def write_image(self, image: Block) -> None:
        """Put a sign for a picture where the cursor is."""
        sign = sign_of_image(self._taken)
        self._images[sign] = image
        self.write(f"{sign} ")

    @property
    def _taken(self) -> str:
        return " ".join([self.text, *self._pastes, *self._images])

    # --- signs are whole

    def _spans(self, row: int) -> list[tuple[int, int]]:
        """Where the signs of a row begin and end."""
        if (not self._pastes and not self._images) or not 0 <= row < self.document.line_count:
            return []
        return [
            match.span()
            for match in SIGN.finditer(self.document.get_line(row))
            if match[0] in self._pastes or match[0] in self._images
        ]

    def _outside(self, location: Location, *, forward: bool) -> Location:
        """The location, or the end of the sign that it lies in."""
        row, column = location
        for start, end in self._spans(row):
            if start < column < end:
                return row, end if forward else start
        return location

    def _validate_selection(self, selection: Selection) -> Selection:
        start, end = super()._validate_selection(selection)
        cursor = self._outside(end, forward=end > self.selection.end)
        return Selection(cursor if start == end else self._outside(start, forward=start > end), cursor)

    def edit(self, edit: Edit) -> EditResult:
        """Perform an edit; a sign that it takes a part of is taken whole."""
        if edit.from_location != edit.to_location:
            top, bottom = sorted((edit.from_location, edit.to_location))
            edit.from_location = self._outside(top, forward=False)
            edit.to_location = self._outside(bottom, forward=True)
        return super().edit(edit)

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        for start, end in self._spans(line_index):
            line.stylize("bold", start, end)
        return line
