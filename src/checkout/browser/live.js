// @ts-check
/**
 * Makes the payment page live: fetches the page again when the server says that it changed, counts the time down by the server's clock,
 * and copies. Without this script the page is whole and reloads itself.
 * @module
 */

const POLL_MS_MIN = 3000;
const POLL_MS_MAX = 15_000;
/** A stream that says nothing at all for so long may be held back by a proxy: then the page asks as well. */
const SILENCE_MS_MAX = 20_000;
const TICK_MS = 1000;
const ANNOUNCED_MINUTES = 5;
const SOON_S = 120;
const COPIED_MS = 4000;

const announcer = /** @type {HTMLElement} */ (document.querySelector('#announcer'));
const page = () => /** @type {HTMLElement} */ (document.querySelector('#main'));

// ── Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The server's clock less this device's steady one, which a wrong date and time do not touch. */
let serverAheadMs = Number(page().dataset.now) * 1000 - performance.now();
const serverNowS = () => (performance.now() + serverAheadMs) / 1000;
/** @type {number | null} */
let shownS = null;

function showTime() {
  const { deadline = '', minute = '', minutes = '' } = page().dataset;
  const timer = document.querySelector('#timer');
  if (!timer || deadline === '') return;
  const left = Math.max(0, Math.ceil(Number(deadline) - serverNowS()));
  timer.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
  timer.parentElement?.classList.toggle('soon', left <= SOON_S);
  const passed = (/** @type {number} */ seconds) => shownS !== null && shownS > seconds && left <= seconds;
  if (passed(ANNOUNCED_MINUTES * 60)) announcer.textContent = minutes;
  if (passed(60)) announcer.textContent = minute;
  if (passed(0)) refresh();
  shownS = left;
}

// ── Fetching the page again ──────────────────────────────────────────────────────────────────────────────────────────

/** @type {string | null} */
let etag = null;
let isFetching = false;

/** @returns {Promise<boolean>} whether the server has answered */
async function refresh() {
  if (isFetching) return true;
  isFetching = true;
  try {
    const response = await fetch(location.href, {
      cache: 'no-store',
      headers: etag === null ? {} : { 'If-None-Match': etag },
      signal: AbortSignal.timeout(10_000),
    });
    if (response.status === 304) {
      setClock(Date.parse(response.headers.get('Date') ?? ''));
      return true;
    }
    if (!response.ok) return false;
    etag = response.headers.get('ETag');
    replaceWith(new DOMParser().parseFromString(await response.text(), 'text/html'));
    return true;
  } catch {
    // No connection just now; it is tried again.
    return false;
  } finally {
    isFetching = false;
  }
}

/** A header has whole seconds: it corrects a device that slept, and does not make the timer jump to and fro. */
function setClock(/** @type {number} */ serverNowMs) {
  if (Math.abs(serverNowMs - serverNowS() * 1000) > 2000) serverAheadMs = serverNowMs - performance.now();
}

const textOf = (/** @type {Element} */ within, /** @type {string} */ place) =>
  within.querySelector(place)?.textContent?.trim() ?? '';

/** What the payer is typing stays in its field. */
function keepTyped(/** @type {Element} */ old, /** @type {Element} */ fresh) {
  const [from, to] = [old, fresh].map((main) => main.querySelector('#transaction'));
  if (from instanceof HTMLInputElement && to instanceof HTMLInputElement && from.value !== from.defaultValue) {
    to.value = from.value;
  }
}

/** Puts the new content in place of the old; what the payer has focused or opened stays so. */
function replaceWith(/** @type {Document} */ fresh) {
  const next = fresh.querySelector('#main');
  if (!(next instanceof HTMLElement)) return;
  const main = page();
  setClock(Number(next.dataset.now) * 1000);
  if (next.dataset.version === main.dataset.version) return;
  const focused = document.activeElement?.id ?? '';
  const opened = [...main.querySelectorAll('details[open]')].map(({ id }) => id);
  if (next.dataset.headline !== main.dataset.headline) announcer.textContent = next.dataset.headline ?? '';
  const hadFocus = main.contains(document.activeElement);
  const answer = textOf(next, '#look-up-answer');
  if (answer !== '' && answer !== textOf(main, '#look-up-answer')) announcer.textContent = answer;
  keepTyped(main, next);
  main.replaceWith(next);
  for (const id of opened) document.getElementById(id)?.setAttribute('open', '');
  prepare();
  if (hadFocus) (document.getElementById(focused) ?? next).focus({ preventScroll: true });
}

