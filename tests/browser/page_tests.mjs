// SPDX-License-Identifier: MIT
// The interactive page in a real browser. MEMTOOL and TESTDATA name the binary and the folder of
// snapshots; ONLY one test; BENCH_FILE, SHOTS and SHOT_FILES as in the README. A test may take
// LIMIT_S seconds (90), all together TOTAL_LIMIT_S (540): then the browser is killed. Ends with "browser: N passed, M failed".
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { Chromium, findChromium } from './chromium.mjs';
import { faultTests } from './fault_tests.mjs';
import { taskTests } from './task_tests.mjs';

const MEMTOOL = process.env.MEMTOOL || 'build/release/memtool';
const TESTDATA = process.env.TESTDATA || 'testdata';
const folder = mkdtempSync(join(tmpdir(), 'memtool-pages-'));
let browser;

function memtool(...args) {
    return execFileSync(MEMTOOL, args, { encoding: 'utf8', maxBuffer: 1 << 28, timeout: 60000 });
}

function makePage(snapshot, verb = 'trace_plot', ...options) {
    const path = join(folder, `${basename(snapshot)}-${verb}.html`);
    memtool(verb, snapshot, '-f', '-o', path, ...options);
    return path;
}

const data = (name) => join(TESTDATA, 'good', name);
const figure = (page, name) => page.value(`document.querySelector('[data-figure="${name}"] .dd')?.textContent`);

function equal(found, wanted, what) {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
    }
}

function sizeText(bytes) { // as `memtool --unit auto` prints
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    let value = bytes;
    while (value >= 1023.995 && unit + 1 < units.length) {
        value /= 1024;
        unit++;
    }
    return unit ? `${value.toFixed(2)} ${units[unit]}` : `${bytes} B`;
}

async function clean(page) {
    equal(page.errors, [], 'errors on the console');
    equal(page.requests, [], 'requests to the network');
    await page.close();
}

// ---- the tests ----

const SNAPSHOTS = ['graphs.pickle', 'streams.pickle', 'frag_oom.pickle', 'true_oom.pickle', 'transformer.pickle.gz', 'leak.pickle.gz',
    'expandable_transformer.pickle.gz', 'torch20_history_blocks.pickle.gz', 'no_traces.pickle', 'list_only.pickle', 'context_ring3.pickle',
    'inconsistent.pickle', 'high_addresses.pickle', 'newest_keys.pickle', 'two_devices.pickle', 'aliases.pickle'];

async function figuresAgree() {
    for (const name of SNAPSHOTS) {
        const stats = JSON.parse(memtool('stats', '--json', data(name))).devices.find((d) => d.device >= 0);
        const page = await browser.open(makePage(data(name)));
        equal(await figure(page, 'reserved'), sizeText(stats.reserved_bytes), `${name} reserved`);
        equal(await figure(page, 'allocated'), sizeText(stats.allocated_bytes), `${name} allocated`);
        equal(await figure(page, 'requested'), sizeText(stats.requested_bytes), `${name} requested`);
        equal(await figure(page, 'segments'), stats.segments.toLocaleString('en-US'), `${name} segments`);
        if (stats.trace && stats.trace.events) {
            const peak = JSON.parse(memtool('peak', '--json', data(name))).devices[0];
            equal(await figure(page, 'peak'), sizeText(peak.peak_requested_bytes), `${name} peak`);
            const live = await page.value('memtool.device.liveAt(memtool.device.peak)');
            equal(live, peak.peak_requested_bytes, `${name} bytes alive at the peak, counted in the page`);
            const segments = await page.value('memtool.state.at(memtool.device.n - 1).reduce((total, s) => total + s.size, 0)');
            equal(segments, stats.reserved_bytes, `${name} segments at the end, found in the page`);
        }
        await clean(page);
    }
}

