// SPDX-License-Identifier: MIT
// Ten tasks of who comes from PyTorch's own viewer. Each begins with the page as it opens, and says how many acts (a
// click, a key, a choice in a list, a text typed, a drag, a turn of the wheel) lead to the answer.

export function taskTests({ browser, memtool, makePage, data, equal, sizeText, clean }) {
    // A page that counts what is done to it.
    async function user(path, size = { width: 1440, height: 900 }) {
        const page = await browser().open(path, size);
        const text = (what) => page.value(`document.querySelector('${what}')?.textContent ?? ''`);
        const acts = { n: 0 };
        const act = (call) => async (...args) => { acts.n++; await call(...args); await page.settle(); };
        return { page, text, acts, key: act((key) => page.key(key)), type: act((words) => page.type(words)), click: act((x, y) => page.click(x, y)),
            press: act((what) => page.value(`document.querySelector('${what}').click()`)), wheel: act((x, y, by) => page.wheel(x, y, by)),
            choose: act((id, value) => page.value(`(() => { const s = document.getElementById('${id}'); s.value = '${value}'; s.dispatchEvent(new Event('change')); })()`)) };
    }

    const oom = () => data('frag_oom.pickle');
    const training = () => data('transformer.pickle.gz');
    const peakOf = (file) => JSON.parse(memtool('peak', '--json', file)).devices[0].peak_requested_bytes;

    const TASKS = [
        ['how high is the peak', 0, training, async (u) => (await u.text('[data-figure=peak] .dd')) === sizeText(peakOf(training()))],
        ['who holds most at the peak', 0, training, async (u) => /\.py:\d+|no stack/.test(await u.text('#legend .entry .name'))],
        ['what is free when the request is refused, and the largest hole', 0, oom, async (u) => /largest hole 9.00 MiB/.test(await u.page.value("memtool.state.state[0].title.join(' ')"))],
        ['whose is that band', 1, training, async (u) => {
            const [x, y] = await u.page.value("(() => { const r = memtool.timeline.canvas.getBoundingClientRect(); const b = memtool.timeline.box; return [r.x + b.x + b.w * 0.5, r.y + b.y + b.h - 20]; })()");
            await u.click(x, y);
            return (await u.text('#detail ol')).length > 0;
        }],
        ['how long lives the allocation of this event, and when is it freed', 1, training, async (u) => {
            await u.key(']');
            return /since event|until event/.test(await u.text('#detail')) && await u.page.value('memtool.device.alloc.end[memtool.chosen] === memtool.place.event');
        }],
        ['all that an address was used for', 3, training, async (u) => {
            await u.key('/');
            await u.type('7f592d400000');
            await u.key('Enter');
            return / of /.test(await u.text('#found')) && /7f592d400000/.test(await u.text('.row.chosen'));
        }],
        ['reserved segments over time, by who needed them', 1, training, async (u) => {
            await u.choose('chart-of', 'segments');
            return /Reserved/.test(await u.text('#legend'));
        }],
        ['what private pools hold that is not in use', 1, () => data('graphs.pickle'), async (u) => {
            await u.choose('chart-of', 'pools');
            return /private pool \([^)]*\), \w+: reserved, free/.test(await u.text('#legend'));
        }],
        ['the allocator at the next event', 1, training, async (u) => {
            const before = await u.page.value('memtool.place.event');
            await u.key('ArrowDown');
            return await u.page.value('memtool.place.event') === before + 1;
        }],
        ['how the allocator was set', 1, training, async (u) => {
            await u.key('5');
            return /expandable_segments/.test(await u.text('#settings-view'));
        }],
    ];

    async function tasks() {
        const counted = [];
        for (const [name, most, file, done] of TASKS) {
            const u = await user(makePage(file()));
            await u.page.settle();
            equal(await done(u), true, name);
            equal(u.acts.n <= most, true, `${name}: ${u.acts.n} acts`);
            counted.push(u.acts.n);
            await clean(u.page);
        }
        console.log(`  ten tasks: ${counted.join(' + ')} = ${counted.reduce((all, n) => all + n, 0)} acts`);
    }

    return { tasks };
}
