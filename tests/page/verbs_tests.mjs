// SPDX-License-Identifier: MIT
// The page says of steps, growth and the peak what steps, leaks and peak say. MEMTOOL and TESTDATA name the binary and
// the folder of snapshots; FILES other files. Ends with "page-verbs: N passed, M failed".
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

import { openPage } from './viewer.mjs';

const MEMTOOL = process.env.MEMTOOL || 'build/release/memtool';
const TESTDATA = process.env.TESTDATA || 'testdata';
const folder = mkdtempSync(join(tmpdir(), 'memtool-pages-'));
const FILES = (process.env.FILES || '').split(' ').filter(Boolean);
const OWN = ['graphs.pickle', 'transformer.pickle.gz', 'leak.pickle.gz', 'one_forward_32_layers.pickle', 'custom_adam_state.pickle',
    'older_than_trace.pickle', 'three_thieves.json.gz', 'two_devices.pickle', 'empty.pickle'].map((name) => join(TESTDATA, 'good', name))
    .concat(readdirSync(join(TESTDATA, 'programs')).filter((name) => name.endsWith('.gz')).sort().map((name) => join(TESTDATA, 'programs', name)));

function memtool(...args) {
    return execFileSync(MEMTOOL, args, { encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] });
}

const json = (...args) => JSON.parse(memtool(...args, '--json'));

function equal(found, wanted, what) {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
        throw new Error(`${what}: the page says ${JSON.stringify(found)}, the verb ${JSON.stringify(wanted)}`);
    }
}

// The table that steps prints: its cells are two blanks apart, and words of a note one.
function cellsOf(text) {
    const lines = text.split('\n');
    const from = lines.findIndex((line) => line.startsWith('STEP ')) + 1;
    return lines.slice(from, lines.indexOf('', from)).map((line) => line.trim().split(/  +/));
}

function checkSteps(page, file, device) {
    const args = [file, '--device', String(device)];
    const steps = json('steps', ...args).devices[0].steps;
    if (!steps.length) {
        return equal(page, null, 'steps');
    }
    const text = memtool('steps', '-n', '0', ...args);
    equal(page.rows.map((row) => row.slice(0, 3)), steps.map((s) => [s.from_event, s.to_event, s.peak_event]), 'events of the steps');
    equal(page.rows.map((row) => row[3].filter(Boolean)), cellsOf(text), 'rows of the steps');
    return equal(page.head, text.split('\n').find((line) => line.startsWith('Device ')).replace(/^Device \d+: /, ''), 'head of the steps');
}

// What a caption may begin with, by verdict.
const CAPTIONS = { leak: /^Grows by [^,]* per step(?!, too little)/, no_leak: /^(?!Grows by [^,]* per step,? \d)/, unknown: /^(?!Grows by)/ };

function checkGrowth(caption, leaks) {
    if (!CAPTIONS[leaks.verdict].test(caption)) {
        throw new Error(`growth: the page says "${caption}", leaks ${leaks.verdict}`);
    }
}

async function check(file) {
    const path = join(folder, `${basename(file)}.html`);
    memtool('trace_plot', file, '-f', '-o', path);
    const { devices } = await openPage(path);
    for (const { about, n } of devices.filter((device) => device.n)) {
        checkSteps(about.steps, file, about.device);
        checkGrowth(about.growth, json('leaks', file, '--device', String(about.device)));
        const peak = json('peak', file, '--device', String(about.device)).devices[0];
        equal([about.peak_event, about.peak_bytes], [peak.peak_event ?? -1, peak.peak_requested_bytes], `peak of ${n} events`);
    }
}

let passed = 0;
let failed = 0;
for (const file of FILES.length ? FILES : OWN) {
    try {
        await check(file);
        passed++;
    } catch (error) {
        failed++;
        console.log(`${basename(file)}: ${error.message}`);
    }
}
rmSync(folder, { recursive: true });
console.log(`page-verbs: ${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
