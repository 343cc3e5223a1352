/**
 * Buttons that copy what they stand beside: hashes, addresses, links. They say so where they are. Without this script
 * one click selects the whole text.
 */
{
  const SHOWN_MS = 2_000;
  const TICK = 'M1 6l3 3 5-8';
  const SHEETS = 'M3.5 3.5h6v6h-6zM1 6.5v-6h6';
  const announcer = /** @type {HTMLElement | null} */ (document.querySelector('#copied'));
  const { copying = '', done = '', failed = '' } = announcer?.dataset ?? {};

  /**
   * Copies by the clipboard API, which only secure pages have, or else by a selection.
   * @param {string} text
   */
  async function write(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const field = document.createElement('textarea');
      field.value = text;
      field.className = 'unseen';
      document.body.append(field);
      field.select();
      const isDone = document.execCommand('copy');
      field.remove();
      return isDone;
    }
  }

  /** @param {string} path */
  function draw(path) {
    const [svg, line] = ['svg', 'path'].map((name) => document.createElementNS('http://www.w3.org/2000/svg', name));
    svg?.setAttribute('viewBox', '0 0 10 10');
    svg?.setAttribute('aria-hidden', 'true');
    line?.setAttribute('d', path);
    svg?.append(line ?? '');
    return svg ?? '';
  }

  for (const element of announcer ? document.querySelectorAll('[data-copy]') : []) {
    const isField = element instanceof HTMLInputElement;
    const text = isField ? element.value : element.getAttribute('title') || element.textContent || '';
    const button = document.createElement('button');
    const show = (/** @type {boolean} */ isDone) => {
      if (isField) button.textContent = isDone ? done : copying;
      else button.replaceChildren(draw(isDone ? TICK : SHEETS));
      button.classList.toggle('copied', isDone);
    };
    button.type = 'button';
    button.className = isField ? 'plain small' : 'copy';
    if (!isField) button.setAttribute('aria-label', `${copying}: ${element.getAttribute('data-copy') || text}`);
    show(false);
    button.addEventListener('click', async () => {
      const isDone = await write(text);
      button.focus({ preventScroll: true });
      show(isDone);
      if (announcer) announcer.textContent = isDone ? done : failed;
      setTimeout(() => {
        show(false);
        if (announcer) announcer.textContent = '';
      }, SHOWN_MS);
    });
    (element.closest('label') ?? element).after(button);
  }
}
