// @ts-check
/**
 * Counts down to the return to the shop. The payer ends it by "Stay here", or by starting to do anything on the page.
 */

const SECOND_MS = 1000;

/** @type {ReturnType<typeof setInterval> | null} */
let timer = null;
let isStopped = false;

const notice = () => document.querySelector('#return');

function stop() {
  isStopped = true;
  if (timer !== null) clearInterval(timer);
  notice()?.remove();
}

/** Starts the countdown, or goes on with it where the content was replaced. */
export function returnToShop() {
  if (isStopped) {
    stop();
    return;
  }
  if (timer !== null) return;
  let left = Number(document.querySelector('#return-left')?.textContent);
  timer = setInterval(() => {
    left -= 1;
    const shown = document.querySelector('#return-left');
    if (shown) shown.textContent = String(Math.max(0, left));
    const to = notice()?.getAttribute('data-to');
    if (left > 0 || !to) return;
    stop();
    // The way back leads to the shop's page before, not to a page that returns at once.
    location.replace(to);
  }, SECOND_MS);
}

document.addEventListener('click', (event) => {
  const { target } = event;
  if (!(target instanceof Element)) return;
  if (target.closest('#stay')) {
    event.preventDefault();
    stop();
    /** @type {HTMLElement | null} */ (document.querySelector('#main'))?.focus({ preventScroll: true });
  } else if (target.closest('button, summary, input')) stop();
});
document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLInputElement) stop();
});
