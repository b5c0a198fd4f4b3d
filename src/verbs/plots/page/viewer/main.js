// ---- putting it together ----

class App {
    constructor(files) {
        Object.assign(this, { files, ...files[0], chosen: NEVER, waiting: false });
        this.place = { file: 0, device: 0, event: 0, from: 0, to: 1, tab: 'state', query: '', chart: 'memory', by: 'stack' };
        this.timeline = new Timeline(this, document.getElementById('timeline'), document.getElementById('minimap'));
        this.state = new State(this, document.getElementById('state'));
        this.flame = new Flame(this, document.getElementById('flame'));
        this.table = new StackTable(this, document.getElementById('table-view'));
        this.map = new AddressMap(this, document.getElementById('map'));
        this.compare = new Files(this, document.getElementById('compare-view'));
        this.list = new List(this, document.getElementById('list'));
        this.search = new Search(this);
    }

    get device() {
        return this.devices[this.place.device];
    }

    // Opens the place that the address names, or the peak (an OOM, when there was one).
    open() {
        const wanted = readPlace();
        this.takeFile(this.files[wanted.file] ? wanted.file : 0);
        this.openDevice(wanted.device >= 0 ? Math.min(Math.floor(wanted.device), this.devices.length - 1) : worthMost(this.devices));
        if (CHARTS[wanted.chart]) {
            this.showChart(wanted.chart);
        }
        if (GROUPINGS[wanted.by]?.has?.(this.device)) {
            this.colourBy(wanted.by);
        }
        const n = this.device.n;
        if (wanted.event >= 0) {
            this.place.event = Math.min(Math.floor(wanted.event), Math.max(0, n - 1));
        }
        if (wanted.to > wanted.from) {
            this.place.from = Math.max(0, wanted.from);
            this.place.to = Math.min(Math.max(1, n), wanted.to);
        }
        if (this.meta.view === 'state' && wanted.event === undefined) {
            document.getElementById('over-time').style.flexBasis = '34%'; // the state is what was asked for
        }
        this.place.tab = ['state', 'flame', 'table', 'map', 'settings', 'steps', ...(this.files.length > 1 ? ['compare'] : [])].includes(wanted.tab) ? wanted.tab : this.place.tab;
        if (wanted.query) {
            this.search.input.value = wanted.query;
            this.search.run();
        }
        this.openTab(this.place.tab);
        this.redraw();
        this.list.scrollTo(this.place.event);
        showDetail(this);
    }

    // The file whose devices are shown: where it was left, or where it opens.
    openFile(index) {
        this.files[this.place.file].left = { device: this.place.device, event: this.place.event };
        this.takeFile(index);
        const { device, event } = this.files[index].left ?? {};
        this.openDevice(device ?? worthMost(this.devices));
        this.place.event = event ?? this.place.event;
        this.refresh();
    }

    takeFile(index) {
        Object.assign(this, this.files[index]);
        this.place.file = index;
        const title = document.getElementById('title');
        title.textContent = title.title = this.meta.file;
        document.getElementById('file').value = String(index);
        document.getElementById('device').replaceChildren(...this.meta.devices.map((about, i) => new Option(deviceText(about), String(i))));
        document.getElementById('device-label').hidden = this.devices.length < 2;
    }

    // All anew, as after another device.
    refresh() {
        this.search.run();
        this.stale = '';
        this.redraw();
        this.list.scrollTo(this.place.event);
        showDetail(this);
    }

    openDevice(index) {
        this.place.device = index;
        this.chosen = NEVER;
        this.range = undefined;
        const device = this.device;
        this.place.by = device.by;
        this.place.chart = device.segments.length ? this.place.chart : 'memory';
        WORDS.whyNoStack = device.about.why_no_stack;
        this.place.event = opensAt(device);
        this.place.from = device.about.from ?? 0;
        this.place.to = device.about.to ?? Math.max(1, device.n);
        document.getElementById('device').value = String(index);
        document.getElementById('to-oom').disabled = device.about.ooms.length === 0;
        document.getElementById('to-peak').disabled = device.n === 0;
        document.getElementById('to-annotation').disabled = device.annotations.starts.length === 0;
        showFigures(this);
        showLegend(this);
        showSettings(this);
        showSteps(this);
        this.list.reset();
    }