// What pictures say in their headings the page says too, and which figures are those of the end.
async function tellsWhatPicturesTell() {
    for (const name of ['frag_oom.pickle', 'true_oom.pickle', 'leak.pickle.gz', 'transformer.pickle.gz']) {
        const page = await browser.open(makePage(data(name)));
        const svg = memtool('trace_plot', data(name), '--format', 'svg', '-o', '-');
        const said = await page.value("[...document.querySelectorAll('#story p')].flatMap((p) => p.textContent.split(' \u00b7 '))");
        equal(said.filter((line) => !svg.includes(`>${line}`) && !svg.includes(`${line}<`)), [], `${name}: the picture has the same`);
        for (const begin of ['Grows by', 'Does not grow', 'Grew by', 'Out of memory at', 'In the cache', 'On the device']) {
            equal(said.some((line) => line.startsWith(begin)), svg.includes(`>${begin}`), `${name}: ${begin}`);
        }
        equal(await page.value('memtool.device.about.limit > 0'), svg.includes('process limit (inferred)'), `${name}: the limit is drawn`);
        const most = svg.match(/reserved up to ([\d.]+ \w+)/)[1];
        equal(await figure(page, 'reserved at most'), most, `${name}: what was reserved at most`);
        const order = await page.value("[...document.querySelectorAll('#figures > div')].map((e) => e.dataset.figure || e.textContent)");
        equal(order.slice(0, 4), ['peak', 'reserved at most', 'at the end:', 'reserved'], `${name}: the end is named`);
        await clean(page);
    }
}

async function emptySnapshot() {
    const page = await browser.open(makePage(data('empty.pickle')));
    equal(/no memory/.test(await page.value('document.body.textContent')), true, 'the empty snapshot says so');
    equal(await page.value("[document.documentElement.dataset.ready, getComputedStyle(document.getElementById('tools')).display]"), ['true', 'none'], 'it is ready, and nothing on it is dead');
    await clean(page);
}

async function selectByClick() {
    const page = await browser.open(makePage(data('transformer.pickle.gz')));
    const before = await page.value('memtool.place.event');
    await page.click(300, 250);
    const after = await page.value('memtool.place.event');
    equal(before !== after, true, 'a click on the chart selects another event');
    equal(await page.value("Number(document.querySelector('.row.chosen')?.dataset.event)"), after, 'the list shows it');
    equal((await page.value("document.getElementById('moment').textContent")).includes(after.toLocaleString('en-US')), true, 'the headline names it');
    await page.hover(300, 300);
    equal(await page.value("!document.getElementById('tip').hidden && document.getElementById('tip').textContent.includes('alive')"), true, 'a tip is shown');
    await clean(page);
}

async function selectBlock() {
    const page = await browser.open(makePage(data('frag_oom.pickle'), 'segment_plot'));
    const at = await page.value(`(() => { const g = memtool.state.state[0].list[0]; const b = g.blocks[0];
        const r = memtool.state.canvas.getBoundingClientRect();
        return [r.x + g.x + (b.place - g.place + b.size / 2) / g.size * g.w, r.y + g.y + g.h / 2]; })()`);
    await page.click(...at);
    equal(await page.value("document.querySelector('#detail h2').textContent"), 'Block: 9.00 MiB', 'the block is described');
    equal(await page.value("document.querySelectorAll('#detail li').length > 0"), true, 'with its stack');
    await clean(page);
}

