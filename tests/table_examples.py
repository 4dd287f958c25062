"""What the tests of table files share."""

import pyarrow as pa
import pytest

from kernelpath.errors import DataError
from kernelpath.tables.read import read_table

CSV = "a,b,colour,y\n1,0.5,red,yes\n2,NA,blue,no\n3,2.5,,yes\n"


def write_file(folder, name, content):
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def refused(file, words, **options):
    options.setdefault("target", "y")
    with pytest.raises(DataError, match=words) as caught:
        read_table(file, **options)
    message = str(caught.value)
    assert message.splitlines() == [message]
    assert message.startswith(str(file))
    assert len(message) < 600
    return message


def zstd(content):
    return pa.Codec("zstd").compress(content, asbytes=True)
