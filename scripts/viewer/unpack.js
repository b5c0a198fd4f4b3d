// SPDX-License-Identifier: MIT
// Packed files: the browser unpacks them, memtool sees what is inside.

async function throughStream(blob, format) {
    return new Uint8Array(await new Response(blob.stream().pipeThrough(new DecompressionStream(format))).arrayBuffer());
}

const startsWith = (bytes, ...magic) => magic.every((byte, i) => bytes[i] === byte);

// Entries of a zip: [{ name, method, from, packed }], from its directory at the end.
function zipEntries(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let end = bytes.length - 22;
    while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) {
        end--;
    }
    if (end < 0) {
        throw new Error('the zip has no directory: its end is missing');
    }
    const entries = [];
    let at = view.getUint32(end + 16, true);
    for (let i = view.getUint16(end + 10, true); i > 0; i--) {
        const nameLength = view.getUint16(at + 28, true);
        const local = view.getUint32(at + 42, true);
        entries.push({
            name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength)), method: view.getUint16(at + 10, true),
            packed: view.getUint32(at + 20, true), size: view.getUint32(at + 24, true),
            from: local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true) });
        at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
    return entries;
}

// The entry that holds the snapshot: data.pkl of torch.save, else the largest.
async function unzip(bytes) {
    const entries = zipEntries(bytes);
    const one = entries.find((e) => /(^|\/)data\.pkl$/.test(e.name)) ?? entries.sort((x, y) => y.size - x.size)[0];
    if (!one) {
        throw new Error('the zip is empty');
    }
    const packed = bytes.subarray(one.from, one.from + one.packed);
    return one.method === 0 ? packed : throughStream(new Blob([packed]), 'deflate-raw');
}

async function unpack(blob) {
    const head = new Uint8Array(await blob.slice(0, 4).arrayBuffer());
    if (startsWith(head, 0x1f, 0x8b)) {
        return unpack(new Blob([await throughStream(blob, 'gzip')]));
    }
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return startsWith(head, 0x50, 0x4b, 3, 4) ? unzip(bytes) : bytes;
}
