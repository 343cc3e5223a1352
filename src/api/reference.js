/** Buttons that copy samples, and contents that close on a phone. */
{
  const SHOWN_MS = 2_000;
  const announcer = document.querySelector('#copied');

  /** Copies by the clipboard API, which only secure pages have, or else by a selection. */
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

  for (const figure of document.querySelectorAll('figure')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      const isDone = await write(figure.querySelector('code')?.textContent ?? '');
      button.focus({ preventScroll: true });
      button.textContent = isDone ? 'Copied' : 'Not copied';
      if (announcer) announcer.textContent = button.textContent;
      setTimeout(() => {
        button.textContent = 'Copy';
        if (announcer) announcer.textContent = '';
      }, SHOWN_MS);
    });
    figure.querySelector('figcaption')?.append(button);
  }

  const contents = document.querySelector('nav details');
  if (contents) {
    const isWide = matchMedia('(min-width: 60rem)');
    const fit = () => contents.toggleAttribute('open', isWide.matches);
    isWide.addEventListener('change', fit);
    fit();
    contents.addEventListener('click', ({ target }) => {
      if (target instanceof HTMLAnchorElement || target.closest?.('a')) fit();
    });
  }
}
