/**
 * Loads a page again whose state changes by itself, unless somebody is typing in it. Without scripts the page does so
 * anyway. The address says that nobody asked: it is no use of the session.
 */
{
  const marked = /** @type {HTMLElement | null} */ (document.querySelector('[data-reload]'));

  function reload() {
    const fields = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll('input, textarea, select')]);
    const isTyped = fields.some((field) => field.value !== field.defaultValue && field.type !== 'hidden');
    const active = document.activeElement;
    if (document.hidden || isTyped || fields.some((field) => field === active)) return;
    location.replace(marked?.dataset.reload ?? '');
  }

  if (marked) setInterval(reload, Number(marked.dataset.seconds) * 1_000);
}
