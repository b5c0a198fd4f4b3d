// ---- memory over time ----

const MARGIN = { left: 74, right: 10, top: 36, bottom: 22 }; // strips of annotations come on top
const LABEL_ROW = 15;
const HEADROOM = 22; // above the highest curve, for the name of the line of reserved bytes

class Timeline {
    constructor(app, canvas, minimap) {
        this.app = app;
        this.canvas = canvas;
        this.minimap = minimap;
        this.listen();
    }

    // The band totals of each column, at the event of the column where most is alive.
    columns(from, to, width) {
        const device = this.app.device;
        const target = new Int32Array(width);
        for (let c = 0; c < width; c++) {
            const first = Math.floor(from + (to - from) * c / width);
            const last = Math.max(first + 1, Math.floor(from + (to - from) * (c + 1) / width));
            let best = Math.min(first, device.n - 1);
            for (let i = first + 1; i < last && i < device.n; i++) {
                if (device.live[i] > device.live[best]) {
                    best = i;
                }
            }
            target[c] = best;
        }
        return { target, totals: this.chart.layers.totalsAt(device.n ? target : target.fill(-1)) };
    }

    // What is stacked.
    get chart() {
        return this.app.device.chart(this.app.place.chart);
    }

    drawBands(context, columns, box, top) {
        const { bands: looks, layers } = this.chart;
        const bands = layers.width;
        const width = columns.target.length;
        const base = new Float64Array(width);
        const y = (bytes) => box.y + box.h * (1 - bytes / top);
        context.save();
        context.beginPath();
        context.rect(box.x, box.y, box.w, box.h);
        context.clip();
        for (let band = 0; band < bands; band++) {
            context.beginPath();
            for (let c = 0; c < width; c++) {
                const upper = base[c] + Math.max(0, columns.totals[c * bands + band]);
                context.lineTo(box.x + c, y(upper));
                context.lineTo(box.x + c + 1, y(upper));
            }
            for (let c = width - 1; c >= 0; c--) {
                context.lineTo(box.x + c + 1, y(base[c]));
                context.lineTo(box.x + c, y(base[c]));
                base[c] += Math.max(0, columns.totals[c * bands + band]);
            }
            context.fillStyle = bandColour(looks, band);
            context.globalAlpha = looks[band]?.alpha ?? 1;
            context.fill();
        }
        context.restore();
        return base;
    }

    // The most that the chart must show; `close`: of what is alive alone.
    top(columns, close) {
        const device = this.app.device;
        let top = 1;
        for (const i of columns.target) {
            top = Math.max(top, device.liveAt(i), close && !this.chart.reserved ? 0 : device.reservedAt(i), ...device.whatIfs.map((run) => (close ? 0 : whatIfAt(run, i))));
        }
        if (close && !this.chart.reserved) {
            return top;
        }
        const capacity = this.app.meta.capacity || this.app.device.about.limit;
        return capacity && capacity < 4 * top ? Math.max(top, capacity) : top;
    }

    draw() {
        const rect = this.canvas.getBoundingClientRect();
        const context = prepareCanvas(this.canvas, rect.width, rect.height);
        const annotations = this.app.device.annotations;
        const top = MARGIN.top + annotations.strips * STRIP;
        const box = this.box = {
            x: MARGIN.left, y: top, w: Math.max(1, Math.floor(rect.width - MARGIN.left - MARGIN.right)),
            h: Math.max(1, rect.height - top - MARGIN.bottom) };
        const { from, to } = this.app.place;
        const columns = this.drawn = this.columns(from, to, box.w);
        this.scaleTop = this.top(columns, this.close) * Math.max(1.06, box.h / Math.max(1, box.h - HEADROOM));
        context.fillStyle = cssColour('--panel');
        context.fillRect(box.x, box.y, box.w, box.h);
        this.drawBands(context, columns, box, this.scaleTop);
        this.drawSingles(context, box);
        this.drawAxes(context, box);
        this.drawReserved(context, columns, box);
        this.drawInUse(context, columns, box);
        this.app.device.whatIfs.forEach((run, i) => this.strokeCurve(context, columns, box, (event) => whatIfAt(run, event), whatIfColour(i), [7, 3]));
        this.drawCapacity(context, box);
        this.drawRange(context, box);
        this.drawMatches(context, box);
        annotations.draw(context, box, (event) => this.xOf(event));
        this.drawMarks(context, box);
        this.drawReservedText(context, columns, box);
        this.drawMinimap();
    }

