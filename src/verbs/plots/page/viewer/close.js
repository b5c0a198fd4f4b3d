
main().catch((error) => {
    const note = document.createElement('p');
    note.className = 'none';
    note.textContent = `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`;
    document.body.prepend(note);
    console.error(error);
});
})();
