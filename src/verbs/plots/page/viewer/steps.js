// ---- steps: a strip of them and their phases, and the table that `memtool steps` prints ----

const PHASE_COLOURS = ['var(--line, #8884)', '#4e79a7', '#e15759', '#59a14f', '#b07aa1']; // as about.steps.phases

// A block of a strip: its share of the trace, and what a click does.
function stepBlock(device, from, to, colour, title, go) {
    const block = element('span');
    const n = Math.max(1, device.n);
    block.style.cssText = `position:absolute;top:0;bottom:0;left:${100 * from / n}%;width:${100 * (to - from) / n}%;background:${colour}`;
    block.title = title;
    if (go) {
        block.addEventListener('click', go);
        block.style.cursor = 'pointer';
    }
    return block;
}

function stepStrip(blocks, label) {
    const strip = element('div');
    strip.style.cssText = 'position:relative;height:14px;margin:2px 0;overflow:hidden';
    strip.setAttribute('aria-label', label);
    strip.append(...blocks);
    return strip;
}

function stepStrips(app, steps) {
    const device = app.device;
    const whole = steps.rows.map(([from, to, peak, cells], i) => stepBlock(device, from, to, i % 2 ? 'var(--strip)' : 'var(--strip-dark)',
        `step ${cells[0]}: peak ${cells[2]} in ${cells[3]}`, () => goToStep(app, from, to, peak)));
    const phases = [];
    for (let i = 0; i < steps.runs.length; i += 2) {
        const [from, phase, to] = [steps.runs[i], steps.runs[i + 1], steps.runs[i + 2] ?? device.n];
        if ((to - from) * 4000 >= device.n) { // narrower is no pixel
            phases.push(stepBlock(device, from, to, PHASE_COLOURS[phase], steps.phases[phase]));
        }
    }
    return [stepStrip(whole, 'Steps'), stepStrip(phases, 'Phases')];
}

function goToStep(app, from, to, peak) {
    app.show(from - (to - from) / 20, to + (to - from) / 20);
    app.select(peak);
}

function stepTable(app, steps) {
    const t = element('table');
    const head = element('tr');
    head.append(...steps.titles.map((title) => element('th', '', title)));
    t.append(head);
    for (const [from, to, peak, cells] of steps.rows) {
        const row = element('tr');
        row.append(...cells.map((text, i) => {
            const cell = element('td', '', text);
            cell.style.cssText = `white-space:nowrap;padding-right:10px;text-align:${i === 3 || i === cells.length - 1 ? 'left' : 'right'}`;
            return cell;
        }));
        row.style.cursor = 'pointer';
        row.addEventListener('click', () => goToStep(app, from, to, peak));
        t.append(row);
    }
    return t;
}

function phaseKey(steps) {
    const used = new Set(steps.runs.filter((_, i) => i % 2));
    const key = element('p');
    steps.phases.forEach((name, i) => {
        if (used.has(i)) {
            const swatch = element('span', 'swatch');
            swatch.style.cssText = `display:inline-block;width:10px;height:10px;margin:0 4px 0 12px;background:${PHASE_COLOURS[i]}`;
            key.append(swatch, name);
        }
    });
    return key;
}

// The tab and its view are made here, beside those that the page has.
function showSteps(app) {
    const steps = app.device.about.steps;
    let view = document.getElementById('steps-view');
    if (!view) {
        const button = element('button', '', 'Steps');
        Object.assign(button, { id: 'tab-steps' });
        button.dataset.tab = 'steps';
        button.setAttribute('role', 'tab');
        document.getElementById('tab-settings').after(button);
        view = element('div', 'view');
        Object.assign(view, { id: 'steps-view', hidden: true, tabIndex: 0 });
        view.setAttribute('role', 'tabpanel');
        view.setAttribute('aria-labelledby', 'tab-steps');
        view.style.overflow = 'auto';
        document.getElementById('settings-view').after(view);
    }
    view.style.padding = '8px 14px';
    view.replaceChildren(...steps ? [element('strong', '', steps.head), phaseKey(steps), ...stepStrips(app, steps), stepTable(app, steps)]
        : [element('p', 'none', 'Nothing in the trace tells what a step is.')]);
}