// ── Being told ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** @type {EventSource | null} */
let stream = null;
let heardAtMs = performance.now();

const isLive = () => page().dataset.live === 'yes';

function listen() {
  if (stream || document.hidden || !isLive()) return;
  const { events = '', version = '' } = page().dataset;
  stream = new EventSource(`${events}?after=${version}`);
  const heard = () => {
    heardAtMs = performance.now();
  };
  stream.addEventListener('open', heard);
  stream.addEventListener('version', () => {
    heard();
    refresh();
  });
  stream.addEventListener('ping', heard);
  stream.addEventListener('end', hangUp);
}

function hangUp() {
  stream?.close();
  stream = null;
}

/** Asks now and then while nothing is heard; the stream alone is enough while it works. */
async function poll() {
  let waitMs = POLL_MS_MIN;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const isHeard = stream?.readyState === EventSource.OPEN && performance.now() - heardAtMs < SILENCE_MS_MAX;
    if (isHeard || document.hidden || !isLive()) {
      waitMs = POLL_MS_MIN;
      continue;
    }
    if (stream?.readyState === EventSource.CLOSED) hangUp();
    listen();
    waitMs = (await refresh()) ? Math.min(waitMs * 1.5, POLL_MS_MAX) : POLL_MS_MAX;
  }
}

/** A tab that is looked at again has slept: its stream may be dead without knowing, and the time has gone on. */
function wake() {
  hangUp();
  if (document.hidden) return;
  refresh().then(listen);
}

// ── Copying ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The clipboard is open to secure pages only; a selection can be copied everywhere. */
async function copy(/** @type {string} */ text) {
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

async function copyFrom(/** @type {HTMLButtonElement} */ button) {
  const { copy: text = '', done = '' } = button.dataset;
  const label = button.dataset.label ?? button.textContent ?? '';
  button.dataset.label = label;
  const isDone = await copy(text);
  button.focus({ preventScroll: true });
  const said = isDone ? done : (page().dataset.copyFailed ?? '');
  button.textContent = said;
  announcer.textContent = said;
  button.classList.toggle('copied', isDone);
  setTimeout(() => {
    button.textContent = label;
    button.classList.remove('copied');
  }, COPIED_MS);
}

// ── Wallets in this browser ──────────────────────────────────────────────────────────────────────────────────────────

/** @type {typeof import('./wallets.js') | null} */
let wallets = null;

/** Their script is fetched only where a wallet could pay; without it the page still says what to send. */
async function offerWallets() {
  if (!document.querySelector('#wallets')) return;
  try {
    wallets ??= await import('./wallets.js');
  } catch {
    // No connection just now: the next change of the page tries again.
    return;
  }
  wallets.showWallets(refresh);
}

// ── Inside a merchant's page ─────────────────────────────────────────────────────────────────────────────────────────

/** Its script is fetched only in a frame that the store allows. */
async function tellParent() {
  if (window.parent === window || !page().dataset.parent) return;
  const { tellParent: tell } = await import('./framed.js');
  tell();
}

// ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Makes new content usable: what needs this script appears. */
function prepare() {
  for (const button of document.querySelectorAll('button[data-copy]')) button.removeAttribute('hidden');
  shownS = null;
  showTime();
  offerWallets();
  tellParent();
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button[data-copy]') : null;
  if (button instanceof HTMLButtonElement) copyFrom(button);
});
document.addEventListener('visibilitychange', wake);
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) wake();
});
window.addEventListener('online', wake);
window.addEventListener('pagehide', hangUp);
prepare();
setInterval(showTime, TICK_MS);
listen();
poll();
