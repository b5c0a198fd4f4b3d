// ---- colours ----

const OTHERS = { light: '#c6ccd5', dark: '#434b57' };

const theme = () => (document.documentElement.classList.contains('dark') ? 'dark' : 'light');

function cssColour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The colour of an allocation: that of its band, or one by its stack.
function allocColour(device, which) {
    const band = device.bandOfAlloc(which);
    return band < device.bands.length || device.by !== 'stack' ? bandColour(device.bands, band)
        : `hsl(${(device.alloc.stack[which] * 47) % 360} 25% ${theme() === 'dark' ? 45 : 68}%)`;
}

const bandColour = (bands, band) => (band < bands.length ? bands[band][theme()] : OTHERS[theme()]);

// Of lines of reserved memory under other settings.
const whatIfColour = (i) => PALETTE[theme()][[4, 3, 1, 2][i % 4]];

const CANVAS_FONT = '12px system-ui, "DejaVu Sans", sans-serif';

// A canvas in device pixels whose context counts in CSS pixels.
function prepareCanvas(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    const w = Math.max(1, Math.round(width * ratio));
    const h = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
    }
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = CANVAS_FONT;
    return context;
}

// Text cut to a width, with an ellipsis.
function fitText(context, text, width) {
    if (context.measureText(text).width <= width) {
        return text;
    }
    let n = Math.max(0, Math.floor(text.length * width / context.measureText(text).width));
    while (n > 0 && context.measureText(`${text.slice(0, n)}…`).width > width) {
        n--;
    }
    return n > 0 ? `${text.slice(0, n)}…` : '';
}
