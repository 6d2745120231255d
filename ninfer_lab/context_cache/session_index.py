"""Which owner does a session continue?

Owns the binding of session keys to owners. A binding narrows the search and decides consume or
retain; it proves nothing (IDN-4). Only a larger publication order replaces one (SES-1, INV-14).
Does not know whether an owner is still valid; generations do.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.ids import OwnerId, SessionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBinding:
    """The owner a session was last published to, and in which order."""

    owner: OwnerId
    publication_order: int


class SessionIndex:
    """At most one binding per key; an owner is bound by at most one key."""

    def __init__(self) -> None:
        self._bindings: dict[SessionKey, SessionBinding] = {}
        self._keys: dict[OwnerId, SessionKey] = {}

    def bind(self, key: SessionKey, owner: OwnerId, publication_order: int) -> bool:
        """Binds unless a later request already did.

        Returns:
            Whether the binding now stands; an older request that ends late becomes anonymous.
        """
        standing = self._bindings.get(key)
        if standing is not None and standing.publication_order >= publication_order:
            return False
        self.forget(owner)
        if standing is not None:
            self._keys.pop(standing.owner, None)
        self._bindings[key] = SessionBinding(owner=owner, publication_order=publication_order)
        self._keys[owner] = key
        return True

    def forget(self, owner: OwnerId) -> None:
        """The owner is gone or belongs to nobody now."""
        key = self._keys.pop(owner, None)
        if key is not None:
            del self._bindings[key]

    def owner_of(self, key: SessionKey | None) -> OwnerId | None:
        """What the session is bound to now."""
        binding = None if key is None else self._bindings.get(key)
        return None if binding is None else binding.owner

    def key_of(self, owner: OwnerId) -> SessionKey | None:
        return self._keys.get(owner)
