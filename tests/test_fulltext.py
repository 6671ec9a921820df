"""Full-text search finds what a person would look for, in any script, the best hit first."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hostile import TEXTS
from tui_agent.fulltext import TOKENIZE, excerpt, prepared, query


def found(texts: Sequence[str], typed: str) -> list[str]:
    """The texts that a search finds, the best first."""
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE words USING fts5(text, tokenize = {TOKENIZE})")
    database.executemany(
        "INSERT INTO words (rowid, text) VALUES (?, ?)", [(n, prepared(text)) for n, text in enumerate(texts)]
    )
    asked = query(typed)
    if not asked:
        return []
    rows = database.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank", (asked,))
    return [texts[number] for (number,) in rows]


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("我们修复了会话选择器的错误", "选择器"),
        ("我们修复了会话选择器的错误", "会话选择"),
        ("我们修复了会话选择器的错误", "误"),
        ("我们修复了会话选择器的错误", "修"),
        ("セッションを検索する", "検索"),
        ("セッションを検索する", "ｾｯｼｮﾝ"),
        ("설정을 저장하지 못했습니다", "저장"),
        ("ค้นหาข้อความในเซสชัน", "ข้อความ"),
        ("हिन्दी में खोज", "हिन्दी"),
        ("поиск по сессиям", "СЕССИЯМ"),
        ("un café à Paris", "cafe"),
        ("un cafe a Paris", "café"),
        ("def load_user_name(self)", "user_name"),
        ("def load_user_name(self)", "user"),
        ("def load_user_name(self)", "load_user_name"),
        ("def load_user_name(self)", "userName"),
        ("const x = getUserName()", "getUserName"),
        ("const x = getUserName()", "getusername"),
        ("const x = getUserName()", "user_name"),
        ("class HTTPServerError", "server"),
        ("class HTTPServerError", "HttpServer"),
        ("src/report/table.py", "report/table.py"),
        ("混合 English 文字列 text", "文字"),
        ("混合English文字列text", "english"),
        ("conversation", "conver"),
        ('he said "never again" twice', '"never again"'),
        ("Straße 12", "straße"),
    ],
)
def test_what_is_said_is_found(text: str, typed: str) -> None:
    assert found(["something else entirely, 別の文章", text], typed) == [text]


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("会話を選択する", "会択"),
        ("one two", "one three"),
        ("again, never", '"never again"'),
        ("load_name_user", "user_name"),
        ("NOT this", "NOT that"),
        ("anything", "*"),
        ("anything", '"'),
        ("anything", "()"),
        ("anything", "😀"),
    ],
)
def test_what_is_not_said_is_not_found(text: str, typed: str) -> None:
    assert found([text], typed) == []


def test_the_best_hit_comes_first() -> None:
    texts = ["a needle and " + "much hay " * 200, "needle needle", "hay"]
    assert found(texts, "needle") == [texts[1], texts[0]]


def test_a_hash_without_end_is_no_word() -> None:
    assert len(prepared("A1b2" * 500 + " word")) < 20
    assert found(["日" * 500], "日日日") == ["日" * 500], "but a sentence without spaces is"


def test_hostile_texts_are_asked_for_and_stored_like_any_other() -> None:
    for text in TEXTS.values():
        found([text], text[:100])


@given(st.text(max_size=40), st.text(max_size=20))
def test_nothing_typed_breaks_a_search(text: str, typed: str) -> None:
    found([text], typed)


@given(st.lists(st.text("abé日本_Z0", min_size=1, max_size=6), min_size=1, max_size=5), st.data())
def test_every_word_of_a_text_finds_it(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    typed = data.draw(st.sampled_from(words))
    assert not query(typed) or found([text], typed) == [text]


def test_an_excerpt_stands_around_the_words() -> None:
    text = "x " * 300 + "here is the getUserName we looked for" + " y" * 300
    assert "getUserName" in excerpt(text, "user_name")
    assert excerpt(text, "getusername").startswith("…")
    assert len(excerpt(text, "user")) < 140
    assert excerpt("Ein Café\nin Paris", "cafe") == "Ein Café in Paris"
    assert excerpt("short", "nowhere") == "short"
    assert "検索" in excerpt("前" * 200 + "検索" + "後" * 200, "検索")