async function searching() {
    const page = await browser.open(makePage(data('transformer.pickle.gz')));
    await page.key('/');
    await page.type('adam.py');
    equal(/found|of/.test(await page.value("document.getElementById('found').textContent")), true, 'a frame is found');
    await page.send('Input.dispatchKeyEvent', { type: 'keyDown', key: 'Enter' });
    await page.settle();
    equal(await page.value("memtool.stacks.framesOf(memtool.device.stack[memtool.place.event]).some((f) => f.file.includes('adam.py'))"), true, 'the match has the frame');
    const address = await page.value('memtool.device.addressText(memtool.device.addr[7])');
    await page.value(`(() => { const i = document.getElementById('search'); i.value = '${address}'; i.dispatchEvent(new Event('input')); })()`);
    equal(await page.value('memtool.search.matches.includes(7)'), true, 'an address is found');
    await page.value("(() => { const i = document.getElementById('search'); i.value = '2 MiB'; i.dispatchEvent(new Event('input')); })()");
    equal(await page.value('memtool.search.matches.every((i) => memtool.device.sizes[memtool.device.size[i]] === 2097152) && memtool.search.matches.length > 0'), true, 'a size is found');
    await page.value("(() => { const i = document.getElementById('search'); i.value = 'nosuchframe'; i.dispatchEvent(new Event('input')); })()");
    equal(await page.value("document.getElementById('found').textContent"), 'not found', 'what is not there is not found');
    await clean(page);
}

// The events inside annotations of a name, as --annotation counts them.
function eventsInside(snapshot, name) {
    return JSON.parse(memtool('stats', '--json', '--annotation', name, snapshot)).devices[0].trace.events;
}

const detailRow = (page, name) => page.value(`[...document.querySelectorAll('#detail tr')].find((r) => r.cells[0].textContent === '${name}')?.cells[1].textContent`);

async function search(page, text) {
    await page.value(`(() => { const i = document.getElementById('search'); i.value = ${JSON.stringify(text)}; i.dispatchEvent(new Event('input')); })()`);
    return page.value('memtool.search.matches');
}

