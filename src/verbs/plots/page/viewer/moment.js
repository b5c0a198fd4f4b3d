// ---- numbers as text, the same text as memtool's ----

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function sizeText(bytes) {
    let unit = 0;
    let value = bytes;
    while (unit + 1 < UNITS.length && value >= 1024) {
        value /= 1024;
        unit++;
    }
    if (unit && unit + 1 < UNITS.length && value >= 1023.995) {
        value /= 1024;
        unit++;
    }
    return unit ? `${value.toFixed(2)} ${UNITS[unit]}` : `${bytes} B`;
}

const countText = (n) => n.toLocaleString('en-US');

function durationText(us, digits = 2) {
    const steps = [[3600e6, 'h'], [60e6, 'min'], [1e6, 's'], [1e3, 'ms']];
    for (const [size, name] of steps) {
        if (Math.abs(us) >= size) {
            return `${(us / size).toFixed(digits)} ${name}`;
        }
    }
    return `${us} us`;
}

// Times with as many digits as tell each from the one before.
function durationTexts(list) {
    const texts = (digits) => list.map((us) => durationText(us, digits));
    for (let digits = 2; digits < 6; digits++) {
        const found = texts(digits);
        if (found.every((text, i) => i === 0 || list[i] === list[i - 1] || text !== found[i - 1])) {
            return found;
        }
    }
    return texts(6);
}

// Reads "16 MiB", "64k", "512"; NaN for anything else.
function parseSize(text) {
    const match = /^(\d+(?:\.\d+)?)\s*([kmgtp]?)(?:i?b)?$/i.exec(text.trim());
    return match ? Math.floor(Number(match[1]) * 1024 ** ' kmgtp'.indexOf(match[2].toLowerCase() || ' ')) : NaN;
}

// ---- the place, in the address of the page ----

const PLACE_KEYS = { f: 'file', d: 'device', e: 'event', a: 'from', b: 'to', v: 'tab', q: 'query', c: 'chart', g: 'by' };

function readPlace() {
    const place = {};
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
        const name = PLACE_KEYS[key];
        if (name) {
            place[name] = ['tab', 'query', 'chart', 'by'].includes(name) ? value : Number(value);
        }
    }
    return place;
}

function writePlace(place) {
    const parameters = new URLSearchParams();
    for (const [key, name] of Object.entries(PLACE_KEYS)) {
        if (place[name] !== undefined && place[name] !== '') {
            parameters.set(key, place[name]);
        }
    }
    history.replaceState(null, '', `#${parameters}`);
}
