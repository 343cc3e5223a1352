// @ts-check
/**
 * Opens Quayside's payment page in a dialog on a merchant's page, and reports the result to the merchant's script:
 *
 *   Quayside.open({ url: session.payer_url, onResult: ({ status, seen }) => { … } });
 *
 * The result is only for display. Ship goods only on the signed webhook.
 */
(() => {
  /**
   * @typedef {'paid' | 'failed' | 'expired' | 'canceled' | 'closed'} Status
   * `closed`: the payer closed the page before the payment ended.
   * @typedef {{ status: Status, seen: boolean, session: string | null }} Result
   * `seen`: a payment was seen on the chain.
   * @typedef {{ url: string, onResult?: (result: Result) => void, language?: string }} Options
   * @typedef {Record<'direction' | 'title' | 'close' | 'loading' | 'refused' | 'open', string>} Words
   */

  /** The texts by language, which the server inserts. @type {Record<string, Words>} */
  const allWords = JSON.parse('WORDS');
  /** The origin of the payment pages, which the server inserts. */
  const pagesOrigin = 'ORIGIN';
  /** The origin that this script came from: a server may be reached by several names. */
  const ownOrigin = document.currentScript instanceof HTMLScriptElement && new URL(document.currentScript.src).origin;
  /** A page that has sent nothing for this long was refused or is down. */
  const SILENCE_MS_MAX = 10_000;
  const ends = ['paid', 'failed', 'expired', 'canceled'];

  const style = `
    dialog { position: fixed; inset: 0; width: 100%; height: 100%; max-width: none; max-height: none; margin: 0; padding: 0; border: 0;
      background: rgb(10 15 25 / 60%); display: none; }
    dialog[open] { display: grid; place-items: center; }
    dialog::backdrop { background: none; }
    .panel { position: relative; display: grid; grid-template-rows: auto 1fr; width: min(100%, 34rem); height: min(100% - 2rem, 54rem);
      border-radius: 1rem; overflow: hidden; color: #17202c; background: #f3f5f8; font: 1rem/1.5 system-ui, sans-serif; }
    .bar { display: flex; justify-content: flex-end; }
    button { width: 2.75rem; height: 2.75rem; margin: 0.25rem; border: 0; border-radius: 0.6rem; color: inherit; background: none;
      font: 1.5rem/1 system-ui, sans-serif; cursor: pointer; }
    button:hover { background: rgb(128 128 128 / 20%); }
    :focus-visible { outline: 3px solid #0b5cad; outline-offset: -3px; }
    iframe { width: 100%; height: 100%; border: 0; background: transparent; }
    .note { position: absolute; inset: 3.25rem 0 auto; margin: 0; padding: 1rem 1.5rem; text-align: center; }
    .note a { display: inline-block; padding: 0.6rem 0; color: #0b5cad; }
    [hidden] { display: none; }
    @media (max-width: 40rem) {
      .panel { width: 100%; height: 100%; border-radius: 0; }
    }
    @media (prefers-color-scheme: dark) {
      .panel { color: #e6ebf2; background: #0e131a; }
      .note a { color: #8cbff7; }
      :focus-visible { outline-color: #8cbff7; }
    }`;

  /** @param {string | undefined} wanted */
  function chooseWords(wanted) {
    const codes = [wanted, document.documentElement.lang, navigator.language, 'en'];
    const code = codes.map((tag) => (tag ?? '').toLowerCase().split('-')[0] ?? '').find((tag) => tag in allWords);
    return /** @type {Words} */ (allWords[code ?? 'en']);
  }

  /**
   * @template {keyof HTMLElementTagNameMap} K
   * @param {K} tag
   * @param {Record<string, string>} attributes
   * @param {(Node | string)[]} inner
   */
  function make(tag, attributes, ...inner) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...inner);
    return element;
  }

  /** @param {string} text @param {string | undefined} language */
  function addressOf(text, language) {
    const url = new URL(text, location.href);
    // A link that somebody else made must not show another site inside the merchant's page.
    if (!/^https?:$/.test(url.protocol) || (url.origin !== pagesOrigin && url.origin !== ownOrigin))
      throw new TypeError(`Quayside.open: ${text} is not the url of a payment session at ${pagesOrigin}`);
    url.searchParams.set('parent', location.origin);
    if (language) url.searchParams.set('lang', language);
    return url;
  }

  /** The open dialog. @type {{ close(): void } | null} */
  let current = null;

  /** @param {Options} options */
  function open({ url: text, onResult = () => {}, language }) {
    const url = addressOf(text, language);
    current?.close();
    const words = chooseWords(language);
    const frame = make('iframe', {
      src: url.href,
      title: words.title,
      allow: 'clipboard-write',
      referrerpolicy: 'no-referrer',
      hidden: '',
    });
    const button = make('button', { type: 'button', 'aria-label': words.close }, '×');
    const note = make('p', { class: 'note', role: 'status' }, words.loading);
    const bar = make('div', { class: 'bar' }, button);
    const panel = make('div', { class: 'panel', dir: words.direction }, bar, note, frame);
    const dialog = make('dialog', { 'aria-label': words.title }, panel);
    // A shadow root keeps the merchant's styles out, and works under a policy against inline styles.
    const host = make('div', {});
    const root = host.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
    root.append(dialog);

    let isReported = false;
    let seen = false;
    /** @type {string | null} */
    let session = null;

    /** Reports once: how the payment ended, or that the page was closed before. @param {Status} status */
    function report(status) {
      if (isReported) return;
      isReported = true;
      onResult({ status, seen, session });
    }

    const silence = setTimeout(() => {
      const link = make('a', { href: text, target: '_blank', rel: 'noopener noreferrer' }, words.open);
      note.replaceChildren(words.refused, document.createElement('br'), link);
      note.hidden = false;
    }, SILENCE_MS_MAX);

    /** Accepts messages only from the frame, and only while it shows the payment page. @param {MessageEvent} message */
    function onMessage({ source, origin, data }) {
      if (source !== frame.contentWindow || origin !== url.origin || data?.from !== 'quayside') return;
      clearTimeout(silence);
      if (frame.hidden) {
        frame.hidden = false;
        note.hidden = true;
        frame.focus();
      }
      if (data.close === true) return close();
      session = String(data.session);
      seen = data.seen === true;
      if (ends.includes(data.status)) report(data.status);
    }

    const overflow = document.documentElement.style.overflow;
    function close() {
      if (current !== handle) return;
      current = null;
      clearTimeout(silence);
      window.removeEventListener('message', onMessage);
      dialog.close();
      host.remove();
      document.documentElement.style.overflow = overflow;
      report('closed');
    }

    const handle = { close };
    current = handle;
    window.addEventListener('message', onMessage);
    button.addEventListener('click', close);
    dialog.addEventListener('cancel', (event) => {
      event.preventDefault();
      close();
    });
    document.body.append(host);
    document.documentElement.style.overflow = 'hidden';
    dialog.showModal();
    return handle;
  }

  Object.defineProperty(window, 'Quayside', { value: Object.freeze({ open }), configurable: true });
})();
