/**
 * The instructions for a payment: amount, address, QR code, time left.
 */
import type { PaymentOption } from '../database/column-values.ts';
import { toSeconds } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { qrSvg } from '../lib/qr.ts';
import { optionAddress, optionLink, optionName, walletCode, walletLinks } from '../payments/option.ts';
import { icon } from './icon.ts';
import { amountDue, isSimulated, linkTo, networkTitle, type PageModel, tokenMark, unitsDue } from './model.ts';

const GROUP_CHARACTERS = 4;
/** Groups to compare at each end. Look-alike addresses match the ends, so one in the middle is marked too. */
const MARKED_AT_ENDS = 2;
/** QR codes that are kept, of some 3 KB each. */
const DRAWN_MAX = 500;

export function sendPanel(model: PageModel, option: PaymentOption): Html {
  const { say } = model.words;
  const { currency } = option;
  const network = networkTitle(model, option);
  const amount = amountDue(model, option);
  const address = optionAddress(model.session, option);
  // One warning at a time: a code with the amount has its own, and so have a reversed transfer and a suspended shop.
  const isWarned = chosenCode(model, option) !== null || model.state.isUndone || model.isSuspended;
  return html`${isWarned ? null : html`<p class="warning">${icon('alert')} ${say('mistake', { currency, network })}</p>`}
<div class="send">
<dl class="facts">
<div><dt id="amount-label">${say('amount')}</dt>
<dd class="sum"><span><span class="value amount" id="amount" tabindex="-1">${amount}</span> <span class="unit">${tokenMark(model, currency)} ${currency}</span></span>
${copyButton('copy-amount', amount, say('copy_amount'), say('copied_amount', { text: amount }))}</dd></div>
<div><dt id="address-label">${say('address')}</dt>
<dd>${addressGroups(address)}
${copyButton('copy-address', address, say('copy_address'), say('copied_address', { tail: address.slice(-6) }))}</dd></div>
</dl>
<div class="scan">${codeToScan(model, option, { amount, address })}</div>
${walletPanel(model, option)}
</div>
${help(model, option, amount)}`;
}

/** Renders what a payer need not know, behind a question mark. */
function help(model: PageModel, option: PaymentOption, amount: string): Html {
  const { say } = model.words;
  const { currency } = option;
  const network = networkTitle(model, option);
  const code = chosenCode(model, option);
  const said = [
    `${say('exchange_title')} ${say('exchange_text', { amount, currency, network })}`,
    say('amount_hint'),
    say('address_hint'),
    say('mistake_network', { currency, network }),
    say('mistake_once'),
    ...(code ? [say('qr_read_by', { wallets: code.readBy.join(', ') })] : []),
    ...(model.state.kind === 'underpaid' ? [say('underpaid_deadline')] : []),
    say('updates'),
  ];
  return html`<details id="help"><summary>${icon('help')} ${say('help')}</summary><ul class="rules">${said.map((text) => html`<li>${text}</li>`)}</ul></details>`;
}

/** Returns the QR code with the amount, if that is the one to show. */
const chosenCode = ({ choice }: PageModel, option: PaymentOption) => (choice.walletQr ? walletCode(option) : null);

/** Returns the content of the QR code. The default is the bare address, because every wallet reads it correctly. */
function codeToScan(
  model: PageModel,
  option: PaymentOption,
  { amount, address }: Readonly<{ amount: string; address: string }>,
): Html {
  const { session, words, choice, pageUrl } = model;
  const { say } = words;
  const code = walletCode(option);
  const other = (walletQr: boolean) => linkTo(model, { walletQr, pay: optionName(option) });
  if (!code || !choice.walletQr) {
    return html`${qrOnce(address, say('qr_address'))}<p class="muted">${say('qr_hint')}</p>
${code && html`<p><a id="qr-kind" href="${other(true)}">${say('qr_to_wallet')}</a></p>`}`;
  }
  const link = optionLink(session, option, unitsDue(model, option), pageUrl);
  return html`${qrOnce(link, say('qr_wallet'))}
<p class="warning">${say('qr_misread_by', { wallets: code.misreadBy.join(', ') })} ${say('qr_warning', { amount, currency: option.currency })}</p>
<p><a id="qr-kind" href="${other(false)}">${say('qr_to_address')}</a></p>`;
}