    // What the chart stacks: one of CHARTS.
    showChart(name) {
        this.place.chart = name;
        showLegend(this);
        this.redraw();
        this.remember();
    }

    // What colours tell apart, in the chart, the state and the map: one of GROUPINGS.
    colourBy(by) {
        this.place.by = by;
        this.device.colourBy(by);
        this.stale = '';
        showLegend(this);
        this.redraw();
        this.remember();
    }

    openTab(tab) {
        this.place.tab = tab;
        for (const button of document.querySelectorAll('[role=tab]')) {
            const open = button.dataset.tab === tab;
            button.setAttribute('aria-selected', open);
            button.tabIndex = open ? 0 : -1;
            document.getElementById(`${button.dataset.tab}-view`).hidden = !open;
        }
    }

    // One drawing a frame, however many things changed.
    redraw() {
        if (this.waiting) {
            return;
        }
        this.waiting = true;
        requestAnimationFrame(() => {
            this.waiting = false;
            const started = performance.now();
            this.timeline.draw();
            this.timelineMs = performance.now() - started;
            const shown = this.place.tab === 'map' ? `${this.place.from} ${this.place.to}` : '';
            const now = `${this.place.event} ${this.place.tab} ${this.chosen} ${theme()} ${window.innerWidth} ${shown}`;
            if (this.stale !== now) {
                this.stale = now;
                this.drawMoment();
            }
        });
    }

    drawMoment() {
        const device = this.device;
        if (this.place.tab === 'state') {
            this.state.draw();
        } else {
            this[this.place.tab]?.draw(); // settings and steps stay as they are
        }
        const event = this.place.event;
        document.getElementById('moment').textContent =
            `${device.n ? `event ${countText(event)}: ` : ''}${sizeText(device.liveAt(event))} alive, ${sizeText(device.reservedAt(event))} reserved`;
    }

    remember() {
        clearTimeout(this.rememberLater);
        this.rememberLater = setTimeout(() => writePlace(this.place), 100);
    }

    show(from, to) {
        const n = Math.max(1, this.device.n);
        const width = Math.min(n, Math.max(8, to - from));
        this.place.from = Math.round(Math.min(Math.max(0, from), n - width) * 1000) / 1000;
        this.place.to = Math.round(Math.min(n, this.place.from + width) * 1000) / 1000;
        this.redraw();
        this.remember();
    }

    select(event) {
        if (this.device.n === 0) {
            return;
        }
        this.place.event = Math.min(Math.max(0, event), this.device.n - 1);
        this.chosen = NEVER;
        const { from, to } = this.place;
        if (this.place.event < from || this.place.event >= to) {
            this.show(this.place.event - (to - from) / 2, this.place.event + (to - from) / 2);
        }
        this.list.scrollTo(this.place.event);
        showDetail(this);
        this.search.tell();
        this.redraw();
        this.remember();
    }

    // One allocation stays chosen while the event moves to an end of it.
    goToEnd(which, event) {
        this.select(event);
        this.choose(which);
    }

    goToBlock(which) {
        const { start, end } = this.device.alloc;
        if (!this.device.aliveAt(which, this.place.event)) {
            this.select(start[which] >= 0 ? start[which] : Math.min(end[which], this.device.n) - 1);
        }
        this.choose(which);
        this.tab('state');
        requestAnimationFrame(() => requestAnimationFrame(() => this.state.scrollTo(which)));
    }

    // The events between two, whichever comes first.
    markRange(a, b) {
        this.range = { from: Math.min(a, b), to: Math.max(a, b) + 1 };
        showRange(this);
        this.redraw();
    }

    choose(which) {
        this.chosen = which;
        showDetail(this);
        this.redraw();
    }

