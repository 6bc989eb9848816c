"""Starts moto with a time that tests move: a file has the seconds that it is ahead. Arguments: the file, and those of moto."""

import datetime
import sys

import moto.core.utils

ahead = sys.argv.pop(1)


def now():
    with open(ahead) as file:
        seconds = float(file.read() or 0)
    return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) + datetime.timedelta(seconds=seconds)


# The models import their functions of time from this module, which is why it is changed before they are imported.
moto.core.utils.utcnow = now

from moto.server import main  # noqa: E402

main()
