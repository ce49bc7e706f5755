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


TIFF_FORMATS = {"u": 1, "i": 2, "f": 3, "c": 6}


def tiff_pieces(samples, tile, planar):
    """The strips or tiles of a page [H, W, C], as they follow each other."""
    planes = [samples[..., i:i + 1] for i in range(samples.shape[2])] if planar else [samples]
    if tile is None:
        return planes
    pieces = []
    for plane in planes:
        height, width = plane.shape[:2]
        filled = np.pad(plane, ((0, -height % tile[0]), (0, -width % tile[1]), (0, 0)))
        pieces += [filled[y:y + tile[0], x:x + tile[1]]
                   for y in range(0, height, tile[0]) for x in range(0, width, tile[1])]
    return pieces


def tiff_bytes(pages, order="<", *, photometric=None, tile=None, planar=False, description=None, bits=None):
    """Pages [H, W] or [H, W, C], uncompressed; `tile`: (height, width); `description`: of the first page. `bits`
    is written in place of what the type has."""
    out = bytearray((b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 0))
    link = 4

    def place(data):
        """Where data lies."""
        at = len(out)
        out.extend(data + b"\0" * (len(data) % 2))
        return at

    for number, page in enumerate(pages):
        samples = page.reshape(*page.shape[:2], -1)
        height, width, channels = samples.shape
        pieces = [piece.astype(samples.dtype.newbyteorder(order)).tobytes()
                  for piece in tiff_pieces(samples, tile, planar)]
        offsets, counts = [place(piece) for piece in pieces], [len(piece) for piece in pieces]
        tags = {256: [width], 257: [height], 258: [bits or 8 * samples.dtype.itemsize] * channels, 259: [1],
                262: [(2 if channels > 2 else 1) if photometric is None else photometric],
                277: [channels], 284: [2 if planar else 1], 339: [TIFF_FORMATS[samples.dtype.kind]] * channels}
        tags.update({273: offsets, 278: [height], 279: counts} if tile is None else
                    {322: [tile[1]], 323: [tile[0]], 324: offsets, 325: counts})
        if photometric == 3:
            tags[320] = [257 * (i % 256) for i in range(3 * 256)]  # a palette
        entries = []
        for tag, values in tags.items():
            kind, code = (4, "I") if tag in (256, 257, 273, 278, 279, 322, 323, 324, 325) else (3, "H")
            data = struct.pack(order + code * len(values), *values)
            entries.append((tag, kind, len(values), data if len(data) <= 4 else struct.pack(order + "I", place(data))))
        if description is not None and number == 0:
            text = description.encode() + b"\0"
            entries.append((270, 2, len(text), struct.pack(order + "I", place(text))))
        struct.pack_into(order + "I", out, link, len(out))
        out += struct.pack(order + "H", len(entries))
        for tag, kind, count, value in sorted(entries):
            out += struct.pack(order + "HHI", tag, kind, count) + value.ljust(4, b"\0")
        link = len(out)
        out += struct.pack(order + "I", 0)
    return bytes(out)


def tiff_stack(pages, order="<", description="ImageJ=1.53a\nimages={}\n"):
    """One directory, whose strip is the first of planes back to back at the file's end: what ImageJ writes above 4 GB.
    `description` may hold {} for the number of pages."""
    one = bytearray(tiff_bytes(pages[:1], order, description=description.format(len(pages))))
    link = struct.unpack(order + "I", one[4:8])[0]
    for i in range(struct.unpack(order + "H", one[link:link + 2])[0]):
        entry = link + 2 + 12 * i
        if struct.unpack(order + "H", one[entry:entry + 2]) == (273,):
            struct.pack_into(order + "I", one, entry + 8, len(one))
    return bytes(one) + pages.astype(pages.dtype.newbyteorder(order)).tobytes()


def animated_png(pictures):
    """Grey pictures [H, W] of u1, each a frame."""
    height, width = pictures[0].shape
    out, number = SIGNATURE + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), 0
    out += png_chunk(b"acTL", struct.pack(">II", len(pictures), 0))
    for i, picture in enumerate(pictures):
        out += png_chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, 1, 10, 0, 0))
        data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in picture))
        out += png_chunk(b"IDAT", data) if i == 0 else png_chunk(b"fdAT", struct.pack(">I", number + 1) + data)
        number += 1 if i == 0 else 2
    return out + png_chunk(b"IEND", b"")


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
