/** How pages show times, hashes, states and data. */
import { type Html, html, prose } from '../lib/html.ts';

/** Shows a time, to the second. The frame of a page may rewrite it for the page's zone. */
export function time(ms: number): Html {
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}</time>`;
}

/** Shows how long ago something was, in its largest unit. */
export function ago({ code }: Readonly<{ code: string }>, ms: number, nowMs: number): Html {
  const s = Math.max(0, Math.floor((nowMs - ms) / 1000));
  const numeric = s === 0 ? 'auto' : 'always';
  const format = new Intl.RelativeTimeFormat(`${code}-u-nu-latn`, { style: 'short', numeric });
  const [count, unit] =
    s < 120
      ? ([s, 'second'] as const)
      : s < 7200
        ? ([s / 60, 'minute'] as const)
        : s < 172_800
          ? ([s / 3600, 'hour'] as const)
          : ([s / 86_400, 'day'] as const);
  return data(format.format(-Math.floor(count), unit));
}

/** From so many characters on, a word may break within. */
const LONG_WORD = /\S{36}/;

/** Shows text that belongs to no language: a name, an id, an amount. Its direction is its own. */
export const data = (text: string | number): Html =>
  LONG_WORD.test(String(text)) ? html`<bdi class="long">${text}</bdi>` : html`<bdi>${text}</bdi>`;

/** Shows a sentence of a deeper layer, whose `backticks` are code: it may name commands, and stays English. */
export const english = (text: string): Html => html`<bdi lang="en">${prose(text)}</bdi>`;

/** Shows both ends of a hash or an address; the whole is its title. */
export const short = (text: string): Html =>
  text.length <= 16
    ? html`<code>${text}</code>`
    : html`<code title="${text}">${text.slice(0, 8)}…${text.slice(-6)}</code>`;

export type Tone = 'good' | 'wait' | 'attention' | 'danger';

/** Paths in a square of ten: a tick, a circle, an exclamation mark and a cross. */
const marks: Readonly<Record<Tone, string>> = {
  good: 'M1 6l3 3 5-8',
  wait: 'M5 1a4 4 0 1 0 .01 0z',
  attention: 'M5 0v6M5 8v2',
  danger: 'M1 1l8 8M9 1l-8 8',
};

/** Shows a state as a mark, a word and a colour: never by colour alone. */
export const badge = (word: Html | string, tone: Tone): Html =>
  html`<span class="badge ${tone}"><svg viewBox="0 0 10 10" aria-hidden="true"><path d="${marks[tone]}"/></svg> ${word}</span>`;

/** Shows an address whole, in groups of four, for a decision about it. */
export const grouped = (address: string): Html =>
  html`<code class="grouped" data-copy>${(address.match(/.{1,4}/g) ?? []).map((four) => html`<span>${four}</span>`)}</code>`;

/** Text from elsewhere, such as an endpoint's answer, without control characters. */
export const plainText = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ');

/** Shows a value to copy: one click or tap into the field, then select all. */
export const copied = (label: string, value: string): Html =>
  html`<label>${label} <input value="${value}" readonly spellcheck="false" data-copy></label>`;

/** Shows an id or a secret as code, with a button that copies it where scripts run. */
export const copyCode = (text: string): Html => html`<code data-copy>${text}</code>`;

export const faultMessage = (fault: Html | string | null): Html | null =>
  fault === null ? null : html`<p class="message fault" role="alert">${fault}</p>`;
