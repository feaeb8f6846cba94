"""Text that a file under check could hold: anything, and what readers of reports are known to obey."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

HOSTILE = (
    "", " ", "\t", "\n", "a\nb", "\r", "\0", "\x1b[31mred", "\x85", "\u2028",
    "\u202egnp.s", "\ud800", "\udcff", "\ufffe",
    "\U0010ffff", "<script>alert(1)</script>", "<b>", "</details>", "]]>", "<!--", "&amp;", "&#0;", "`", "``` \n", "``",
    "a|b", "\\|", "|`|", "\\", "![x](http://e.example/i.png)", "[a](1)", "](1)", "@all", "#12", "!3", "~bug", "/close",
    "www.example.org", "http://example.org", "1. x", "# x", "- x", "+ x", "> x", "***", "~~~", ":::", "$x$", "=",
    "[[ATTACHMENT|/etc/passwd]]", "::error::x", "##[error]x", "%0A::error::x", '"', "'", '"} 1\n# EOF',
    "{a=b}", "# EOF",
    "a b", "a,b:c", "%25", "..", "/etc/passwd", "./x.s", "C:\\x.s", "_Z5scalePfi", "k" * 5000,
    "`" * 300, "é", "漢字", "👍",
)  # fmt: skip

text = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=()), max_size=30),
    st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=3).map("".join),
)


def for_any(*strategies: st.SearchStrategy[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """``given`` without a deadline: on a busy machine long names take their time."""

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        return settings(deadline=None)(given(*strategies)(test))

    return decorated
