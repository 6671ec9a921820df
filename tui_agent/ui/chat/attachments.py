"""What a person writes: words in which signs stand for long pastes and pictures.

`[Pasted #1, 240 lines]` stands for a paste that would fill the composer, `[Image #1]` for a picture. A `Prompt` is the
words with what their signs stand for. It is sent whole: pastes in their places, and the pictures, numbered as they
come, before the words, in which their signs stay. A sign that is gone from the words takes what it stood for with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from tui_agent.messages.blocks import Block

MOST_LINES = 10
MOST_CHARACTERS = 1000
"""A paste with more lines or characters than these is folded to a sign."""

SIGN = re.compile(r"\[(?:Pasted #\d+, [\d,]+ (?:lines|characters)|Image #\d+)\]")
_NUMBER = re.compile(r"#(\d+)")


class Prompt(Struct, frozen=True):
    """Words as they stand in the composer, and what their signs stand for."""

    text: str = ""
    pastes: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[str, Block] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.text.strip())

    @property
    def words(self) -> str:
        """All the words as they are sent: pastes in their places, the signs of pictures numbered as they come."""
        if not self.pastes and not self.images:
            return self.text
        numbers = {sign: f"[Image #{number}]" for number, sign in enumerate(self._shown(), 1)}
        return _replaced(self.text, {**numbers, **self.pastes})

    @property
    def pictures(self) -> tuple[Block, ...]:
        """The pictures, in the order in which their signs come."""
        return tuple(self.images[sign] for sign in self._shown())

    @property
    def unfolded(self) -> str:
        """The words with pastes in their places, the signs of pictures as they are."""
        return _replaced(self.text, self.pastes)

    def _shown(self) -> list[str]:
        found = dict.fromkeys(match[0] for match in SIGN.finditer(self.text))
        return [sign for sign in found if sign in self.images]

    def only(self, text: str) -> Prompt:
        """Other words, with what is left of the signs."""
        signs = {match[0] for match in SIGN.finditer(text)}
        pastes = {sign: paste for sign, paste in self.pastes.items() if sign in signs}
        return Prompt(text, pastes, {sign: image for sign, image in self.images.items() if sign in signs})

    def rewritten(self, text: str) -> Prompt:
        """What came of the unfolded words in an editor: pastes that are in there unchanged are folded again."""
        for sign, paste in self.pastes.items():
            if sign not in text:
                text = text.replace(paste, sign, 1)
        return self.only(text)


def _replaced(text: str, by: Mapping[str, str]) -> str:
    """The text with signs replaced, all at once: what stands for one is not searched for others."""
    return SIGN.sub(lambda sign: by.get(sign[0], sign[0]), text)


def is_long(paste: str) -> bool:
    """True for a paste that would fill the composer."""
    return len(paste) > MOST_CHARACTERS or paste.count("\n") >= MOST_LINES


def sign_of_paste(paste: str, taken: str) -> str:
    """A sign for a paste whose number is not in the words `taken`."""
    lines = paste.rstrip("\n").count("\n") + 1
    size = f"{lines:,} lines" if lines > 1 else f"{len(paste):,} characters"
    return f"[Pasted #{_next(taken, 'Pasted')}, {size}]"


def sign_of_image(taken: str) -> str:
    """A sign for a picture whose number is not in the words `taken`."""
    return f"[Image #{_next(taken, 'Image')}]"


def _next(taken: str, kind: str) -> int:
    return max((int(number) for number in re.findall(rf"\[{kind} #(\d+)", taken)), default=0) + 1


def mention(path: str) -> str:
    """`@path`, in quotes if it has blanks."""
    return f'@"{path}"' if any(character.isspace() for character in path) else f"@{path}"


def received(words: str, images: Iterable[Block]) -> Prompt:
    """A prompt as it was sent: the signs in its words are numbered as its pictures are."""
    named = {f"[Image #{number}]": image for number, image in enumerate(images, 1)}
    lost = [sign for sign in named if sign not in words]
    return Prompt("\n".join([words, *lost]) if words else " ".join(lost), images=named)


def joined(prompts: Iterable[Prompt]) -> Prompt:
    """Several prompts as one, a blank line between them; signs that two of them have get numbers of their own."""
    whole = Prompt()
    for prompt in filter(None, prompts):
        text, pastes, images = prompt.text, dict(whole.pastes), dict(whole.images)
        renamed: dict[str, str] = {}
        for sign in (*prompt.pastes, *prompt.images):
            kind = "Image" if sign in prompt.images else "Pasted"
            other = sign
            while other in pastes or other in images:
                other = _NUMBER.sub(
                    f"#{_next(whole.text + text + ''.join(renamed.values()), kind)}", other, count=1
                )
            renamed[sign] = other
            if sign in prompt.images:
                images[other] = prompt.images[sign]
            else:
                pastes[other] = prompt.pastes[sign]
        text = _replaced(text, renamed)
        whole = Prompt(f"{whole.text}\n\n{text}" if whole else text, pastes, images)
    return whole


def to_json(prompt: Prompt) -> Any:
    """The prompt as JSON data: bare words where there is nothing else."""
    if not prompt.pastes and not prompt.images:
        return prompt.text
    return {"text": prompt.text, "pastes": dict(prompt.pastes), "images": dict(prompt.images)}


def from_json(value: Any) -> Prompt | None:
    """The prompt that `to_json` made the value of; None if it is none."""
    if isinstance(value, str):
        return Prompt(value)
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    pastes, images = value.get("pastes"), value.get("images")
    return Prompt(
        value["text"],
        {sign: text for sign, text in _items(pastes) if isinstance(text, str)},
        {sign: image for sign, image in _items(images) if _is_image(image)},
    )


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _is_image(value: Any) -> bool:
    source = value.get("source") if isinstance(value, dict) else None
    return isinstance(source, dict) and isinstance(source.get("sha256"), str)
