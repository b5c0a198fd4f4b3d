// ---- bars between the panes: dragged, or moved with the arrow keys ----

// Sizes the pane before (after, when `behind`) a bar, in shares of what both lie in.
function splitter(bar, pane, { vertical, behind, least = 0.12 }) {
    const whole = () => bar.parentElement.getBoundingClientRect();
    const share = () => (vertical ? pane.getBoundingClientRect().height / whole().height : pane.getBoundingClientRect().width / whole().width);
    const set = (value) => {
        const kept = Math.min(1 - least, Math.max(least, value));
        pane.style.flex = `0 0 ${(100 * kept).toFixed(2)}%`;
        bar.setAttribute('aria-valuenow', Math.round(100 * kept));
    };
    bar.addEventListener('pointerdown', (e) => { bar.setPointerCapture(e.pointerId); e.preventDefault(); bar.focus(); });
    bar.addEventListener('pointermove', (e) => {
        if (bar.hasPointerCapture(e.pointerId)) {
            const r = whole();
            const at = vertical ? (e.clientY - r.top) / r.height : (e.clientX - r.left) / r.width;
            set(behind ? 1 - at : at);
        }
    });
    bar.addEventListener('keydown', (e) => {
        const by = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[e.key];
        if (by) {
            e.preventDefault();
            e.stopPropagation();
            set(share() + (behind ? -by : by) * 0.03);
        }
    });
}

function listenToSplitters() {
    const byId = (id) => document.getElementById(id);
    splitter(byId('split-rows'), byId('over-time'), { vertical: true });
    splitter(byId('split-columns'), byId('right'), { behind: true });
    splitter(byId('split-list'), byId('detail'), { vertical: true, behind: true });
}
