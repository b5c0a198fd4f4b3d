// SPDX-License-Identifier: MIT
// Faults that the page once had, each with the file that showed it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export function faultTests({ browser, memtool, makePage, data, equal, sizeText, clean, TESTDATA }) {
    const made = (name) => join(TESTDATA, 'pictures', name);
    const text = (page, what) => page.value(`document.querySelector('${what}')?.textContent`);
    const centre = (page, box) => page.value(`(() => { const r = ${box}.getBoundingClientRect(); return [r.x, r.y]; })()`);

    // A block over two mapped pieces of an expandable segment is whole.
    async function expandableBlocks() {
        const page = await browser().open(makePage(made('expandable_span.pickle'), 'segment_plot'));
        equal(await page.value('memtool.state.state[0].list.map((s) => [s.size, s.used])'), [[40 << 20, 30 << 20]], 'one run, its block whole');
        equal(await page.value("memtool.state.state[0].title.join(' ').includes('10.00 MiB free, largest hole 10.00 MiB')"), true, 'and what is free');
        await clean(page);
    }

    // Where the tip shows a band, a click shows the stack of that band.
    async function clickedBand() {
        const page = await browser().open(makePage(made('click_band.pickle')));
        const [left, top] = await centre(page, 'memtool.timeline.canvas');
        const box = await page.value('memtool.timeline.box');
        const bands = await page.value('memtool.device.bands.length');
        for (const at of [0.2, 0.5, 0.8]) {
            const x = left + box.x + box.w * 0.7;
            const y = top + box.y + box.h * at;
            await page.hover(x, y);
            const name = (await text(page, '#tip')).match(/\S+\.py:\d+ \w+/)?.[0];
            await page.click(x, y);
            equal(bands > 0 && (!name || (await text(page, '#detail')).includes(name)), true, `the tip says ${name}`);
        }
        await clean(page);
    }

    async function opensWhereItDied() {
        const page = await browser().open(makePage(made('oom_on_dev1.pickle')));
        equal(await page.value('memtool.device.about.device'), 1, 'the device that ran out of memory');
        equal(await page.value("[...document.querySelectorAll('#device option')].map((o) => o.textContent.includes('OOM'))"), [false, true], 'and the list says which');
        await clean(page);
    }

    // Colours and bands are those of the picture.
    async function colours() {
        for (const file of [data('transformer.pickle.gz'), data('leak.pickle.gz'), made('legend_twins.pickle')]) {
            const page = await browser().open(makePage(file));
            const svg = memtool('trace_plot', file, '--format', 'svg', '-o', '-');
            const shown = await page.value('memtool.device.bands.filter((b) => b.bytes > 0).map((b) => b.light)');
            equal(shown.filter((colour) => !svg.includes(colour)), [], `${file}: colours that the picture lacks`);
            await clean(page);
        }
    }

    // What -o x.html is asked for it does, or refuses.
    async function options() {
        const refused = (...args) => {
            try {
                memtool('trace_plot', data('leak.pickle.gz'), '-f', '-o', '/dev/null', '--format', 'html', ...args);
                return false;
            } catch (error) {
                return error.status === 2;
            }
        };
        const ignored = [['-s'], ['--per-alloc'], ['--x', 'time'], ['-n', '3'], ['--width', '900'], ['--unit', 'MiB'], ['--live'], ['--freed'],
            ['--filter_freed'], ['--frame', 'x'], ['--stream', '0'], ['--pool', 'small'], ['--annotation', 'step 3'], ['--json']];
        equal(ignored.filter((args) => !refused(...args)), [], 'options that a page cannot obey');
        const page = await browser().open(makePage(data('leak.pickle.gz'), 'trace_plot', '--events', '100:200', '--theme', 'dark'));
        equal(await page.value("[memtool.place.from, memtool.place.to, document.documentElement.classList.contains('dark')]"), [100, 200, true], 'the window, the theme');
        await clean(page);
        const state = await browser().open(makePage(data('leak.pickle.gz'), 'segment_plot', '--at', '77'));
        equal(await state.value('memtool.place.event'), 77, '--at');
        await clean(state);
    }

    // All segments can be reached, however many there are.
    async function manySegments() {
        const page = await browser().open(makePage(made('segments3000.pickle.gz'), 'segment_plot'));
        equal(await page.value('memtool.state.state.flatMap((g) => g.list).length'), 3000, 'segments');
        equal(await page.value("(() => { const v = document.getElementById('state-view'); v.scrollTop = 1e9; return v.scrollTop + v.clientHeight >= memtool.state.height; })()"), true, 'the end is in reach');
        await page.settle();
        equal(await page.value(`(() => { const last = memtool.state.state.at(-1).list.at(-1); const s = memtool.state;
            return s.segmentAt(last.x + last.w / 2, last.y + last.h / 2 - s.top) === last && s.canvas.height <= innerHeight; })()`), true, 'and drawn');
        await clean(page);
    }

    // Keys of the list, an event by its number, from an allocation to its ends.
    async function goingAround() {
        const page = await browser().open(makePage(data('transformer.pickle.gz')));
        const at = () => page.value('memtool.place.event');
        await page.value("document.getElementById('list').focus()");
        await page.key('Home');
        equal(await at(), 0, 'home');
        await page.key('ArrowDown');
        equal(await at(), 1, 'down');
        await page.key('PageDown');
        equal(await at() > 3, true, 'page down');
        await page.key('End');
        equal(await at(), 5988, 'end');
        await page.key('/');
        await page.type('#1205');
        await page.key('Enter');
        equal(await at(), 1205, '#1205');
        await page.value('document.activeElement.blur()');
        await page.key(']');
        equal(await page.value('memtool.device.alloc.end[memtool.chosen] === memtool.place.event'), true, '] goes to its free');
        await page.key('[');
        equal(await at(), 1205, '[ to its alloc');
        await clean(page);
    }

    // Frames are in sight on a laptop, folders in the title alone; panes can be resized.
    async function stackInSight() {
        const page = await browser().open(makePage(data('transformer.pickle.gz')), { width: 1440, height: 900, hash: '#e=2999' });
        await page.settle();
        const lines = await page.value(`(() => { const d = document.getElementById('detail').getBoundingClientRect();
            return [...document.querySelectorAll('#detail li')].filter((e) => { const r = e.getBoundingClientRect(); return r.height > 0 && r.height < 30 && r.bottom <= Math.min(d.bottom, innerHeight); }).length; })()`);
        equal(lines >= 5, true, `${lines} frames in sight`);
        const height = () => page.value("document.getElementById('detail').offsetHeight");
        const before = await height();
        await page.value("document.getElementById('split-list').focus()");
        await page.key('ArrowUp');
        equal(await height() > before, true, 'a bar moves');
        await clean(page);
    }

    // A character that is written out is no folder.
    async function escapedNames() {
        const page = await browser().open(makePage(made('names.pickle')));
        equal((await page.value("[...document.querySelectorAll('#legend .name')].map((e) => e.textContent)")).filter((name) => /^u202e/.test(name)), [], 'names that begin behind a backslash');
        await clean(page);
    }

    // Nothing leaves a phone or a page that is enlarged, and the chart keeps its height.
    async function smallScreens() {
        const path = makePage(data('leak.pickle.gz'));
        for (const [width, height] of [[390, 844], [844, 390], [720, 450], [640, 400]]) {
            const page = await browser().open(path, { width, height });
            await page.settle();
            equal(await page.value('document.documentElement.scrollWidth <= innerWidth'), true, `${width} px: nothing is wider than the screen`);
            equal(await page.value('memtool.timeline.box.h') >= 100, true, `${width} x ${height}: the chart is high enough`);
            equal(await page.value("document.getElementById('legend').getBoundingClientRect().height > 100"), true, `${width} px: the colours have names`);
            await clean(page);
        }
    }

    // At close zoom bands part: the tip and the click are of the allocation under the pointer.
    async function singleAllocations() {
        const page = await browser().open(makePage(data('transformer.pickle.gz')), { hash: '#e=1205&a=1150&b=1250' });
        await page.settle();
        equal(await page.value('memtool.timeline.single'), true, 'a hundred events are drawn one by one');
        const [left, top] = await centre(page, 'memtool.timeline.canvas');
        const box = await page.value('memtool.timeline.box');
        for (const at of [0.95, 0.7, 0.5]) {
            const [x, y] = [left + box.x + box.w * 0.6, top + box.y + box.h * at];
            await page.hover(x, y);
            const tip = await text(page, '#tip');
            await page.click(x, y);
            const [event, which] = await page.value('[memtool.place.event, memtool.chosen]');
            equal(await page.value(`memtool.device.aliveAt(${which}, ${event})`), true, 'it is alive then');
            const address = await page.value(`memtool.device.addressText(memtool.device.alloc.addr[${which}])`);
            equal([tip.includes(address), (await text(page, '#detail')).includes(address)], [true, true], 'tip and panel name it');
        }
        await clean(page);
    }

    // A range: what was allocated there and lives, which must sum to the change of what is alive.
    async function ranges() {
        const page = await browser().open(makePage(data('leak.pickle.gz')));
        await page.value('memtool.markRange(2000, 8000)');
        await page.settle();
        const found = await page.value('(() => { const f = memtool.range; return [f.from, f.to, memtool.device.liveAt(f.to - 1) - memtool.device.liveAt(f.from - 1)]; })()');
        const total = await page.value("[...document.querySelectorAll('#detail .range tr:last-child td')].map((e) => e.textContent)");
        equal(found.slice(0, 2), [2000, 8001], 'the range');
        equal(total[2], `${found[2] < 0 ? '\u2212' : '+'}${sizeText(Math.abs(found[2]))}`, 'the change is that of what is alive');
        await page.value("document.getElementById('minimap').focus()");
        const [x, y] = await centre(page, 'memtool.timeline.minimap');
        for (const [type, at] of [['mousePressed', 300], ['mouseMoved', 400], ['mouseMoved', 500], ['mouseReleased', 500]]) {
            await page.send('Input.dispatchMouseEvent', { type, x: x + at, y: y + 10, button: 'left', clickCount: 1 });
        }
        await page.settle();
        equal(await page.value('memtool.place.to - memtool.place.from < memtool.device.n / 3'), true, 'the small chart chooses a range of the whole');
        await clean(page);
    }

    // The views of a moment: their figures are those of the model.
    async function views() {
        const page = await browser().open(makePage(data('frag_oom.pickle')));
        equal(await page.value('memtool.state.request.bytes'), 400 << 20, 'the request stands beside the holes');
        await page.key('3');
        const cells = await page.value("[...document.querySelectorAll('.stacks tr:nth-child(2) td')].map((e) => e.textContent)");
        equal(cells.slice(0, 2), ['900.00 MiB', '100'], 'the table has what is alive');
        await page.value("document.querySelector('.stacks th:nth-child(2) button').click()");
        equal(await page.value("document.querySelector('.stacks th:nth-child(2)').getAttribute('aria-sort')"), 'descending', 'sorted by another column');
        await page.key('4');
        const box = await page.value('(() => { const b = memtool.map.boxes[5]; const r = memtool.map.canvas.getBoundingClientRect(); return [r.x + b.x + b.w / 2, r.y + b.y + b.h / 2, b.which]; })()');
        await page.click(box[0], box[1]);
        equal(await page.value('memtool.chosen'), box[2], 'a box of the map is its allocation');
        const before = await page.value('memtool.place.event');
        await page.value("document.activeElement.blur(); memtool.select(10)");
        await page.key(' ');
        await page.until('memtool.place.event > 10');
        await page.key(' ');
        equal(await page.value('memtool.playing === undefined') && before >= 0, true, 'it plays, and stops');
        await page.value("memtool.search.input.value = '400 MiB'; memtool.search.run()");
        equal(await page.value('memtool.search.matches'), [500], 'found, and marked');
        await clean(page);
    }

    // Each view opens by its tab and by the address.
    async function everyView() {
        const page = await browser().open(makePage(data('transformer.pickle.gz')));
        for (const tab of await page.value("[...document.querySelectorAll('[role=tab]:not([hidden])')].map((t) => t.dataset.tab)")) {
            await page.value(`document.getElementById('tab-${tab}').click()`);
            await page.settle();
            await page.value('memtool.select(memtool.place.event + 1)');
            await page.settle();
            equal(await page.value(`!document.getElementById('${tab}-view').hidden && document.getElementById('${tab}-view').textContent + document.querySelectorAll('#${tab}-view canvas').length !== '0'`), true, tab);
        }
        await clean(page);
    }

    // axe-core finds nothing, in any view, one of them dark; without axe-core (AXE) it is not asked.
    async function accessible() {
        if (!process.env.AXE || !existsSync(process.env.AXE)) {
            console.log('  axe-core is not installed: not asked about accessibility');
            return;
        }
        const axe = readFileSync(process.env.AXE, 'utf8');
        const page = await browser().open(makePage(data('graphs.pickle')), { width: 1440, height: 900 });
        await page.value(`${axe}; 0`);
        for (const tab of ['state', 'flame', 'table', 'map', 'settings', 'steps']) {
            await page.value(`memtool.tab('${tab}'); document.documentElement.classList.toggle('dark', ${tab === 'table'}); memtool.redraw()`);
            await page.settle();
            equal(await page.value("axe.run().then(({ violations }) => violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 80))}`))"), [], tab);
        }
        await clean(page);
    }

    // What the chart stacks, and what colours tell apart.
    async function charts() {
        const page = await browser().open(makePage(data('graphs.pickle')), { hash: '#c=pools&g=pool' });
        equal(await page.value("[memtool.place.chart, memtool.place.by, document.getElementById('chart-of').value, document.getElementById('colour-by').value]"), ['pools', 'pool', 'pools', 'pool'], 'the address opens them');
        equal(await page.value("memtool.device.chart('pools').bands.some((b) => b.name.startsWith('private pool (0,1)'))"), true, 'a private pool has its envelope');
        await page.settle();
        const [left, top] = await centre(page, 'memtool.timeline.canvas');
        const box = await page.value('memtool.timeline.box');
        await page.hover(left + box.x + box.w - 5, top + box.y + box.h - 4);
        equal((await text(page, '#tip')).includes('pool: in use'), true, 'the tip names the pool');
        await page.value("(() => { const s = document.getElementById('chart-of'); s.value = 'segments'; s.dispatchEvent(new Event('change')); })()");
        await page.settle();
        equal(await page.value("document.querySelector('#legend .total .bytes').textContent"), '112.00 MiB', 'segments sum to what is reserved');
        equal(/c=segments/.test(await page.value('location.hash')), true, 'and the address says so');
        await page.value("(() => { const s = document.getElementById('colour-by'); s.value = 'age'; s.dispatchEvent(new Event('change')); })()");
        await page.settle();
        equal(await page.value("memtool.device.bands.every((b) => /^since events|older/.test(b.name))"), true, 'colours by age');
        await clean(page);
    }

    // Several files: chosen by name, beside each other, and the difference of two moments.
    async function severalFiles() {
        const [a, b] = [data('transformer.pickle.gz'), data('leak.pickle.gz')];
        const path = `${a.replace(/.*\//, '')}-two.html`;
        const out = makePage(a).replace(/[^/]*$/, path);
        memtool('trace_plot', a, b, '-f', '-o', out);
        const page = await browser().open(out, { hash: '#v=compare' });
        await page.settle();
        const peaks = [a, b].map((file) => sizeText(JSON.parse(memtool('peak', '--json', file)).devices[0].peak_requested_bytes));
        equal(await page.value("[...document.querySelectorAll('.file p')].map((p) => p.textContent.match(/peak (\\S+ \\S+),/)[1])"), peaks, 'the peaks of both');
        const total = await page.value("[...document.querySelectorAll('#compare-view .stacks tr:last-child td')].map((e) => e.textContent)");
        equal(total.slice(0, 2), peaks, 'A and B are their peaks');
        await page.value("document.querySelectorAll('.file button')[1].click()");
        await page.settle();
        equal(await page.value('[memtool.place.file, memtool.meta.file, memtool.device.n]'), [1, 'leak.pickle.gz', JSON.parse(memtool('stats', '--json', b)).devices[0].trace.events], 'the other is open');
        await page.value('memtool.select(5); memtool.openFile(0); memtool.openFile(1)');
        equal(await page.value('memtool.place.event'), 5, 'a file opens where it was left');
        await clean(page);
        const second = await browser().open(out, { hash: '#f=1&e=7' });
        equal(await second.value('[memtool.place.file, memtool.place.event]'), [1, 7], 'the address names the file');
        await clean(second);
    }

    // What would be reserved under other settings is what simulate says.
    async function otherSettings() {
        const file = data('frag_oom.pickle');
        const page = await browser().open(makePage(file, 'trace_plot', '--conf', 'expandable_segments:True'));
        const run = JSON.parse(memtool('simulate', file, '--conf', 'expandable_segments:True', '--json')).runs.at(-1).counters;
        equal(await page.value('memtool.device.whatIfs.map((r) => [r.conf, Math.max(...r.bytes), r.exact])'), [['expandable_segments:True', run['reserved_bytes.all.peak'], true]], 'its peak');
        equal((await text(page, '#legend')).includes('expandable_segments:True'), true, 'the legend names it');
        await clean(page);
    }

    return { everyView, accessible, charts, severalFiles, otherSettings, views, singleAllocations, ranges, manySegments, goingAround, stackInSight, escapedNames, smallScreens, expandableBlocks, clickedBand, opensWhereItDied, colours, options };
}
