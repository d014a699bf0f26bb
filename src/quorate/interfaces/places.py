"""From a campaign's file to the campaign itself, its items and its platforms: what every command begins with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quorate.errors import FileError, InputError, QuorateError, SpecError
from quorate.registry import lookup
from quorate.spec import CampaignFile, read_campaign

if TYPE_CHECKING:
    from quorate.campaign.engine import Campaign
    from quorate.ports import Platform


def open_campaign(file: str, *, read_only: bool = False) -> Campaign:
    """The campaign of a file (or of a store's URL), which has been started before."""
    from quorate.campaign.engine import Campaign

    if "://" in file:
        return Campaign.open(file, read_only=read_only)
    place = read_campaign(file)
    if not started(place):
        raise FileError(f"Campaign {place.spec.name!r} has not been started.", hint=f"Start it: quorate run {file}")
    return Campaign.open(place.store, place.spec.name, read_only=read_only)


def started(place: CampaignFile) -> bool:
    """Whether the store holds the campaign already."""
    from pathlib import Path

    prefix = "sqlite:///"
    if place.store.startswith(prefix) and not Path(place.store.removeprefix(prefix)).exists():
        return False
    with lookup("stores", place.store.partition(":")[0])(place.store, read_only=True) as store:
        return any(one.name == place.spec.name for one in store.campaigns())


def start_or_open(place: CampaignFile) -> tuple[Campaign, bool]:
    """The campaign, opened for buying; and whether it is new."""
    from quorate.campaign.engine import Campaign

    if started(place):
        return Campaign.open(place.store, place.spec.name), False
    return Campaign.start(place.spec, place.store, items=items_of(place), gold=place.gold), True


def items_of(place: CampaignFile) -> Any:
    """The items that the file names, every row checked."""
    from quorate.files import open_items

    if place.items is None:
        raise FileError(f"{place.path} names no file of items.", hint='Write it under [items]: file = "items.csv"')
    return open_items(place.items, id_column=place.id_column, encoding=place.encoding)


def platforms_of(place: CampaignFile) -> Mapping[str, Platform]:
    """A platform for each class, built by its kind."""
    kinds: dict[str, dict[str, Mapping[str, Any]]] = {}
    for one in place.spec.classes:
        options = place.platforms.get(one.name)
        if options is not None:
            kinds.setdefault(str(options["kind"]), {})[one.name] = options
        elif not one.trusted:
            raise SpecError(
                f"{place.path}: class {one.name!r} has no platform.",
                hint='Say who answers: [class.platform] with kind = "simulator", for example.',
            )
    built: dict[str, Platform] = {}
    for kind, classes in kinds.items():
        try:
            built |= lookup("platforms", kind)(
                classes, seed=place.spec.seed, labels=place.spec.labels, folder=place.folder
            )
        except InputError as error:
            raise SpecError(f"{place.path}: {error.message}", hint=error.hint) from None
        except QuorateError:
            raise
        except Exception as error:  # whatever a plug-in, or a module of the user's, may raise while it is set up
            raise SpecError(
                f"{place.path}: the platform {kind!r} of {', '.join(classes)} cannot be set up:"
                f" {type(error).__name__}: {error}"[:500],
                hint="Mend its options under [class.platform], or the module that it names.",
            ) from error
    return {one.name: built[one.name] for one in place.spec.classes if one.name in built}