    drawAxes(context, box) {
        context.fillStyle = cssColour('--dim');
        context.strokeStyle = cssColour('--line');
        context.globalAlpha = 0.8;
        context.lineWidth = 1;
        context.textBaseline = 'middle';
        context.textAlign = 'right';
        for (const bytes of sizeTicks(this.scaleTop, Math.max(2, Math.floor(box.h / 44)))) {
            const y = Math.round(box.y + box.h * (1 - bytes / this.scaleTop)) + 0.5;
            context.beginPath();
            context.moveTo(box.x, y);
            context.lineTo(box.x + box.w, y);
            context.stroke();
            context.fillText(tickText(bytes), box.x - 6, y);
        }
        context.globalAlpha = 1;
        this.drawEventTicks(context, box);
    }

    drawEventTicks(context, box) {
        const { from, to } = this.app.place;
        const step = niceStep((to - from) / Math.max(2, Math.floor(box.w / 130)));
        context.textBaseline = 'top';
        context.textAlign = 'center';
        const events = [];
        for (let event = Math.ceil(from / step) * step; event < to; event += step) {
            events.push(event);
        }
        const timed = this.app.device.about.base_us && this.app.device.n;
        const times = timed ? durationTexts(events.map((event) => this.app.device.when[Math.min(event, this.app.device.n - 1)])) : [];
        let first = 'event ';
        events.forEach((event, i) => {
            const x = this.xOf(event);
            const text = `${first}${countText(event)}${timed ? ` \u00b7 ${times[i]}` : ''}`;
            const half = context.measureText(text).width / 2;
            const at = Math.max(box.x - 40 + half, x);
            if (x - half > box.x - 60 && at + half < box.x + box.w + MARGIN.right) {
                context.fillText(text, at, box.y + box.h + 5);
                first = '';
            }
        });
    }

    drawReserved(context, columns, box) {
        const device = this.app.device;
        if (columns.target.every((event) => device.reservedAt(event) > this.scaleTop)) {
            return; // above the picture: its text says how much
        }
        this.strokeCurve(context, columns, box, (event) => device.reservedAt(event), cssColour('--ink'), []);
    }

    // Over reserved memory: what of it is in use.
    drawInUse(context, columns, box) {
        if (this.app.place.chart === 'segments') {
            this.strokeCurve(context, columns, box, (event) => this.app.device.liveAt(event), cssColour('--paper'), []);
        }
    }

    // A line through the bytes of each column.
    strokeCurve(context, columns, box, bytes, colour, dash) {
        context.beginPath();
        for (let c = 0; c < box.w; c++) {
            const y = box.y + box.h * Math.max(0, 1 - bytes(columns.target[c]) / this.scaleTop);
            context.lineTo(box.x + c, y);
            context.lineTo(box.x + c + 1, y);
        }
        context.strokeStyle = colour;
        context.lineWidth = 1.5;
        context.setLineDash(dash);
        context.stroke();
        context.setLineDash([]);
    }

