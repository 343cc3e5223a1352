// @ts-check
/**
 * Pays with a wallet in this browser: a button for each wallet, one confirmation in the wallet.
 *
 * Nothing is requested from a wallet before a click. The server says at that moment what to send, so that a page that
 * slept requests nothing that is no longer due. Only one payment is requested at a time, in all tabs together: the
 * click leaves a mark in the browser's storage until it is certain that nothing was sent, or until another amount is
 * due. If that is never certain, the payer removes the mark by hand.
 */
import { codeOf, problem } from './wallets/wallet.js';

/** @typedef {import('./wallets/wallet.js').Wallet} Wallet */
/**
 * A session and the amount due, as the page shows them.
 * @typedef {Readonly<{ session?: string | undefined, due?: string | undefined }>} Debt
 */
/**
 * `id` distinguishes the marks of two tabs; `tx` is null until the wallet has reported a transaction.
 * @typedef {Readonly<{ id: string, wallet: string, tx: string | null }>} Mark
 */

const NAME_LENGTH_MAX = 40;
const MESSAGE_LENGTH_MAX = 200;
/** EIP-1193 and JSON-RPC codes: the payer refused; the wallet did not accept the request; it is already asking. */
const REJECTED = 4001;
const NOT_TAKEN = [4100, 4200, -32601, -32602];
const BUSY = -32002;
const FETCH_MS_MAX = 15_000;

const announcer = /** @type {HTMLElement} */ (document.querySelector('#announcer'));
const section = () => /** @type {HTMLElement | null} */ (document.querySelector('#wallets'));

/** Wallets by family and id. @type {Map<string, Map<string, Wallet>>} */
const families = new Map();
/** The wallet that is being used in this tab. @type {Wallet | null} */
let asking = null;
/** The result of the last attempt, and its debt. @type {{ due?: string | undefined, text: string }} */
let said = { text: '' };
/** Fetches the page again. @type {() => unknown} */
let refresh = () => {};

/**
 * Draws the buttons. Called again whenever the page has new content.
 * @param {() => unknown} refreshPage
 */
export function showWallets(refreshPage) {
  refresh = refreshPage;
  const { family = '' } = section()?.dataset ?? {};
  if (!families.has(family)) discover(family);
  draw();
}

/** @param {string} family */
async function discover(family) {
  /** @type {Map<string, Wallet>} */
  const wallets = new Map();
  families.set(family, wallets);
  let script;
  try {
    script = await import(`./wallets/${family}.js`);
  } catch {
    // No connection now; the next change of the page retries.
    families.delete(family);
    return;
  }
  script.discover({
    found(/** @type {Wallet} */ wallet) {
      // The first wallet with an id keeps it: it may announce itself again, or another may pretend to be it.
      if (!wallets.has(wallet.id)) wallets.set(wallet.id, wallet);
      draw();
    },
    lost(/** @type {string} */ id) {
      wallets.delete(id);
      draw();
    },
  });
}

// ── The mark ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Used if the browser stores nothing for this page. Then only this tab is protected. @type {Map<string, string>} */
const memory = new Map();

/**
 * Returns the key of the mark. Each debt of a session has its own, so a tab that slept changes only that of its debt.
 * @param {Debt} debt
 */
const keyOf = ({ session, due }) => `payment ${session} ${due}`;

/**
 * @param {Debt} debt
 * @returns {Mark | null}
 */
function readMark(debt) {
  const key = keyOf(debt);
  let text = memory.get(key) ?? null;
  try {
    text ??= localStorage.getItem(key);
  } catch {
    // This browser stores nothing for the page.
  }
  return text === null ? null : JSON.parse(text);
}

/**
 * @param {Debt} debt
 * @param {Mark | null} mark
 */
function keepMark(debt, mark) {
  const key = keyOf(debt);
  memory.delete(key);
  try {
    if (mark) localStorage.setItem(key, JSON.stringify(mark));
    else localStorage.removeItem(key);
  } catch {
    if (mark) memory.set(key, JSON.stringify(mark));
  }
}

// ── Paying ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** @param {Wallet} wallet */
async function payWith(wallet) {
  const panel = section();
  if (!panel || asking || readMark(panel.dataset)) {
    draw();
    return;
  }
  const { session, due, transfer: address = '' } = panel.dataset;
  const debt = { session, due };
  const id = crypto.getRandomValues(new Uint32Array(2)).join('-');
  const mark = { id, wallet: wallet.name, tx: null };
  const isOurs = () => readMark(debt)?.id === id;
  let hasLeft = false;
  asking = wallet;
  said = { due, text: '' };
  keepMark(debt, mark);
  drawAndAnnounce();
  try {
    const from = await wallet.connect();
    if (!from) throw problem('locked');
    const transfer = await fetchTransfer(address, from);
    await wallet.ready(transfer);
    const tx = await wallet.send(transfer, () => {
      // Another tab may have been clicked at the same moment: the last mark wins.
      if (!isOurs()) throw problem('changed');
      hasLeft = true;
    });
    keepMark(debt, { ...mark, tx });
  } catch (error) {
    const word = wordOf(error, hasLeft);
    if (word !== 'unsure' && isOurs()) keepMark(debt, null);
    said = { due, text: fill(word, { wallet: nameOf(wallet), message: messageOf(error) }) };
  }
  asking = null;
  drawAndAnnounce();
  refresh();
}

/**
 * Says whether anything may have been sent, or why not.
 * @param {any} error
 * @param {boolean} hasLeft
 * @returns {string}
 */