    tip(e, text) {
        const tip = document.getElementById('tip');
        tip.hidden = !text;
        if (text) {
            tip.textContent = text;
            const left = e.clientX > window.innerWidth - 500;
            tip.style.left = left ? 'auto' : `${e.clientX + 14}px`;
            tip.style.right = left ? `${window.innerWidth - e.clientX + 14}px` : 'auto';
            const low = e.clientY > window.innerHeight - 140;
            tip.style.top = low ? 'auto' : `${e.clientY + 14}px`;
            tip.style.bottom = low ? `${window.innerHeight - e.clientY + 14}px` : 'auto';
        }
    }

    goToOwnEnd(end) {
        const which = this.chosen !== NEVER ? this.chosen : this.device.eventAlloc[this.place.event] ?? NEVER;
        const event = which === NEVER ? -1 : this.device.alloc[end][which];
        if (event >= 0 && event !== NEVER) {
            this.goToEnd(which, event);
        }
    }

    nextOom() {
        const ooms = this.device.about.ooms;
        if (ooms.length) {
            this.select(ooms.find((i) => i > this.place.event) ?? ooms[0]);
        }
    }

    nextAnnotation(by) {
        const event = this.device.annotations.nextStart(this.place.event, by);
        if (event !== undefined) {
            this.select(event);
        }
    }

    key(e) {
        if (e.target.closest('input, select, dialog, [role=separator]') || (e.key === ' ' && e.target.closest('button')) || e.ctrlKey || e.metaKey || e.altKey) {
            return;
        }
        const { from, to, event } = this.place;
        const middle = this.timeline.box.x + this.timeline.box.w * Math.min(1, Math.max(0, (event - from) / (to - from)));
        const step = e.shiftKey ? 100 : 1;
        const keys = {
            '[': () => this.goToOwnEnd('start'), ']': () => this.goToOwnEnd('end'),
            ArrowUp: () => this.select(event - step), ArrowDown: () => this.select(event + step),
            ArrowLeft: () => this.select(event - step), ArrowRight: () => this.select(event + step),
            p: () => this.select(this.device.peak), o: () => this.nextOom(),
            a: () => this.nextAnnotation(e.shiftKey ? -1 : 1), A: () => this.nextAnnotation(e.shiftKey ? -1 : 1),
            y: () => { this.timeline.close = !this.timeline.close; this.redraw(); },
            Escape: () => { this.range = undefined; this.choose(NEVER); },
            '+': () => this.timeline.zoom(0.6, middle), '=': () => this.timeline.zoom(0.6, middle),
            '-': () => this.timeline.zoom(1 / 0.6, middle), 0: () => this.show(0, this.device.n),
            '/': () => this.search.input.focus(), '?': () => document.getElementById('help').showModal(),
            ' ': () => this.play(),
            1: () => this.tab('state'), 2: () => this.tab('flame'), 3: () => this.tab('table'), 4: () => this.tab('map'), 5: () => this.tab('settings'), 6: () => this.tab('steps'), 7: () => this.files.length > 1 && this.tab('compare') };
        if (keys[e.key]) {
            e.preventDefault();
            keys[e.key]();
        }
    }

    // Goes through what the chart shows, in about ten seconds.
    play() {
        const button = document.getElementById('play');
        const playing = this.playing === undefined;
        button.setAttribute('aria-pressed', playing);
        button.textContent = playing ? 'stop' : 'play';
        clearInterval(this.playing);
        this.playing = undefined;
        if (playing) {
            const { from, to } = this.place;
            const by = Math.max(1, Math.round((to - from) / 120));
            this.select(this.place.event >= Math.floor(to) - 1 ? Math.ceil(from) : this.place.event);
            this.playing = setInterval(() => {
                this.select(this.place.event + by);
                if (this.place.event >= Math.floor(to) - 1) {
                    this.play();
                }
            }, 80);
        }
    }

    tab(name) {
        this.openTab(name);
        this.redraw();
        this.remember();
    }

