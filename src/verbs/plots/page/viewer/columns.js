// ---- from a blob of the page to a typed array ----

function fromBase64(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) {
        bytes[i] = binary.charCodeAt(i);
    }
    return bytes;
}

async function inflate(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// All lowest bytes come first, then all next ones: back into items.
function unshuffle(planes, width) {
    if (width === 1) {
        return planes;
    }
    const n = planes.length / width;
    const items = new Uint8Array(planes.length);
    for (let plane = 0; plane < width; plane++) {
        for (let i = 0, to = plane, from = plane * n; i < n; i++, to += width, from++) {
            items[to] = planes[from];
        }
    }
    return items;
}

async function readBytes(id) {
    const element = document.getElementById(id);
    const bytes = unshuffle(await inflate(fromBase64(element.textContent)), Number(element.dataset.width));
    element.remove(); // its text is not needed twice
    return bytes;
}

async function readColumn(id, Type) {
    const bytes = await readBytes(id);
    return new Type(bytes.buffer, 0, bytes.length / Type.BYTES_PER_ELEMENT);
}

// Characters that cannot be seen, or that turn the writing around, are written as text: as everywhere else, see
// src/support/safe_char.c.
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb]/g;

function written(c) {
    const code = c.charCodeAt(0).toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u${code.padStart(4, '0')}`;
}

async function readJson(id) {
    const text = new TextDecoder().decode(await readBytes(id));
    return JSON.parse(text, (_, value) => (typeof value === 'string' ? value.replace(UNSEEN, written) : value));
}
