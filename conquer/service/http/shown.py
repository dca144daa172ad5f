"""What an item has for people alone: how its text is shown, what is known of it besides, and its picture."""

from typing import Annotated, Literal

from msgspec import Meta

Format = Literal["plain", "markdown", "code"]
ItemMeta = dict[str, str | int | float | bool | list[str] | None]
_Name = Annotated[str, Meta(max_length=200)]
_Word = Annotated[str, Meta(max_length=2000)]
_Whole = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
_Words = Annotated[list[_Name], Meta(max_length=64)]
NewItemMeta = Annotated[dict[_Name, _Word | _Whole | float | bool | _Words | None], Meta(max_length=64)]
UPLOADED = r"[0-9a-f]{32}\.(png|jpg|webp|gif)"
"""The name of an uploaded image: a digest of its bytes, and what it is."""
IMAGE = rf"^(/(?![/\\])[^\x00-\x20\x7f\\]*|{UPLOADED})(?!\n)$"
"""A path of this server, which cannot lead to another host; or an image that was uploaded to the model."""
