// @ts-check
/**
 * Makes the payment page live: fetches the page again when the server says that it changed, counts down by the server's
 * clock, and copies texts. Without this script the page is complete and reloads itself.
 */

const POLL_MS_MIN = 3000;
const POLL_MS_MAX = 15_000;
/** A stream that is silent for this long may be buffered by a proxy: then the page polls as well. */
const SILENCE_MS_MAX = 20_000;
const TICK_MS = 1000;
const ANNOUNCED_MINUTES = 5;
const SOON_S = 120;
const COPIED_MS = 4000;

const announcer = /** @type {HTMLElement} */ (document.querySelector('#announcer'));
const page = () => /** @type {HTMLElement} */ (document.querySelector('#main'));

// ── Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The server's clock minus this device's monotonic clock, which a wrong date does not affect. */
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

/** Fetches the page. @returns {Promise<boolean>} whether the server answered */
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
    // No connection now; polling retries.
    return false;
  } finally {
    isFetching = false;
  }
}

/** Corrects the clock after the device slept. A header has whole seconds, so small differences are ignored. */
function setClock(/** @type {number} */ serverNowMs) {
  if (Math.abs(serverNowMs - serverNowS() * 1000) > 2000) serverAheadMs = serverNowMs - performance.now();
}

/** Keeps what the payer is typing. */
function keepTyped(/** @type {Element} */ old, /** @type {Element} */ fresh) {
  const [from, to] = [old, fresh].map((main) => main.querySelector('#refund-to'));
  if (from instanceof HTMLInputElement && to instanceof HTMLInputElement && from.value !== from.defaultValue) {
    to.value = from.value;
  }
}

/** Replaces the content, and keeps what the payer has focused or opened. */
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
  keepTyped(main, next);
  main.replaceWith(next);
  for (const id of opened) document.getElementById(id)?.setAttribute('open', '');
  prepare();
  if (hadFocus) (document.getElementById(focused) ?? next).focus({ preventScroll: true });
}

// ── The event stream ─────────────────────────────────────────────────────────────────────────────────────────────────

/** @type {EventSource | null} */
let stream = null;
let lastEventAtMs = performance.now();

const isLive = () => page().dataset.live === 'yes';

function listen() {
  if (stream || document.hidden || !isLive()) return;
  const { events = '', version = '' } = page().dataset;
  stream = new EventSource(`${events}?after=${version}`);
  const onEvent = () => {
    lastEventAtMs = performance.now();
  };
  stream.addEventListener('open', onEvent);
  stream.addEventListener('version', () => {
    onEvent();
    refresh();
  });
  stream.addEventListener('ping', onEvent);
  stream.addEventListener('end', closeStream);
}

function closeStream() {
  stream?.close();
  stream = null;
}

/** Polls while the stream is silent. */
async function poll() {
  let waitMs = POLL_MS_MIN;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const isStreaming = stream?.readyState === EventSource.OPEN && performance.now() - lastEventAtMs < SILENCE_MS_MAX;
    if (isStreaming || document.hidden || !isLive()) {
      waitMs = POLL_MS_MIN;
      continue;
    }
    if (stream?.readyState === EventSource.CLOSED) closeStream();
    listen();
    waitMs = (await refresh()) ? Math.min(waitMs * 1.5, POLL_MS_MAX) : POLL_MS_MAX;
  }
}

/** Catches up when a tab becomes visible: its stream may be dead without an error, and time has passed. */
function wake() {
  closeStream();
  if (document.hidden) return;
  refresh().then(listen);
}

// ── Copying ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Copies by the clipboard API, which only secure pages have, or else by a selection. */
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

/** Loads the script for wallets only if a wallet could pay. Without it the page still says what to send. */
async function offerWallets() {
  if (!document.querySelector('#wallets')) return;
  try {
    wallets ??= await import('./wallets.js');
  } catch {
    // No connection now; the next change of the page retries.
    return;
  }
  wallets.showWallets(refresh);
}

// ── Inside a merchant's page ─────────────────────────────────────────────────────────────────────────────────────────

/** Loads the script for frames only in a frame that the store allows. */
async function showParent() {
  if (window.parent === window || !page().dataset.parent) return;
  const { reportToParent } = await import('./framed.js');
  reportToParent();
}

// ── Back to the shop ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Loads the script that returns to the shop, once the payment is made. In a frame the page around it decides. */
async function offerReturn() {
  if (window.parent !== window || !document.querySelector('#return')) return;
  const { returnToShop } = await import('./return.js');
  returnToShop();
}

// ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Prepares new content: shows what needs this script. */
function prepare() {
  for (const button of document.querySelectorAll('button[data-copy], #print')) button.removeAttribute('hidden');
  shownS = null;
  showTime();
  offerWallets();
  showParent();
  offerReturn();
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button') : null;
  if (button?.dataset.copy) copyFrom(button);
  if (button?.id === 'print') window.print();
});
document.addEventListener('visibilitychange', wake);
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) wake();
});
window.addEventListener('online', wake);
window.addEventListener('pagehide', closeStream);
prepare();
setInterval(showTime, TICK_MS);
listen();
poll();
