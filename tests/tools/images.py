# SPDX-License-Identifier: LGPL-2.1-or-later
"""PNG and TIFF in plain Python, so that the tests do not trust the libraries the command uses."""
import struct
import zlib

import numpy as np

PNG_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_bytes(picture):
    """[H, W] or [H, W, 1 to 4] of u1 or u2."""
    samples = picture.reshape(*picture.shape[:2], -1)
    height, width, channels = samples.shape
    bits = 8 * samples.dtype.itemsize
    rows = samples.astype(">u2" if bits == 16 else "u1").reshape(height, -1)
    data = b"".join(b"\0" + row.tobytes() for row in rows)
    return (SIGNATURE + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, PNG_COLOURS[channels], 0, 0, 0))
            + png_chunk(b"IDAT", zlib.compress(data)) + png_chunk(b"IEND", b""))


def palette_png(indices, palette):
    """[H, W] of indices into [n, 3]."""
    height, width = indices.shape
    data = b"".join(b"\0" + row.astype("u1").tobytes() for row in indices)
    return (SIGNATURE + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
            + png_chunk(b"PLTE", palette.astype("u1").tobytes()) + png_chunk(b"IDAT", zlib.compress(data))
            + png_chunk(b"IEND", b""))


def paeth(left, up, corner):
    guess = left + up - corner
    distances = abs(guess - left), abs(guess - up), abs(guess - corner)
    return (left, up, corner)[distances.index(min(distances))]


def unfilter(kind, row, before, step):
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        corner = before[i - step] if i >= step else 0
        guess = (0, left, before[i], (left + before[i]) // 2, paeth(left, before[i], corner))[kind]
        row[i] = (row[i] + guess) & 255
    return row


def read_png(data):
    assert data.startswith(SIGNATURE)
    at, body, header = len(SIGNATURE), b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        content = data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + content)
        header = struct.unpack(">IIBBBBB", content) if kind == b"IHDR" else header
        body += content if kind == b"IDAT" else b""
        at += 12 + length
    width, height, bits, colour = header[:4]
    channels = {value: key for key, value in PNG_COLOURS.items()}[colour]
    step = channels * bits // 8
    raw, rows, before = zlib.decompress(body), [], bytearray(width * step)
    for row in range(height):
        line = raw[row * (width * step + 1):(row + 1) * (width * step + 1)]
        before = unfilter(line[0], bytearray(line[1:]), before, step)
        rows.append(bytes(before))
    picture = np.frombuffer(b"".join(rows), ">u2" if bits == 16 else "u1").reshape(height, width, channels)
    picture = picture.astype("u2" if bits == 16 else "u1")
    return picture[:, :, 0] if channels == 1 else picture


def tiff_bytes(pages, order="<"):
    """Pages [H, W] or [H, W, 3 or 4] of u1, u2 or f4, uncompressed, one strip each."""
    out = bytearray((b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 0))
    link = 4
    for page in pages:
        samples = page.reshape(*page.shape[:2], -1)
        height, width, channels = samples.shape
        strip = len(out)
        out += samples.astype(samples.dtype.newbyteorder(order)).tobytes()
        out += b"\0" * (len(out) % 2)
        bits = len(out)
        out += struct.pack(order + "4H", *[8 * samples.dtype.itemsize] * 4)
        bits_field = (bits if channels > 2 else 8 * samples.dtype.itemsize)
        entries = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, channels, bits_field), (259, 3, 1, 1),
                   (262, 3, 1, 1 if channels == 1 else 2), (273, 4, 1, strip), (277, 3, 1, channels),
                   (278, 4, 1, height), (279, 4, 1, samples.nbytes), (284, 3, 1, 1),
                   (339, 3, 1, 3 if samples.dtype.kind == "f" else 1)]
        struct.pack_into(order + "I", out, link, len(out))
        out += struct.pack(order + "H", len(entries))
        for tag, kind, count, value in entries:
            short = kind == 3 and count == 1
            out += struct.pack(order + "HHI", tag, kind, count)
            out += struct.pack(order + ("HH" if short else "I"), *((value, 0) if short else (value,)))
        link = len(out)
        out += struct.pack(order + "I", 0)
    return bytes(out)


def tiff_values(data, order, entry):
    _, kind, count = struct.unpack(order + "HHI", entry[:8])
    size, code = {3: (2, "H"), 4: (4, "I")}[kind]
    place = entry[8:8 + size * count] if size * count <= 4 else \
        data[struct.unpack(order + "I", entry[8:12])[0]:][:size * count]
    return struct.unpack(order + str(count) + code, place)


def read_tiff(data):
    """The pages of an uncompressed file."""
    order = "<" if data[:2] == b"II" else ">"
    link, pages = struct.unpack(order + "I", data[4:8])[0], []
    while link:
        count = struct.unpack(order + "H", data[link:link + 2])[0]
        tags = {}
        for i in range(count):
            entry = data[link + 2 + 12 * i:link + 14 + 12 * i]
            tags[struct.unpack(order + "H", entry[:2])[0]] = tiff_values(data, order, entry)
        link = struct.unpack(order + "I", data[link + 2 + 12 * count:link + 6 + 12 * count])[0]
        assert tags.get(259, (1,)) == (1,), "compressed"
        strips = b"".join(data[at:at + size] for at, size in zip(tags[273], tags[279]))
        kind = ("f4" if tags.get(339, (1,))[0] == 3 else f"u{tags[258][0] // 8}")
        shape = (tags[257][0], tags[256][0]) + ((tags[277][0],) if tags.get(277, (1,))[0] > 1 else ())
        pages.append(np.frombuffer(strips, order + kind).reshape(shape).astype(kind))
    return pages