    // What is reserved at the end of what is shown, above the line wherever that goes under the text.
    drawReservedText(context, columns, box) {
        const device = this.app.device;
        const text = `reserved ${sizeText(device.reservedAt(Math.min(device.n, Math.ceil(this.app.place.to)) - 1))}`;
        const under = Math.max(0, box.w - Math.ceil(context.measureText(text).width) - 8);
        const most = columns.target.subarray(under).reduce((top, event) => Math.max(top, device.reservedAt(event)), 0);
        context.fillStyle = cssColour('--ink');
        context.textAlign = 'right';
        context.textBaseline = 'bottom';
        const y = this.reservedTextY = Math.max(box.y + 14, box.y + box.h * (1 - most / this.scaleTop) - 3);
        context.strokeStyle = cssColour('--panel'); // no line goes through the text
        context.lineWidth = 4;
        context.lineJoin = 'round';
        context.strokeText(text, box.x + box.w - 4, y);
        context.fillText(text, box.x + box.w - 4, y);
    }

    drawCapacity(context, box) {
        const capacity = this.app.meta.capacity || this.app.device.about.limit;
        if (!capacity || capacity > this.scaleTop) {
            return;
        }
        const y = box.y + box.h * (1 - capacity / this.scaleTop);
        context.strokeStyle = context.fillStyle = cssColour('--bad');
        context.setLineDash([6, 4]);
        context.beginPath();
        context.moveTo(box.x, y);
        context.lineTo(box.x + box.w, y);
        context.stroke();
        context.setLineDash([]);
        context.textAlign = 'left';
        context.textBaseline = 'top';
        const text = this.app.meta.capacity ? `capacity ${sizeText(capacity)}` : this.app.device.about.limit_text;
        context.strokeStyle = cssColour('--panel'); // no line goes through the text
        context.lineWidth = 4;
        context.lineJoin = 'round';
        context.strokeText(text, box.x + 4, y + 5);
        context.fillText(text, box.x + 4, y + 5);
    }

    // A line at an event, with a text above that keeps clear of the other texts.
    mark(context, box, { event, colour, text, dash }) {
        if (event < this.app.place.from || event >= this.app.place.to) {
            return;
        }
        const x = this.xOf(event + 0.5);
        context.strokeStyle = context.fillStyle = colour;
        context.lineWidth = 1;
        context.setLineDash(dash);
        context.beginPath();
        const top = box.y - this.app.device.annotations.strips * STRIP;
        context.moveTo(x, top);
        context.lineTo(x, box.y + box.h);
        context.stroke();
        context.setLineDash([]);
        const width = context.measureText(text).width + 8;
        const left = x + width > box.x + box.w ? x - width : x;
        const row = [0, 1].find((r) => !this.labels.some((l) => l.row === r && l.left < left + width && left < l.left + l.width));
        if (row !== undefined) {
            this.labels.push({ row, left, width });
            context.textAlign = 'left';
            context.textBaseline = 'bottom';
            context.fillText(text, left + 4, top - 3 - row * LABEL_ROW);
        }
    }

    drawMarks(context, box) {
        const device = this.app.device;
        const chosen = this.app.place.event;
        this.labels = [];
        if (device.n === 0) {
            return;
        }
        const what = device.about.ooms.includes(chosen) ? 'out of memory, ' : device.peak === chosen ? 'peak ' : '';
        this.mark(context, box, { event: chosen, colour: cssColour('--accent'), text: `${what}${sizeText(device.liveAt(chosen))}`, dash: [] });
        for (const event of device.about.ooms) {
            if (event !== chosen) {
                this.mark(context, box, { event, colour: cssColour('--bad'), text: 'out of memory', dash: [2, 2] });
            }
        }
        if (device.peak !== chosen && device.peak >= 0) {
            this.mark(context, box, { event: device.peak, colour: cssColour('--dim'), text: `peak ${device.about.peak_text}`, dash: [4, 3] });
        }
    }