function wordOf(error, hasLeft) {
  const code = codeOf(error);
  if (typeof error?.word === 'string') return error.word;
  if (code === REJECTED) return 'rejected';
  if (hasLeft && !NOT_TAKEN.includes(Number(code))) return 'unsure';
  return code === BUSY ? 'busy' : 'failed';
}

/**
 * Asks the server what to send now.
 * @param {string} address
 * @param {string} from
 */
async function fetchTransfer(address, from) {
  let answer;
  try {
    const response = await fetch(`${address}&from=${encodeURIComponent(from)}`, {
      cache: 'no-store',
      signal: AbortSignal.timeout(FETCH_MS_MAX),
    });
    answer = await response.json();
  } catch {
    throw problem('unreachable');
  }
  if (!answer.transfer) throw problem(answer.problem ?? 'unreachable');
  return answer.transfer;
}

// ── What is shown ────────────────────────────────────────────────────────────────────────────────────────────────────

const nameOf = (/** @type {{ name: string }} */ { name }) => name.slice(0, NAME_LENGTH_MAX);

/** @param {any} error */
function messageOf(error) {
  const text = String(error?.message || error).trim();
  const short = text.length > MESSAGE_LENGTH_MAX ? `${text.slice(0, MESSAGE_LENGTH_MAX)}…` : text;
  return /[.!?。…]$/.test(short) ? short : `${short}.`;
}

/**
 * Returns a text from the page.
 * @param {string} word
 * @param {Readonly<Record<string, string>>} values
 */
function fill(word, values) {
  const words = /** @type {HTMLTemplateElement | null} */ (document.querySelector('#wallet-words'));
  const text = words?.content.querySelector(`[data-word="${word}"]`)?.textContent ?? '';
  return text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);
}

/** Draws, and announces the result to screen readers. */
function drawAndAnnounce() {
  draw();
  const status = section()?.querySelector('#wallet-status');
  announcer.textContent = status?.querySelector('p')?.textContent ?? '';
}

function draw() {
  const panel = section();
  if (!panel) return;
  const wallets = [...(families.get(panel.dataset.family ?? '')?.values() ?? [])];
  const mark = readMark(panel.dataset);
  const isOpen = !mark && !asking;
  const focused = document.activeElement?.id ?? '';
  const hadFocus = panel.contains(document.activeElement);
  panel.querySelector('#wallet-buttons')?.replaceChildren(...(isOpen ? wallets.map(buttonFor) : []));
  // With a wallet in this browser no links to apps are needed; after a payment, neither.
  panel.querySelector('#wallet-links')?.toggleAttribute('hidden', !isOpen || wallets.length > 0);
  panel
    .querySelector('#wallet-status')
    ?.replaceChildren(...status(mark, said.due === panel.dataset.due ? said.text : ''));
  panel.querySelector('#wallet-check')?.toggleAttribute('hidden', mark !== null && !asking);
  panel.hidden = isOpen && wallets.length === 0 && panel.querySelector('#wallet-links') === null;
  if (hadFocus) (document.getElementById(focused) ?? panel).focus({ preventScroll: true });
}

/**
 * The first wallet's button is the page's filled one.
 * @param {Wallet} wallet
 * @param {number} at
 */
function buttonFor(wallet, at) {
  const button = document.createElement('button');
  button.type = 'button';
  button.id = `wallet-${wallet.id}`;
  button.className = at === 0 ? 'button main wallet' : 'button wallet';
  if (wallet.icon.startsWith('data:image/')) {
    const image = document.createElement('img');
    image.src = wallet.icon;
    image.alt = '';
    button.append(image);
  }
  button.append(fill('pay', { wallet: nameOf(wallet) }));
  button.addEventListener('click', () => payWith(wallet));
  return button;
}

/**
 * @param {Mark | null} mark
 * @param {string} outcome
 * @returns {Element[]}
 */
function status(mark, outcome) {
  if (asking) return [paragraph(fill('asking', { wallet: nameOf(asking) }), 'waiting')];
  if (!mark) return outcome ? [paragraph(outcome, 'warning')] : [];
  const wallet = nameOf({ name: mark.wallet });
  if (mark.tx === null) {
    return [paragraph(outcome || fill('silent', { wallet }), 'warning'), wayOut(wallet)];
  }
  const code = document.createElement('code');
  code.dir = 'ltr';
  code.textContent = mark.tx;
  return [paragraph(fill('sent', { wallet }), 'waiting'), code, wayOut(wallet)];
}

/**
 * @param {string} text
 * @param {string} className
 */
function paragraph(text, className) {
  const element = document.createElement('p');
  element.className = className;
  element.textContent = text;
  return element;
}

/**
 * Offers to remove the mark. It takes two clicks in different places, so that a double click does not pay twice.
 * @param {string} wallet
 */
function wayOut(wallet) {
  const details = document.createElement('details');
  details.id = 'wallet-not-sent';
  details.open = document.querySelector('#wallet-not-sent[open]') !== null;
  const summary = document.createElement('summary');
  summary.textContent = fill('not_sent', { wallet });
  const button = document.createElement('button');
  button.type = 'button';
  button.id = 'wallet-again';
  button.className = 'button';
  button.textContent = fill('again', { wallet });
  button.addEventListener('click', () => {
    said = { text: '' };
    keepMark(section()?.dataset ?? {}, null);
    drawAndAnnounce();
  });
  details.append(summary, paragraph(fill('not_sent_text', { wallet }), ''), button);
  return details;
}

window.addEventListener('storage', draw);
