// SPDX-License-Identifier: MIT
// memtool-viewer.html in headless Chromium: files that are chosen and dropped. VIEWER, MEMTOOL and TESTDATA name the
// page, the binary and the folder of snapshots; BENCH_FILE a large one whose times are printed; SHOT a picture to keep.
// Ends with "viewer: N passed, M failed".
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { deflateRawSync } from 'node:zlib';

import { Chromium, findChromium } from './chromium.mjs';

const { VIEWER = 'build/wasm/memtool-viewer.html', MEMTOOL = 'build/release/memtool', TESTDATA = 'testdata', BENCH_FILE, SHOT } = process.env;
const folder = mkdtempSync(join(tmpdir(), 'memtool-viewer-'));
const browser = new Chromium(findChromium());
const good = (name) => resolve(TESTDATA, 'good', name);
const memtool = (...args) => execFileSync(MEMTOOL, args, { encoding: 'utf8', maxBuffer: 1 << 28 });

function equal(found, wanted, what) {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
    }
}

async function open() {
    const page = await browser.open(VIEWER);
    await page.send('Target.setAutoAttach', { autoAttach: true, flatten: true, waitForDebuggerOnStart: false });
    return page;
}

async function choose(page, path) {
    await page.send('DOM.enable');
    const { root } = await page.send('DOM.getDocument');
    const { nodeId } = await page.send('DOM.querySelector', { nodeId: root.nodeId, selector: '#choose' });
    await page.value('delete document.documentElement.dataset.ready');
    await page.send('DOM.setFileInputFiles', { nodeId, files: [path] });
    await page.until("document.documentElement.dataset.ready === 'true' || document.getElementById('said').className === 'wrong'", 120000);
}

async function frameReady(page) {
    const end = performance.now() + 60000;
    while (!page.frame || await page.inFrame('document.documentElement.dataset.ready').catch(() => '') !== 'true') {
        if (performance.now() > end) {
            throw new Error('the page in the frame is never ready');
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

async function report(page, verb) {
    await page.value(`(async () => { document.getElementById('report').value = '${verb}'; await viewer.show('report'); })()`);
    return page.value("document.getElementById('text').textContent");
}

// A zip with one deflated file, as a program other than torch.save writes it.
function zipOf(name, bytes) {
    const packed = deflateRawSync(bytes);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 8);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt32LE(bytes.length, 22);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(bytes.length, 24);
    entry.writeUInt16LE(name.length, 28);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(1, 8);
    end.writeUInt16LE(1, 10);
    end.writeUInt32LE(46 + name.length, 12);
    end.writeUInt32LE(30 + name.length + packed.length, 16);
    return Buffer.concat([local, Buffer.from(name), packed, entry, Buffer.from(name), end]);
}

async function everyKind() {
    const snapshot = good('frag_oom.pickle');
    const json = join(folder, 'frag.json');
    memtool('convert', snapshot, '-o', json);
    const zip = join(folder, 'frag.zip');
    writeFileSync(zip, zipOf('a/frag.pickle', readFileSync(snapshot)));
    const page = await open();
    const wanted = memtool('peak', snapshot).split('\n')[0];
    for (const path of [snapshot, json, zip, good('leak.pickle.gz'), good('expandable_transformer.pickle.gz')]) {
        await choose(page, path);
        await frameReady(page);
        const name = path.endsWith('.gz') ? path : snapshot;
        const peak = JSON.parse(memtool('peak', '--json', name)).devices[0].peak_requested_bytes;
        equal(await page.inFrame('memtool.device.about.peak_bytes'), peak, `${path}: peak of the page`);
        const text = await report(page, 'peak');
        equal(text.split('\n')[0], path.endsWith('.gz') ? memtool('peak', name).split('\n')[0] : wanted, `${path}: peak as text`);
        const triage = memtool('triage', name).split('\n')[1];
        equal((await report(page, 'triage')).split('\n')[1], triage, `${path}: triage`);
    }
    if (SHOT) {
        await page.value("viewer.show('page')");
        await page.settle();
        await page.picture(SHOT);
    }
    equal([page.errors, page.requests], [[], []], 'errors and requests');
    await page.close();
}

async function logs() {
    const page = await open();
    const log = resolve(TESTDATA, 'logs', 'frag_oom.log');
    await choose(page, log);
    equal((await report(page, 'triage')).split('\n').slice(1, 3), memtool('triage', log).split('\n').slice(1, 3), 'triage of a log');
    equal(await page.value("document.getElementById('to-page').disabled"), true, 'a log has no page');
    equal([page.errors, page.requests], [[], []], 'errors and requests');
    await page.close();
}

async function dropped() {
    const page = await open();
    const text = readFileSync(good('true_oom.pickle')).toString('base64');
    await page.value(`(() => { delete document.documentElement.dataset.ready; const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob('${text}'), (c) => c.charCodeAt(0))], '<img src=x onerror=alert(1)>.pickle'));
        document.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true })); })()`);
    await page.until("document.documentElement.dataset.ready === 'true'");
    await frameReady(page);
    equal(await page.inFrame("document.querySelector('[data-figure=peak] .dd').textContent"), memtool('peak', good('true_oom.pickle')).match(/: (\S+ \S+) requested/)[1], 'the peak of what was dropped');
    equal(await page.value("document.querySelectorAll('img').length"), 0, 'its name stays text');
    await page.close();
}

async function damaged() {
    const page = await open();
    const half = join(folder, 'half.pickle');
    writeFileSync(half, readFileSync(good('frag_oom.pickle')).subarray(0, 60000));
    await choose(page, half);
    equal(await page.value("document.getElementById('said').textContent.includes('damaged')"), true, 'half a file is shown, and said to be');
    const zip = join(folder, 'broken.zip');
    writeFileSync(zip, 'PK\x03\x04 and no more');
    await choose(page, zip);
    equal(await page.value("document.getElementById('said').className"), 'wrong', 'a zip without its end is refused');
    await page.close();
}

async function large() {
    const page = await open();
    const started = performance.now();
    await choose(page, BENCH_FILE);
    const read = performance.now() - started;
    await frameReady(page);
    const heap = await page.value('performance.memory ? performance.memory.usedJSHeapSize / 1e6 : 0');
    console.log(`  ${BENCH_FILE}: read ${(read / 1000).toFixed(2)} s, page ${((performance.now() - started) / 1000).toFixed(2)} s, heap of the page ${heap.toFixed(0)} MB`);
    await page.close();
}

let passed = 0;
let failed = 0;
for (const test of [everyKind, logs, dropped, damaged, ...(BENCH_FILE ? [large] : [])]) {
    try {
        await test();
        passed++;
    } catch (error) {
        failed++;
        console.log(`--- ${test.name}: ${error.stack}`);
    }
}
rmSync(folder, { recursive: true, force: true });
await browser.close();
console.log(`viewer: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