    drawMinimap() {
        const rect = this.minimap.getBoundingClientRect();
        const context = prepareCanvas(this.minimap, rect.width, rect.height);
        const box = { x: MARGIN.left, y: 0, w: Math.max(1, Math.floor(rect.width - MARGIN.left - MARGIN.right)), h: rect.height };
        if (!this.whole || this.whole.target.length !== box.w || this.wholeChart !== this.chart) {
            this.whole = this.columns(0, Math.max(1, this.app.device.n), box.w);
            this.wholeChart = this.chart;
        }
        context.fillStyle = cssColour('--panel');
        context.fillRect(box.x, 0, box.w, box.h);
        this.drawBands(context, this.whole, box, this.top(this.whole));
        const n = Math.max(1, this.app.device.n);
        const x1 = box.x + box.w * this.app.place.from / n;
        const x2 = box.x + box.w * this.app.place.to / n;
        context.fillStyle = cssColour('--paper');
        context.globalAlpha = 0.65;
        context.fillRect(box.x, 0, x1 - box.x, box.h);
        context.fillRect(x2, 0, box.x + box.w - x2, box.h);
        context.globalAlpha = 1;
        context.strokeStyle = cssColour('--accent');
        context.lineWidth = 2;
        context.strokeRect(x1 + 1, 1, Math.max(3, x2 - x1) - 2, box.h - 2);
        this.miniBox = box;
    }

    xOf(event) {
        const { from, to } = this.app.place;
        return this.box.x + this.box.w * (event - from) / (to - from);
    }

    eventAt(x) {
        const { from, to } = this.app.place;
        const column = Math.floor(x - this.box.x);
        return this.drawn && column >= 0 && column < this.drawn.target.length ? this.drawn.target[column]
            : Math.floor(from + (to - from) * (x - this.box.x) / this.box.w);
    }

    // The band under a point: its number, or -1.
    bandAt(x, y) {
        const column = Math.floor(x - this.box.x);
        if (column < 0 || column >= this.drawn.target.length) {
            return -1;
        }
        const bands = this.chart.layers.width;
        let bytes = (1 - (y - this.box.y) / this.box.h) * this.scaleTop;
        for (let band = 0; band < bands && bytes >= 0; band++) {
            bytes -= this.drawn.totals[column * bands + band];
            if (bytes < 0) {
                return band;
            }
        }
        return -1;
    }

    // The annotation whose strip is under a point.
    annotationAt(x, y) {
        const { from, to } = this.app.place;
        const event = Math.floor(from + (to - from) * (x - this.box.x) / this.box.w);
        return x < this.box.x || x >= this.box.x + this.box.w ? undefined : this.app.device.annotations.under(this.box, y, event);
    }

    hover(x, y) {
        const device = this.app.device;
        const event = this.eventAt(x);
        const annotation = this.annotationAt(x, y);
        if (annotation) {
            return device.annotations.text(annotation);
        }
        if (device.n === 0 || y < this.box.y || y > this.box.y + this.box.h || x < this.box.x) {
            return '';
        }
        const lines = [`event ${countText(event)}${device.about.base_us ? `, ${durationText(device.when[event])}` : ''}`,
            `${sizeText(device.liveAt(event))} alive, ${sizeText(device.reservedAt(event))} reserved`,
            ...device.whatIfs.map((run) => `${sizeText(whatIfAt(run, event))} reserved under ${run.conf}`)];
        const band = this.bandAt(x, y);
        const which = this.single && band >= 0 ? allocationAt(device, event, this.bytesAt(y)) : NEVER;
        if (which !== NEVER) {
            lines.push(`${sizeText(bytesOf(device, which))} at ${device.addressText(device.alloc.addr[which])}, alive ${lifetime(this.app, which)}`,
                ...this.app.stacks.label(device.alloc.stack[which]));
        } else if (band >= 0) {
            const bytes = this.bandBytes(x, band);
            const [name, under] = bandLabel(this.app, this.chart, band);
            lines.push(`${sizeText(bytes)} ${name}`, under);
        }
        return lines.filter(Boolean).join('\n');
    }

