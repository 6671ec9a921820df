"""`tui-agent mcp`: which servers there are and what their tools cost, without starting any."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Inside
from tui_agent.settings.load import load
from tui_agent.tools.mcp import config
from tui_agent.tools.mcp.listing import Listed, save


@pytest.fixture
def shop_with_servers(home: Path, shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Servers that leave a file behind where they are started, one that was asked before, one that is wrong."""
    (home / "config").mkdir(mode=0o700)
    settings = home / "config" / "settings.toml"
    started = tmp_path / "started"
    settings.write_text(
        f'[mcp.servers.known]\ncommand = "touch"\nargs = ["{started}"]\nenv = {{ API_TOKEN = "s3cret-0123456789" }}\n'
        f'[mcp.servers.new]\ncommand = "touch"\nargs = ["{started}"]\n'
        '[mcp.servers.odd]\nurl = "ftp://x"\n'
        '[mcp.servers.off]\ncommand = "git"\nenabled = false\n'
    )
    settings.chmod(0o600)
    (shop / ".mcp.json").write_text(
        '{"mcpServers": {"theirs": {"command": "git"}, "new": {"command": "git"}}}'
    )
    monkeypatch.chdir(shop)
    known = next(spec for spec in config.configured(load().mcp, shop, shop).specs if spec.name == "known")
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
    save(config.folder(), known.key, [Listed("list_issues", "List the issues of a project.", schema)])
    return started


def test_servers_are_listed_with_what_their_tools_cost(run: Inside, shop_with_servers: Path) -> None:
    ended = run("mcp")
    assert ended.code == 0
    rows = {line.split()[0]: line.split() for line in ended.out.splitlines()}
    assert rows["known"][1:5] == ["settings", "not", "started", "1"]
    assert rows["new"][1:5] == ["settings", "not", "started", "?"]
    assert rows["off"][2] == "disabled"
    assert "its url does not begin with http:// or https://" in " ".join(rows["odd"])
    assert rows["theirs"][1:4] == ["workspace", "not", "agreed"]
    assert "settings have a server 'new' of their own" in ended.err
    assert not shop_with_servers.exists()


def test_programs_get_names_and_figures(run: Inside, shop_with_servers: Path) -> None:
    rows = {row["name"]: row for row in run("mcp", "list", "--json").data}
    assert rows["known"]["tools"] == ["mcp__known__list_issues"]
    cost = rows["known"]["tokens"]
    assert 0 < cost["by_name"] < cost["in_full"]
    assert rows["new"]["tools"] is rows["new"]["tokens"] is None
    assert "s3cret" not in str(rows)
    assert not shop_with_servers.exists()


def test_without_servers_it_says_where_they_are_named(run: Inside) -> None:
    assert "[mcp.servers.NAME]" in run("mcp").out
    assert run("mcp", "list", "--json").data == []
    assert run("mcp", "stop").code == 2
