"""Toasts that take each other's place: of one kind only the newest is shown, however quickly they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.notifications import Notification, Notify
from textual.widgets._toast import ToastHolder, ToastRack

if TYPE_CHECKING:
    from textual.app import App


def instead(app: App[object], last: Notification | None, text: str, seconds: float) -> Notification:
    """Show a text, literally, in the place of the last toast of its kind, if that is still there; gives what is shown.

    Textual only adds toasts, or clears away all of them.
    """
    if last is not None:
        app._unnotify(last, refresh=False)
        for holder in app.screen.query(ToastHolder):
            if holder.id == ToastRack._toast_id(last):
                holder.remove()
    made = Notification(text, timeout=seconds)
    app._on_notify(Notify(made))
    return made