/** The newest QR codes by label and text: drawing takes a quarter of a view's time, and each view shows the same. */
const drawn = new Map<string, Html>();

function qrOnce(text: string, label: string): Html {
  const name = `${label}\n${text}`;
  const known = drawn.get(name);
  if (known) return known;
  const [oldest] = drawn.keys();
  if (oldest !== undefined && drawn.size >= DRAWN_MAX) drawn.delete(oldest);
  const made = qrSvg(text, label);
  drawn.set(name, made);
  return made;
}

/** Renders the whole address in readable groups, without spaces. */
export function addressGroups(address: string): Html {
  const groups = address.match(new RegExp(`.{1,${GROUP_CHARACTERS}}`, 'g')) ?? [];
  const middle = Math.floor(groups.length / 2);
  const isMarked = (at: number) => at < MARKED_AT_ENDS || at === middle || at >= groups.length - MARKED_AT_ENDS;
  return html`<code class="value address" id="address" dir="ltr">${groups.map((group, at) =>
    isMarked(at) ? html`<b>${group}</b>` : html`<span>${group}</span>`,
  )}</code>`;
}

/** Renders a button that only the script shows. Without scripts, one tap selects the text. */
const copyButton = (id: string, text: string, label: string, done: string): Html =>
  html`<button type="button" class="button copy" id="${id}" data-copy="${text}" data-done="${done}" hidden>${label}</button>`;

/** Renders minutes and seconds until the deadline, by the server's clock. */
export function timeLeft({ state, nowMs, words }: PageModel): Html | null {
  if (state.deadlineS === null || !state.isPayable) return null;
  const seconds = Math.max(0, state.deadlineS - toSeconds(nowMs));
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  return html`<p class="time">${icon('wait')} <span role="timer" aria-label="${words.say('time_left')}" id="timer">${text}</span></p>`;
}

// ── Wallets ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The texts of `browser/wallets.js`. */
const scriptTexts = [
  'pay',
  'asking',
  'sent',
  'silent',
  'not_sent',
  'not_sent_text',
  'again',
  'rejected',
  'busy',
  'locked',
  'other_network',
  'unknown_network',
  'changed',
  'unreachable',
  'failed',
  'unsure',
] as const;

function walletPanel(model: PageModel, option: PaymentOption): Html {
  const { session, state, words, pageUrl, isHandheld } = model;
  const { say } = words;
  const network = networkTitle(model, option);
  const title = html`<h2 id="wallets-title">${say('wallet_title')}</h2>`;
  // No real wallet is offered for test money.
  if (isSimulated(model, option)) {
    return html`<section class="wallets" aria-labelledby="wallets-title">${title}<p class="muted">${say('wallet_simulated')}</p></section>`;
  }
  const config = model.networks.get(option.networkKey)?.config;
  const links = isHandheld && config ? walletLinks(config, session, option, unitsDue(model, option), pageUrl) : [];
  const due = String(state.leftPar);
  const transfer = `${session.id}/transfer?${new URLSearchParams({ pay: optionName(option), due })}`;
  const check = say('wallet_check', { amount: amountDue(model, option), currency: option.currency, network });
  // The script fills these elements.
  const open = { wallet: '{wallet}', message: '{message}', network };
  return html`<section class="wallets" id="wallets" tabindex="-1" aria-labelledby="wallets-title" data-family="${option.family}" data-session="${session.id}" data-due="${due}" data-transfer="${transfer}"${links.length === 0 ? html` hidden` : null}>
${title}<div id="wallet-buttons"></div>
${
  links.length === 0
    ? null
    : html`<div id="wallet-links">${links.map(
        ({ wallet, opens, href }, at) =>
          html`<a class="button${at === 0 ? ' main' : ''}" href="${href}" rel="noreferrer">${say(opens === 'page' ? 'wallet_page' : 'wallet_pay', { wallet })}</a>`,
      )}</div>`
}
<div id="wallet-status"></div>
<p class="muted" id="wallet-check">${check}</p>
<template id="wallet-words">${scriptTexts.map((word) => html`<p data-word="${word}">${say(`wallet_${word}`, open)}</p>`)}</template>
</section>`;
}
