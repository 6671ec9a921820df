"""What tells how the work stands rather than something that stays true: "tests passed", "the task is done"."""

from __future__ import annotations

import re
from functools import cache

_LONGEST = 300
"""Characters; what says more than that says more than how the work stands."""

_CLAUSE = re.compile(r"[.,;!\n]+(?:\s|\Z)|[。，；：！、✅✓✔🎉]|\b(?:and|but|so)\b", re.IGNORECASE)
"""What parts one statement from the next."""

_WHICH = "all|the|my|this|that|your|our|every|each|both|unit|new|last|current|remaining|of|in|[0-9]+"
_WORK = (
    "tests?|suite|specs?|tasks?|builds?|lint(?:er|ing)?|types?|type-?checks?|checks?|ci|pipeline|work|jobs?|steps?"
    "|changes?|fix(?:es)?|bugs?|issues?|todos?|phases?|milestones?|implementation|refactor(?:ing)?|migration|commits?"
    "|everything|prs?|release|deployment|it|run|cases?|#?[0-9]+|now|session"
)
_HAS = "is|are|was|were|has|have|been|now|all|successfully|already|just|fully|still|currently|not|yet"
_DONE = (
    "pass(?:es|ed|ing)?|done|completed?|finished|fixed|green|red|succe(?:eds?|eded|ssful)|fail(?:s|ed|ing)?|ok(?:ay)?"
    "|works?|working|clean|created|updated|resolved|implemented|committed|pushed|merged|ready|broken|closed|skipped"
)
_WHEN = "now|again|successfully|locally|today|already|too|yet|here"
_WE = "i|we|am|are|is|has|have|just|now|still|currently|successfully|already"
_DID = "completed|finished|committed|pushed|merged|deployed|working on|in progress|waiting for|about to"

_ENGLISH = (
    rf"(?:(?:{_WHICH}) )*(?:(?:{_WORK})(?:'s)?:? )*(?:(?:{_HAS}) )*(?:{_DONE})(?: (?:{_WHEN}))*",
    rf"(?:(?:{_WE}) )*(?:{_DID})\b.{{0,80}}",
    "(?:no|0|zero) (?:(?:more|remaining|known) )*(?:errors?|failures?|warnings?|regressions?|issues?)"
    "(?: (?:left|found|remain))?",
)
_CHINESE = (
    "(?:所有|全部|单元|的)*(?:测试|測試|任务|任務|构建|编译|修复|修復|工作)"
    "(?:均|都|全部)?(?:已经|已經|已)?(?:通过|通過|完成|成功|修复)了?"
)
_JAPANESE = (
    "(?:すべて|全て|全部|全|の)*(?:テスト|タスク|ビルド|作業|修正)(?:は|が|も)?(?:すべて|全て)?"
    "(?:通った|通りました|通過|パス|成功|完了|終わった|終わりました)(?:した|しました|です|済み)?"
)


@cache
def _stands() -> re.Pattern[str]:
    """Compiled when it is needed, since that takes milliseconds."""
    return re.compile(rf"\W*(?:{'|'.join((*_ENGLISH, _CHINESE, _JAPANESE))})\W*", re.IGNORECASE)


def is_noise(body: str) -> bool:
    """True if every clause of a memory tells how the work stands, and is stale a minute later."""
    if len(body) > _LONGEST:
        return False
    clauses = [clause.strip() for clause in _CLAUSE.split(body)]
    said = [clause for clause in clauses if any(character.isalnum() for character in clause)]
    return bool(said) and all(_stands().fullmatch(clause) for clause in said)
