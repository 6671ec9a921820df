"""Which places of a request an API error names."""

from __future__ import annotations

import pytest

from tui_agent.messages.named import Place, named


@pytest.mark.parametrize(
    ("error", "places"),
    [
        ("messages.3.content.1: text content blocks must be non-empty", [Place("messages", 3, 1)]),
        ("messages.3.content.1.tool_result.content.0.image.source: no", [Place("messages", 3, 1)]),
        ("messages.2: `tool_use` ids were found without results", [Place("messages", 2)]),
        ("messages[3].content[1].text is required", [Place("messages", 3, 1)]),
        ("400: messages.1: bad; see messages.0 and messages.1", [Place("messages", 1), Place("messages", 0)]),
        ("system.0.text: must not be blank", [Place("system", 0)]),
        ("tools.12.custom.input_schema: JSON schema is invalid", [Place("tools", 12)]),
        ("prompt is too long: 210000 tokens > 200000 maximum", []),
        ("messages: at least one message is required", []),
        ("body.messages.3.content.0: field required", [Place("messages", 3, 0)]),
        ("my_tools.2, my-tools.2 and https://tools.3", []),
        ("messages.99999999999999999999: no", []),
    ],
)
def test_places_are_read_in_the_spellings_of_endpoints(error: str, places: list[Place]) -> None:
    assert named(error) == places