    listen() {
        document.addEventListener('keydown', (e) => this.key(e));
        listenToSplitters();
        document.querySelector('nav').addEventListener('click', (e) => {
            if (e.target.dataset.tab) {
                this.tab(e.target.dataset.tab);
            }
        });
        document.querySelector('nav').addEventListener('keydown', (e) => {
            const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
            const tabs = [...document.querySelectorAll('[role=tab]')];
            if (by && e.target.dataset.tab) {
                e.stopPropagation();
                const next = tabs[(tabs.indexOf(e.target) + by + tabs.length) % tabs.length];
                this.tab(next.dataset.tab);
                next.focus();
            }
        });
        document.getElementById('play').addEventListener('click', () => this.play());
        document.getElementById('to-peak').addEventListener('click', () => this.select(this.device.peak));
        document.getElementById('to-oom').addEventListener('click', () => this.nextOom());
        document.getElementById('to-annotation').addEventListener('click', (e) => this.nextAnnotation(e.shiftKey ? -1 : 1));
        document.getElementById('help-open').addEventListener('click', () => document.getElementById('help').showModal());
        document.getElementById('theme').addEventListener('click', () => {
            document.documentElement.classList.toggle('dark');
            showLegend(this);
            this.redraw();
        });
        document.getElementById('device').addEventListener('change', (e) => {
            this.openDevice(Number(e.target.value));
            this.refresh();
        });
        document.getElementById('file').addEventListener('change', (e) => this.openFile(Number(e.target.value)));
        new ResizeObserver(() => { this.stale = ''; this.redraw(); this.list.draw(); }).observe(document.querySelector('main'));
        window.addEventListener('hashchange', () => this.open());
    }
}

// The event at which a device opens: as asked for, the last refusal, or the peak.
const opensAt = ({ about, peak, n }) => about.opens_at ?? about.ooms[about.ooms.length - 1] ?? Math.max(peak, n ? 0 : -1);

// The device that ran out of memory, else the fullest.
function worthMost(devices) {
    const weight = ({ about }) => (about.ooms.length ? 1e18 : 0) + about.peak_bytes;
    return devices.reduce((best, device, i) => (weight(device) > weight(devices[best]) ? i : best), 0);
}

// "1: OOM, peak 78.29 GiB"
const deviceText = (about) => `${about.device}:${about.ooms.length ? ' OOM,' : ''} peak ${about.peak_text}`;

// { meta, stacks, devices } of a file of the page.
async function readFile(meta) {
    const stacks = await Stacks.read(meta);
    const devices = [];
    for (let i = 0; i < meta.devices.length; i++) {
        devices.push(await Device.read(i, meta, stacks));
    }
    return { meta, stacks, devices };
}

async function main() {
    const started = performance.now();
    const files = [];
    for (let i = 0; document.getElementById(`meta${i || ''}`); i++) {
        files.push(await readFile(await readJson(`meta${i || ''}`)));
    }
    const { meta } = files[0];
    document.documentElement.classList.toggle('dark', meta.dark === 1 || matchMedia('(prefers-color-scheme: dark)').matches);
    document.getElementById('title').textContent = meta.file;
    const shown = files.filter(({ devices }) => devices.length);
    document.getElementById('file').append(...shown.map((file, i) => new Option(file.meta.file, String(i))));
    document.getElementById('file-label').hidden = document.getElementById('tab-compare').hidden = shown.length < 2;
    document.getElementById('title').hidden = shown.length > 1; // the list of files names it
    if (shown.length === 0) {
        document.getElementById('device-label').hidden = document.getElementById('tools').hidden = true;
        document.querySelector('main').replaceChildren(element('p', 'none', 'This snapshot holds no memory and no events.'));
        document.documentElement.dataset.ready = 'true';
        return;
    }
    const app = new App(shown);
    app.listen();
    app.open();
    requestAnimationFrame(() => requestAnimationFrame(() => {
        app.firstPictureMs = performance.now() - started;
        document.documentElement.dataset.ready = 'true';
    }));
    window.memtool = app; // for the tests and for the curious
}