    // At close zoom, with two pixels an event, a line between any two allocations that are high enough.
    drawSingles(context, box) {
        const device = this.app.device;
        const { from, to } = this.app.place;
        const first = Math.floor(from);
        const last = Math.min(device.n, Math.ceil(to));
        this.single = device.n > 0 && !this.chart.reserved && box.w >= 2 * (last - first);
        if (!this.single) {
            this.drawLifetime(context, box);
            return;
        }
        const y = (bytes) => box.y + box.h * (1 - bytes / this.scaleTop);
        const least = 3 * this.scaleTop / box.h; // bytes of three pixels
        const chosen = [];
        context.beginPath();
        this.single = eachStanding(device, first, last, (event, bands) => {
            const x1 = Math.max(box.x, this.xOf(event));
            const x2 = Math.min(box.x + box.w, this.xOf(event + 1));
            let ground = 0;
            for (const band of bands) {
                for (const which of band) {
                    const bytes = bytesOf(device, which);
                    if (bytes >= least) {
                        context.moveTo(x1, Math.round(y(ground + bytes)) + 0.5);
                        context.lineTo(x2, Math.round(y(ground + bytes)) + 0.5);
                    }
                    if (which === this.app.chosen) {
                        chosen.push([x1, y(ground + bytes), x2 - x1, Math.max(2, y(ground) - y(ground + bytes))]);
                    }
                    ground += bytes;
                }
            }
        });
        context.strokeStyle = cssColour('--paper');
        context.lineWidth = 1;
        context.globalAlpha = 0.7;
        context.stroke();
        context.fillStyle = cssColour('--ink');
        chosen.forEach((r) => context.fillRect(...r));
        context.globalAlpha = 1;
        this.drawLifetime(context, box);
    }

    // From its alloc to its free, at the foot of the chart.
    drawLifetime(context, box) {
        const device = this.app.device;
        const which = this.app.chosen;
        if (which === NEVER) {
            return;
        }
        const { start, end } = device.alloc;
        const x1 = Math.max(box.x, this.xOf(Math.max(0, start[which])));
        const x2 = Math.min(box.x + box.w, this.xOf(end[which] === NEVER ? device.n : end[which]));
        context.fillStyle = cssColour('--accent');
        context.fillRect(Math.min(x1, box.x + box.w - 2), box.y + box.h - 5, Math.max(2, x2 - x1), 5);
    }

    drawRange(context, box) {
        const range = this.app.range;
        if (range) {
            const x1 = Math.max(box.x, this.xOf(range.from));
            const x2 = Math.min(box.x + box.w, this.xOf(range.to));
            context.fillStyle = cssColour('--accent');
            context.globalAlpha = 0.2;
            context.fillRect(x1, box.y, Math.max(0, x2 - x1), box.h);
            context.globalAlpha = 1;
        }
    }

    // What the search found, as ticks at the foot of the chart.
    drawMatches(context, box) {
        context.fillStyle = cssColour('--bad');
        let last = -1;
        for (const event of this.app.search.matches ?? []) {
            const x = Math.round(this.xOf(event + 0.5));
            if (x >= box.x && x < box.x + box.w && x !== last) {
                context.fillRect(x, box.y + box.h - 7, 1.5, 7);
                last = x;
            }
        }
    }

    bytesAt(y) {
        return (1 - (y - this.box.y) / this.box.h) * this.scaleTop;
    }

    // Selects the event of the column, and shows what is under the pointer: as the tip said.
    click(x, y) {
        const annotation = this.annotationAt(x, y);
        const event = annotation?.from ?? this.eventAt(x);
        const band = annotation || this.app.device.n === 0 ? -1 : this.bandAt(x, y);
        this.app.select(event);
        const which = this.single && band >= 0 ? allocationAt(this.app.device, event, this.bytesAt(y)) : NEVER;
        if (which !== NEVER) {
            this.app.choose(which);
        } else if (band >= 0) {
            showBand(this.app, this.chart, band, this.bandBytes(x, band), event);
        }
    }

