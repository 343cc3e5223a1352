/**
 * Says that there are newer rows than those shown, and leads to them. Rows never move by themselves, and asking is no
 * use of the session: it ends as if nobody had asked. Without this script the page is loaded again.
 */
{
  const ASK_MS = 15_000;
  const place = /** @type {HTMLElement | null} */ (document.querySelector('[data-newer]'));
  const link = place?.querySelector('a');

  async function ask() {
    if (!place || !link || document.hidden) return;
    const answer = await fetch(place.dataset.newer ?? '', { redirect: 'manual' }).catch(() => null);
    // A session that has ended is sent on to sign in: nothing is said of that here.
    const text = answer?.ok ? await answer.text() : '';
    if (text === link.textContent) return;
    link.textContent = text;
    link.hidden = text === '';
  }

  if (link) setInterval(ask, ASK_MS);
}
