/**
 * Says that the session is about to end, so that what somebody is typing is not lost, and lets them stay signed in.
 * Without this script the menu says when that is.
 */
{
  const WARNED_MS = 180_000;
  const OVER_MS = 60_000;
  const LOOK_MS = 5_000;
  const notice = /** @type {HTMLElement | null} */ (document.querySelector('#session-end'));
  const { idle = '', left = '' } = notice?.dataset ?? {};
  const openedAt = Date.now();
  const lastAt = openedAt + Number(left);
  let idleAt = openedAt + Number(idle);

  /** @param {'idle' | 'last' | 'over' | null} what */
  function show(what) {
    if (!notice) return;
    notice.hidden = what === null;
    const parts = /** @type {NodeListOf<HTMLElement>} */ (notice.querySelectorAll('[data-when]'));
    for (const part of parts) part.hidden = part.dataset.when !== what;
  }

  // The time is looked at, not waited for: a machine that slept has let it pass.
  function look() {
    const now = Date.now();
    // Use is saved once a minute, so the session may end that much earlier.
    const endsAt = Math.min(idleAt - OVER_MS, lastAt);
    if (now >= endsAt) show('over');
    else if (now >= endsAt - WARNED_MS) show(lastAt <= idleAt - OVER_MS ? 'last' : 'idle');
    else show(null);
  }

  notice?.querySelector('button')?.addEventListener('click', async () => {
    // Any request is use of the session; one that is signed out is sent on to sign in.
    const answer = await fetch('/account', { method: 'HEAD', redirect: 'manual' }).catch(() => null);
    idleAt = answer?.ok ? Date.now() + Number(idle) : 0;
    look();
  });
  if (notice) setInterval(look, LOOK_MS);
}