    bandBytes(x, band) {
        return this.drawn.totals[Math.floor(x - this.box.x) * this.chart.layers.width + band];
    }

    zoom(factor, x) {
        const { from, to } = this.app.place;
        const at = from + (to - from) * (x - this.box.x) / this.box.w;
        this.app.show(at - (at - from) * factor, at + (to - at) * factor);
    }

    pan(pixels) {
        const { from, to } = this.app.place;
        const by = -pixels * (to - from) / this.box.w;
        const n = Math.max(1, this.app.device.n);
        const kept = Math.min(Math.max(by, -from), n - to);
        this.app.show(from + kept, to + kept);
    }

    listen() {
        const canvas = this.canvas;
        canvas.addEventListener('wheel', (e) => {
            e.preventDefault();
            if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
                this.pan(-e.deltaX);
            } else {
                this.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), e.offsetX);
            }
        }, { passive: false });
        dragging(canvas, (e, start) => {
            if (e.shiftKey || start.range) {
                start.range = true;
                this.app.markRange(this.eventAt(start.firstX), this.eventAt(Math.min(Math.max(e.offsetX, this.box.x), this.box.x + this.box.w)));
            } else {
                this.pan(e.offsetX - start.x);
                start.x = e.offsetX;
            }
        }, (e) => {
            this.click(e.offsetX, e.offsetY);
        });
        canvas.addEventListener('dblclick', () => this.app.show(0, this.app.device.n));
        canvas.addEventListener('pointermove', (e) => this.app.tip(e, this.hover(e.offsetX, e.offsetY)));
        canvas.addEventListener('pointerleave', () => this.app.tip());
        // Inside the frame of what is shown a drag moves it, outside and over the whole it chooses anew.
        const eventOf = (x) => Math.max(1, this.app.device.n) * Math.min(1, Math.max(0, (x - this.miniBox.x) / this.miniBox.w));
        const move = (e) => {
            const { from, to } = this.app.place;
            const n = Math.max(1, this.app.device.n);
            const width = to - from;
            const first = Math.min(Math.max(0, eventOf(e.offsetX) - width / 2), n - width);
            this.app.show(first, first + width);
        };
        dragging(this.minimap, (e, start) => {
            const { from, to } = this.app.place;
            const begin = eventOf(start.firstX);
            start.moves ??= begin >= from && begin < to && to - from < this.app.device.n;
            if (start.moves) {
                move(e);
            } else {
                this.app.show(Math.min(begin, eventOf(e.offsetX)), Math.max(begin, eventOf(e.offsetX)));
            }
        }, move);
    }
}

// Calls moved while the pointer is dragged, and clicked when it was not.
function dragging(element, moved, clicked) {
    let start = null;
    element.addEventListener('pointerdown', (e) => {
        start = { x: e.offsetX, y: e.offsetY, firstX: e.offsetX, far: false };
        element.setPointerCapture(e.pointerId);
    });
    element.addEventListener('pointermove', (e) => {
        if (start && (start.far || Math.abs(e.offsetX - start.firstX) > 3)) {
            start.far = true;
            moved(e, start);
        }
    });
    element.addEventListener('pointerup', (e) => {
        if (start && !start.far) {
            clicked(e);
        }
        start = null;
    });
}

// 1, 2, 5 times a power of ten, at least 1.
function niceStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    return Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((step) => step >= least));
}

// Round numbers of bytes, in powers of two.
function sizeTicks(top, most) {
    let step = 2 ** Math.ceil(Math.log2(top / most));
    step = Math.max(1, step);
    const ticks = [];
    for (let bytes = 0; bytes <= top; bytes += step) {
        ticks.push(bytes);
    }
    return ticks;
}

const tickText = (bytes) => sizeText(bytes).replace(/\.00 /, ' ').replace(/(\.\d)0 /, '$1 ');
