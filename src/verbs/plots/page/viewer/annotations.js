// ---- annotations: what the program says it does, as ranges of events ----

const STRIP = 14;
const MOST_STRIPS = 2;
const MOST_LINES = 12;

// "## step 0 ##" without its ornaments.
const plainName = (name) => name.replace(/^[# ]+|[# ]+$/g, '') || name;

class Annotations {
    // marks: [name (string id), event, 1 begins | 0 ends], by event. An END closes the innermost range of its name;
    // without one it says nothing. What is never closed goes on to the end of the trace.
    constructor(marks, strings, n) {
        const open = new Map(); // by name, innermost last
        const taken = new Array(MOST_STRIPS).fill(false);
        const take = (lane, yes) => lane >= 0 && (taken[lane] = yes);
        const all = [];
        for (const [id, event, begins] of marks) {
            const name = strings[id];
            if (!open.has(name)) {
                open.set(name, []);
            }
            if (begins) {
                const lane = taken.indexOf(false); // -1: too deep for a strip
                take(lane, true);
                all.push({ name, from: event, to: n, closed: false, lane });
                open.get(name).push(all[all.length - 1]);
            } else if (open.get(name).length) {
                const range = open.get(name).pop();
                Object.assign(range, { to: event, closed: true });
                take(range.lane, false);
            }
        }
        // What ended before the first event or began behind the last one has no place in the trace.
        this.ranges = all.filter((range) => range.to > 0 && range.from < n);
        this.starts = [...new Set(this.ranges.map((range) => range.from))];
        this.strips = 1 + this.ranges.reduce((most, range) => Math.max(most, range.lane), -1);
    }

    // Ranges around an event, outermost first; also the empty ones that stand right before it.
    at(event) {
        const around = [];
        for (const range of this.ranges) {
            if (range.from > event) {
                break;
            }
            if (event < range.to || range.from === event) {
                around.push(range);
            }
        }
        return around;
    }

    // Where the next one (by > 0) or the one before begins; round and round.
    nextStart(event, by) {
        return by > 0 ? this.starts.find((i) => i > event) ?? this.starts[0]
            : this.starts.findLast((i) => i < event) ?? this.starts[this.starts.length - 1];
    }

    // Events at which an annotation begins whose name passes.
    startsNamed(passes) {
        return new Set(this.ranges.filter((range) => passes(range.name)).map((range) => range.from));
    }

    // "forward, events 12 to 40": always one line, whatever the name holds
    text({ name, from, to, closed }) {
        const shown = name.replace(/\s+/g, ' ');
        return to <= from ? `${shown}, no event inside`
            : `${shown}, events ${countText(from)} to ${closed ? countText(to - 1) : 'the end'}`;
    }

    // All of them, one a line.
    lines(around) {
        const lines = around.slice(0, MOST_LINES).map((range) => this.text(range));
        return [...lines, ...(around.length > MOST_LINES ? [`and ${countText(around.length - MOST_LINES)} more`] : [])].join('\n');
    }

    // Strips above the chart, outer ones above inner ones. What is narrower than a pixel is drawn once a column.
    draw(context, box, xOf) {
        const dark = cssColour('--strip-dark');
        const light = cssColour('--strip');
        const ink = cssColour('--dim');
        const drawnTo = new Array(this.strips).fill(-1);
        const odd = new Array(this.strips).fill(false);
        context.textAlign = 'center';
        context.textBaseline = 'middle';
        for (const range of this.ranges) {
            if (range.lane < 0) {
                continue;
            }
            odd[range.lane] = !odd[range.lane];
            const x1 = Math.max(box.x, xOf(range.from));
            const x2 = Math.min(box.x + box.w, xOf(range.to));
            if (x2 <= x1 || x2 - drawnTo[range.lane] < 1) {
                continue;
            }
            drawnTo[range.lane] = x2;
            const y = this.stripY(box, range.lane);
            context.fillStyle = odd[range.lane] ? dark : light;
            context.fillRect(x1, y, Math.max(1, x2 - x1), STRIP - 2);
            const text = fittingName(context, range.name, x2 - x1 - 6);
            if (text) {
                context.fillStyle = ink;
                context.fillText(text, (x1 + x2) / 2, y + STRIP / 2 - 1);
            }
        }
    }

    stripY(box, lane) {
        return box.y - 2 - STRIP * (this.strips - lane);
    }

    // The range whose strip is under a point of the chart.
    under(box, y, event) {
        const lane = Math.floor((y - this.stripY(box, 0)) / STRIP);
        return lane >= 0 && lane < this.strips ? this.at(event).find((range) => range.lane === lane) : undefined;
    }
}

// The name, or its number ("step 12"), or nothing: the longest that fits.
function fittingName(context, name, width) {
    if (width < 6) {
        return '';
    }
    const plain = plainName(name);
    const last = plain.slice(plain.lastIndexOf(' ') + 1);
    return [plain, /^\d/.test(last) ? last : ''].find((text) => context.measureText(text).width <= width) || '';
}
