// @ts-check
/**
 * Opens Quayside's payment page in a dialog over a merchant's own page, and tells the merchant's script how it went:
 *
 *   Quayside.open({ url: session.url, onResult: ({ status, seen }) => { … } });
 *
 * What it tells is for the eye. Goods are handed out on the signed webhook alone.
 */
(() => {
  /**
   * @typedef {{ status: 'paid' | 'failed' | 'expired' | 'canceled' | 'closed', seen: boolean, session: string | null }} Result
   * `closed`: the payer has closed the page before the payment ended. `seen`: money is on its way or has come.
   * @typedef {{ url: string, onResult?: (result: Result) => void, language?: string }} Options
   * @typedef {{ direction: string, title: string, close: string, loading: string, refused: string, open: string }} Words
   */

  /** By language; put in where this file is served. @type {Record<string, Words>} */
  const allWords = JSON.parse('WORDS');
  /** A page that has not spoken for so long was refused, or is not there. */
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

  /** @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {Record<string, string>} attributes @param {(Node | string)[]} inner */
  function make(tag, attributes, ...inner) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...inner);
    return element;
  }

  /** @param {string} text @param {string | undefined} language */
  function addressOf(text, language) {
    const url = new URL(text, location.href);
    if (!/^https?:$/.test(url.protocol))
      throw new TypeError(`Quayside.open: ${text} is not the url of a payment session`);
    url.searchParams.set('parent', location.origin);
    if (language) url.searchParams.set('lang', language);
    return url;
  }

  /** The one dialog there is. @type {{ close(): void } | null} */
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
    // A root of its own: the merchant's styles stay out, and a policy against inline styles does not matter.
    const host = make('div', {});
    const root = host.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    root.adoptedStyleSheets = [sheet];
    root.append(dialog);

    let isTold = false;
    let seen = false;
    /** @type {string | null} */
    let session = null;

    /** Once: how it ended, or that it was closed before. @param {Result['status']} status */
    function tell(status) {
      if (isTold) return;
      isTold = true;
      onResult({ status, seen, session });
    }

    const silence = setTimeout(() => {
      const link = make('a', { href: text, target: '_blank', rel: 'noopener noreferrer' }, words.open);
      note.replaceChildren(words.refused, document.createElement('br'), link);
      note.hidden = false;
    }, SILENCE_MS_MAX);

    /** Only the frame itself is heard, and only while it shows the payment page. @param {MessageEvent} message */
    function hear({ source, origin, data }) {
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
      if (ends.includes(data.status)) tell(data.status);
    }

    const overflow = document.documentElement.style.overflow;
    function close() {
      if (current !== handle) return;
      current = null;
      clearTimeout(silence);
      window.removeEventListener('message', hear);
      dialog.close();
      host.remove();
      document.documentElement.style.overflow = overflow;
      tell('closed');
    }

    const handle = { close };
    current = handle;
    window.addEventListener('message', hear);
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