async function annotations() {
    const file = data('transformer.pickle.gz');
    const page = await browser.open(makePage(file));
    const ranges = await page.value('memtool.device.annotations.ranges');
    equal(ranges.length, 36, 'ranges');
    for (const name of ['## step 3 ##', '## forward ##', 'Optimizer.step#AdamW.step']) {
        const inside = ranges.filter((r) => r.name === name).reduce((total, r) => total + r.to - r.from, 0);
        equal(inside, eventsInside(file, name), `events inside ${name}, as memtool counts them`);
    }
    const starts = [...new Set(ranges.map((r) => r.from))];
    await page.value('memtool.select(0)');
    for (const wanted of starts.slice(0, 2)) {
        await page.key('a');
        equal(await page.value('memtool.place.event'), wanted, 'a goes to the next annotation');
    }
    await page.key('A', 8);
    equal(await page.value('memtool.place.event'), starts[0], 'with shift to the one before');
    await page.value("document.getElementById('to-annotation').click()");
    equal(await page.value('memtool.place.event'), starts[1], 'the button goes to the next one too');
    await page.value('memtool.select(memtool.device.n - 1)');
    await page.key('a');
    equal(await page.value('memtool.place.event'), starts[0], 'and after the last to the first');
    const forward = ranges.filter((r) => r.name === '## forward ##');
    equal(await search(page, 'forward ##'), forward.map((r) => r.from), 'a search finds where an annotation begins');
    await page.value(`memtool.select(${forward[2].from + 1})`);
    equal((await detailRow(page, 'annotations')).split('\n').map((line) => line.split(',')[0]), ['## step 2 ##', '## forward ##'],
        'the annotations around an event, outermost first');
    const { x, y } = await page.value(`(() => { const t = memtool.timeline; const r = t.canvas.getBoundingClientRect();
        return { x: r.x + t.xOf(${forward[4].from} + 9), y: r.y + memtool.device.annotations.stripY(t.box, 1) + 5 }; })()`);
    await page.hover(x, y);
    equal(/^## forward ##, events /.test(await page.value("document.getElementById('tip').textContent")), true, 'the strip tells its name');
    await page.click(x, y);
    equal(await page.value('memtool.place.event'), forward[4].from, 'a click on the strip goes to its beginning');
    await clean(page);
    await without();
}

async function without() {
    const page = await browser.open(makePage(data('graphs.pickle')));
    equal(await page.value("[memtool.device.annotations.strips, document.getElementById('to-annotation').disabled]"), [0, true], 'no annotations, no strips');
    const before = await page.value('memtool.place.event');
    await page.key('a');
    equal(await page.value('memtool.place.event'), before, 'a stays where there are none');
    await clean(page);
}

// Eight events, 100 us apart; marks as [stage, name, time].
function madeSnapshot(name, marks) {
    const path = join(folder, name);
    const events = Array.from({ length: 8 }, (_, i) => ({ action: 'alloc', addr: 4096 * (i + 1), size: 512, stream: 0, time_us: 1000000 + 100 * i, frames: [] }));
    writeFileSync(path, JSON.stringify({ segments: [], device_traces: [events],
        external_annotations: marks.map(([stage, text, time]) => ({ stage, name: text, device: 0, time_us: 1000000 + time })) }));
    return path;
}

async function oddAnnotations() {
    const evil = '<img src=x onerror="document.title=1"><script>document.title=1</script>\nsecond, events 0 to 1';
    const page = await browser.open(makePage(madeSnapshot('odd.json', [
        ['END', 'never begun', 50], ['START', 'before', -90], ['END', 'before', -10],
        ['START', evil, 100], ['START', 'inner', 150], ['START', 'inner', 350], ['END', 'inner', 400], ['END', 'inner', 500],
        ['START', 'empty', 510], ['END', 'empty', 520], ['START', 'behind', 900], ['END', 'behind', 950]])));
    equal(await page.value('memtool.device.annotations.ranges.map((r) => [r.name.slice(0, 6), r.from, r.to, r.closed, r.lane])'),
        [['<img s', 1, 8, false, 0], ['inner', 2, 6, true, 1], ['inner', 4, 5, true, -1], ['empty', 6, 6, true, 1]], 'ranges');
    await page.value('memtool.select(4)');
    equal(await detailRow(page, 'annotations'), `${evil.replace('\n', ' ')}, events 1 to the end\ninner, events 2 to 5\ninner, events 4 to 4`, 'a name stays text, on its line');
    equal(await page.value("document.querySelectorAll('img, script:not([type])').length"), 1, 'nothing of it became markup');
    equal(await search(page, 'ONERROR'), [1], 'it is found as text');
    equal(await search(page, 'empty'), [6], 'an empty one too, at the event behind it');
    equal(await search(page, 'never begun'), [], 'an END alone is none');
    await page.value('memtool.select(6)');
    equal((await detailRow(page, 'annotations')).split('\n')[1], 'empty, no event inside', 'and it says so');
    await clean(page);
    const many = Array.from({ length: 100000 }, (_, i) => ['START', `n${i % 7}`, i % 700]);
    const full = await browser.open(makePage(madeSnapshot('many.json', many)));
    equal(await full.value('memtool.device.annotations.ranges.length'), many.length, 'as many as there are');
    await full.value('memtool.select(7)');
    equal((await detailRow(full, 'annotations')).split('\n').pop(), 'and 99,988 more', 'the panel shows a few');
    const ms = await full.value('(() => { const s = performance.now(); memtool.timeline.draw(); return performance.now() - s; })()');
    equal(ms < 500, true, `the chart is drawn in time (${ms} ms)`);
    await clean(full);
}

// The page names a stack of compiled frames as the text does, by the operator, not by the interpreter.
async function compiledStacks() {
    const file = data('cache_python_oom.pickle.gz');
    const page = await browser.open(makePage(file));
    const names = await page.value("[...document.querySelectorAll('#legend .entry .name')].map((e) => e.textContent)");
    const lines = memtool('peak', '-n', '4', file).split('\n').map((line) => line.match(/libtorch\S* at::\S+/)?.[0]).filter(Boolean);
    equal(lines.length > 2, true, 'the text names operators');
    equal(lines.filter((line) => !names.some((name) => line.endsWith(` ${name}`))), [], `the legend names them too: ${names}`);
    equal(names.filter((name) => /^(python3|libstdc)/.test(name)), [], 'none is named by the interpreter');
    await clean(page);
}

// The call of the forward pass that memory of a backward pass belongs to stands below its stack.
async function forwardPass() {
    const page = await browser.open(makePage(data('newest.pickle')), { hash: '#e=3' });
    const lines = await page.value("[...document.querySelectorAll('#detail li')].map((e) => e.textContent)");
    equal(lines.slice(-1), ['of the forward pass: fwd.py:3 forward'], `the panel tells it: ${lines}`);
    await clean(page);
}

// What the program said of an allocation, and its category, stand in the panel; a search finds labels.
async function labels() {
    const page = await browser.open(makePage(data('newest.pickle')), { hash: '#e=3' });
    equal(await detailRow(page, 'label'), 'layers.0.attn', 'the label');
    equal(await detailRow(page, 'region'), 'Torch-Compiled Region: 0/0', 'the region of torch.compile');
    equal(await detailRow(page, 'node'), 'attn_1 (aten.attn), orig.py:7 fwd', 'the node');
    equal(await detailRow(page, 'category'), 'unknown', 'a category that is not known');
    await page.value('memtool.select(2)');
    equal(await detailRow(page, 'label'), 'weight of expert 3', 'an annotation names its block');
    equal(await detailRow(page, 'category'), 'parameter (confidence high)', 'a category that the file tells');
    equal(await search(page, 'expert 3'), [1, 2], 'a search finds the label');
    await clean(page);
}

// No two rows of the legend are called the same; what differs is what the picture names.
async function legendTellsApart() {
    for (const name of ['leak.pickle.gz', 'mlp.pickle.gz', 'transformer.pickle.gz']) {
        const page = await browser.open(makePage(data(name)));
        const rows = await page.value("[...document.querySelectorAll('#legend .entry:not(.total)')].map((e) => e.children[1].textContent + ' ' + e.children[3].textContent)");
        equal(rows.filter((row, i) => rows.indexOf(row) !== i), [], `${name}: rows of one name`);
        const svg = memtool('trace_plot', data(name), '--format', 'svg', '-o', '-');
        const deep = [...svg.matchAll(/(\d+ frames deep)</g)].map((m) => m[1]);
        equal(deep.filter((words) => !rows.some((row) => row.endsWith(words))), [], `${name}: depths as in the picture`);
        await clean(page);
    }
}

// Nothing is cut or lies over something else, on small and on large screens.
async function screens() {
    const cut = (what) => `[...document.querySelectorAll('${what}')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)`;
    for (const name of ['frag_oom.pickle', 'graphs.pickle', 'transformer.pickle.gz']) {
        const path = makePage(data(name));
        for (const [width, height] of [[900, 700], [1024, 768], [1280, 800], [1920, 1080], [3840, 2160]]) {
            const at = `${name} at ${width} px`;
            const page = await browser.open(path, { width, height });
            await page.settle();
            equal(await page.value(`[...document.querySelectorAll('header *, nav *, #jumps *')].filter((e) => {
                const r = e.getBoundingClientRect(); return r.right > innerWidth || r.left < 0; }).length`), 0, `${at}: nothing leaves the screen`);
            equal(await page.value("document.querySelector('header').offsetHeight") <= 90, true, `${at}: the header is flat`);
            equal(await page.value(cut('.row span, #moment, #figures .dd, [role=tab], #jumps button')), [], `${at}: no text is cut`);
            equal(await page.value("document.querySelector('.row .label').clientWidth") >= 150, true, `${at}: the list has room for the stack`);
            equal(await page.value("document.getElementById('legend').offsetWidth") >= 200, true, `${at}: the colours have names`);
            equal(await page.value('memtool.timeline.reservedTextY - 14 >= memtool.timeline.box.y'), true, `${at}: the name of the line lies in the chart`);
            equal(await page.value('memtool.state.state.every((g) => g.title.every((line) => memtool.state.ruler.measureText(line).width <= memtool.state.canvas.clientWidth))'), true, `${at}: the titles of pools fit`);
            const [first, bytes] = await page.value("[document.querySelector('#legend .entry .bytes').textContent, Math.max(...memtool.device.bands.map((b) => b.bytes))]");
            equal(first, sizeText(bytes), `${at}: the legend begins with the largest`);
            await clean(page);
        }
    }
}

async function zooming() {
    const page = await browser.open(makePage(data('transformer.pickle.gz')));
    const width = () => page.value('memtool.place.to - memtool.place.from');
    const whole = await width();
    await page.wheel(500, 250, -300);
    const closer = await width();
    equal(closer < whole, true, 'the wheel goes closer');
    await page.key('+');
    equal(await width() < closer, true, '+ goes closer');
    await page.key('0');
    equal(await width(), whole, '0 shows everything');
    await clean(page);
}

async function stepping() {
    const page = await browser.open(makePage(data('frag_oom.pickle')));
    await page.key('p');
    const peak = await page.value('memtool.device.about.peak_event');
    equal(await page.value('memtool.place.event'), peak, 'p goes to the peak');
    await page.key('ArrowRight');
    equal(await page.value('memtool.place.event'), peak + 1, 'an arrow goes one event on');
    await page.key('ArrowLeft');
    equal(await page.value('memtool.place.event'), peak, 'and back');
    await page.key('o');
    equal(await page.value('memtool.meta.actions[memtool.device.action[memtool.place.event]]'), 'oom', 'o goes to the out-of-memory event');
    await page.key('?');
    equal(await page.value("document.getElementById('help').open"), true, '? shows the keys');
    await clean(page);
}

async function sharing() {
    const path = makePage(data('two_devices.pickle'));
    const first = await browser.open(path, { hash: '#d=1&e=100&a=50&b=200&v=flame' });
    equal(await first.value('[memtool.place.device, memtool.place.event, memtool.place.from, memtool.place.to, memtool.place.tab]'), [1, 100, 50, 200, 'flame'], 'the address opens the place');
    await first.key('ArrowRight');
    const hash = await first.value('location.hash');
    equal(/e=101/.test(hash), true, `the address follows: ${hash}`);
    await clean(first);
}

async function hostile() {
    const page = await browser.open(makePage(data('hostile_names.pickle')));
    equal(await page.value("document.querySelectorAll('script:not([type])').length"), 1, 'no script came in');
    equal(await page.value("[...document.querySelectorAll('#legend .name')].some((e) => e.textContent.includes('<script>')) || document.body.textContent.includes('<script>alert')"), true, 'the name stays text');
    await page.key('2');
    equal(await page.value('memtool.flame.boxes.length > 1'), true, 'the flame graph is drawn');
    await clean(page);
    const turned = join(folder, 'turned.json');
    const names = memtool('convert', data('frag_oom.pickle'), '--format', 'json', '-o', '-');
    writeFileSync(turned, names.replaceAll('train', 'tr\u202eain\u200b'));
    const other = await browser.open(makePage(turned));
    equal(await other.value("/[\\u202e\\u200b]/.test(document.body.textContent)"), false, 'no name turns the writing around');
    equal(await other.value("document.body.textContent.includes('tr\\\\u202eain\\\\u200b')"), true, 'what is unseen is written out');
    await clean(other);
}

async function stateIsQuick(page, name) {
    const ms = await page.value(`(() => { const t = []; for (let k = 0; k < 9; k++) { const s = performance.now();
        memtool.state.at(Math.floor(memtool.device.n * (k + 1) / 10)); t.push(performance.now() - s); } return Math.max(...t); })()`);
    const frame = await page.value(`(() => { const t = []; for (let k = 0; k < 9; k++) { const s = performance.now();
        memtool.place.to = memtool.device.n * (1 - k / 12); memtool.timeline.draw(); t.push(performance.now() - s); } return t.sort((a, b) => a - b)[4]; })()`);
    console.log(`  ${name}: state at an event ${ms.toFixed(1)} ms at most, one drawing of the chart ${frame.toFixed(1)} ms`);
    return { ms, frame };
}

async function large() {
    const file = process.env.BENCH_FILE;
    const path = makePage(file);
    const page = await browser.open(path);
    console.log(`  ${basename(file)}: page ${(statSync(path).size / 1e6).toFixed(2)} MB, first picture after ${(page.openMs / 1000).toFixed(2)} s`);
    await stateIsQuick(page, basename(file));
    await clean(page);
}

async function small() {
    const page = await browser.open(makePage(data('transformer.pickle.gz')));
    const { ms } = await stateIsQuick(page, 'transformer');
    equal(ms < 100, true, 'the state at any event takes less than 100 ms');
    await clean(page);
}

async function pictures() {
    const shots = process.env.SHOTS;
    mkdirSync(shots, { recursive: true });
    const files = [...['transformer.pickle.gz', 'frag_oom.pickle', 'graphs.pickle', 'true_oom.pickle', 'leak.pickle.gz'].map(data), ...(process.env.SHOT_FILES || '').split(' ').filter(Boolean)];
    for (const file of files) {
        const path = makePage(file);
        for (const [width, height] of [[1280, 800], [3840, 2160]]) {
            for (const tab of ['state', 'flame', 'settings']) {
                const page = await browser.open(path, { width, height, hash: `#v=${tab}` });
                await page.settle();
                await page.picture(join(shots, `${basename(file).split('.')[0]}-${tab}-${width}.png`));
                await page.close();
            }
        }
    }
}

// ---- running them ----

const tests = { ...faultTests({ browser: () => browser, memtool, makePage, data, equal, sizeText, clean, folder, TESTDATA }), ...taskTests({ browser: () => browser, memtool, makePage, data, equal, sizeText, clean }), figuresAgree, legendTellsApart, tellsWhatPicturesTell, emptySnapshot, selectByClick, selectBlock, searching, annotations, oddAnnotations, compiledStacks, forwardPass, labels, screens, zooming, stepping, sharing, hostile, small,
    ...(process.env.BENCH_FILE && { large }), ...(process.env.SHOTS && { pictures }) };

const program = findChromium();
if (!program) {
    console.log('no Chromium found: scripts/install-deps installs it, or set CHROMIUM');
    console.log('browser: 0 passed, 1 failed');
    process.exit(1);
}
browser = new Chromium(program);
process.on('exit', () => { browser.kill(); rmSync(folder, { recursive: true, force: true }); });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => process.exit(1));
}

