/**
 * Leads to the search box with Ctrl-K or ⌘K. A key of one character alone would be in the way of people who speak to
 * their browser (WCAG 2.1.4).
 */
{
  const box = /** @type {HTMLInputElement | null} */ (document.querySelector('[role=search] input'));
  box?.setAttribute('aria-keyshortcuts', 'Control+K Meta+K');
  addEventListener('keydown', (event) => {
    if (!box || event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}
