// SPDX-License-Identifier: MIT
// The allocator's state in the page is that of segment_plot, block by block, at events chosen by chance.
// MEMTOOL and TESTDATA name the binary and the folder of snapshots; FILES other files, EVENTS how many
// events of each (50), SEED what chance begins with. Ends with "page: N passed, M failed".
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { openPage } from './viewer.mjs';

const MEMTOOL = process.env.MEMTOOL || 'build/release/memtool';
const TESTDATA = process.env.TESTDATA || 'testdata';
const EVENTS = Number(process.env.EVENTS || 50);
const folder = mkdtempSync(join(tmpdir(), 'memtool-pages-'));
const FILES = (process.env.FILES || '').split(' ').filter(Boolean);
const OWN = ['graphs.pickle', 'streams.pickle', 'frag_oom.pickle', 'true_oom.pickle', 'transformer.pickle.gz', 'leak.pickle.gz',
    'expandable_transformer.pickle.gz', 'torch20_history_blocks.pickle.gz', 'context_ring3.pickle', 'high_addresses.pickle',
    'newest_keys.pickle', 'two_devices.pickle', 'aliases.pickle'].map((name) => join(TESTDATA, 'good', name))
    .concat(['expandable_span', 'slack', 'click_band'].map((name) => join(TESTDATA, 'pictures', `${name}.pickle`)));

let seed = Number(process.env.SEED || 1);
function chance(n) { // 0 .. n - 1
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor(seed / 2 ** 32 * n);
}

function memtool(...args) {
    return execFileSync(MEMTOOL, args, { encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] });
}

const STATES = { inactive: 0, active_allocated: 1, active: 1, active_pending_free: 2 };

// [address, bytes, 1 in use | 2 pending, address of segment], what segment_plot says.
function blocksOf(state) {
    return state.segments.flatMap((s) => s.blocks.filter((b) => STATES[b.state])
        .map((b) => [b.address, b.size_bytes, STATES[b.state], s.address].join(' '))).sort();
}

function blocksOfPage(device, segments) {
    return segments.flatMap((s) => s.blocks.map((b) =>
        [device.addressText(device.alloc.addr[b.alloc]), b.size, b.pending ? 2 : 1, device.addressText(s.addr)].join(' '))).sort();
}

const segmentsOf = (state) => state.segments.map((s) => `${s.address} ${s.total_bytes} ${s.type}`).sort();
const segmentsOfPage = (device, segments) => segments.map((s) => `${device.addressText(s.addr)} ${s.size} ${s.large ? 'large' : 'small'}`).sort();

function same(found, wanted, what) {
    const missing = wanted.filter((x) => !found.includes(x));
    const surplus = found.filter((x) => !wanted.includes(x));
    if (missing.length || surplus.length) {
        throw new Error(`${what}: page lacks ${missing.slice(0, 3).join(', ')}; and has ${surplus.slice(0, 3).join(', ')}`);
    }
}

// Blocks in use after an event by a replay of the dump that shares nothing with memtool's: from its end, where they
// are known, back to the event. Addresses alone: what a dump says of sizes is what was asked for.
function replayed(dump, number, event) {
    const live = new Set(dump.segments.filter((s) => s.device === number).flatMap((s) => {
        let at = s.address;
        return s.blocks.map((b) => {
            const place = b.address ?? at;
            at += b.size;
            return b.state === 'inactive' ? undefined : place;
        });
    }).filter((place) => place !== undefined));
    const trace = dump.device_traces[number];
    for (let i = trace.length - 1; i > event; i--) {
        if (trace[i].action === 'alloc') {
            live.delete(trace[i].addr);
        } else if (trace[i].action === 'free_completed' || trace[i].action === 'free') {
            live.add(trace[i].addr);
        }
    }
    return [...live].map((place) => `0x${BigInt(place).toString(16)}`).sort();
}

// Integers of addresses are exact: those of the files here are below 2^53.
function readDump(file) {
    const path = join(folder, `${basename(file)}.json`);
    memtool('convert', file, '-f', '-o', path);
    const dump = JSON.parse(readFileSync(path, 'utf8'));
    return dump.device_traces && dump.segments?.every((s) => s.address < 2 ** 53) ? dump : undefined;
}

// The bands of each chart sum to what they are made of, whatever colours tell apart.
function checkCharts(page, device, event, where) {
    const total = (chart) => device.chart(chart).layers.totalsAt([event]).reduce((all, bytes) => all + bytes, 0);
    const reserved = page.at(device, event).reduce((all, s) => all + s.size, 0);
    for (const by of ['stack', 'category', 'stream', 'pool', 'label', 'age']) {
        device.colourBy(by);
        equal(total('memory'), device.liveAt(event), `${where}: bands by ${by}`);
    }
    for (const chart of ['segments', 'pools']) {
        equal(total(chart), reserved, `${where}: ${chart}`);
    }
}

function equal(found, wanted, what) {
    if (found !== wanted) {
        throw new Error(`${what}: ${found} instead of ${wanted}`);
    }
}

async function check(file) {
    const path = join(folder, `${basename(file)}.html`);
    memtool('trace_plot', file, '-f', '-o', path);
    const page = await openPage(path);
    const dump = readDump(file);
    for (const device of page.devices) {
        const events = device.n ? [device.n - 1, Math.max(0, device.peak), ...Array.from({ length: EVENTS }, () => chance(device.n))] : [];
        for (const event of events) {
            const args = ['segment_plot', file, '--json', '--at', String(event), '--device', String(device.about.device)];
            const state = JSON.parse(memtool(...args)).devices[0];
            const segments = page.at(device, event);
            const where = `${basename(file)}, device ${device.about.device}, event ${event}`;
            same(segmentsOfPage(device, segments), segmentsOf(state), `${where}, segments`);
            same(blocksOfPage(device, segments), blocksOf(state), `${where}, blocks`);
            if (dump) {
                same(segments.flatMap((s) => s.blocks.map((b) => device.addressText(device.alloc.addr[b.alloc]))).sort(), replayed(dump, device.about.device, event), `${where}, replayed`);
            }
            checkCharts(page, device, event, where);
        }
    }
}

// Neighbouring ticks are told apart.
async function checkTexts() {
    const path = join(folder, 'texts.html');
    memtool('trace_plot', join(TESTDATA, 'good', 'graphs.pickle'), '-f', '-o', path);
    const { run } = await openPage(path);
    equal(run("durationTexts([4640000, 4640100, 4640200]).join()"), '4.6400 s,4.6401 s,4.6402 s', 'as many digits as it takes');
    equal(run("durationTexts([1000000, 1000000, 2000000]).join()"), '1.00 s,1.00 s,2.00 s', 'and no more');
}

let passed = 0;
let failed = 0;
for (const file of [...FILES.length ? FILES : OWN, '']) {
    try {
        await (file ? check(file) : checkTexts());
        passed++;
    } catch (error) {
        failed++;
        console.log(`--- ${error.message}`);
    }
}
rmSync(folder, { recursive: true, force: true });
console.log(`page: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