let passed = 0;
let failed = 0;
let running = '';

function total() {
    console.log(`browser: ${passed} passed, ${failed} failed`);
}

// A page may be busy for ever, and with it all others of the browser: nothing goes on after that.
function giveUp(seconds, whose) {
    return setTimeout(() => {
        console.log(`--- ${running}: not done after ${seconds} s (the limit of ${whose}); the browser is killed`);
        failed++;
        total();
        process.exit(1);
    }, 1000 * seconds);
}

const wanted = Object.keys(tests).filter((name) => !process.env.ONLY || process.env.ONLY === name);
if (wanted.length === 0) {
    console.log(`no test is called ${process.env.ONLY}: ${Object.keys(tests).join(' ')}`);
    failed++;
}
const overall = giveUp(Number(process.env.TOTAL_LIMIT_S || 540), 'all tests together');
for (const name of wanted) {
    const limit = giveUp(Number(process.env.LIMIT_S || (name === 'pictures' ? 450 : 90)), 'one test');
    running = name;
    try {
        await tests[name]();
        passed++;
    } catch (error) {
        failed++;
        console.log(`--- ${name}: ${error.stack}`);
    }
    clearTimeout(limit);
}
running = 'closing the browser';
await browser.close();
clearTimeout(overall);
total();
process.exit(failed ? 1 : 0);
