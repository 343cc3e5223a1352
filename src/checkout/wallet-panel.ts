/**
 * Paying with a wallet: links that open apps on a phone, without scripts; and the place where the script adds a button
 * for each wallet in the browser.
 */

import type { PaymentOption } from '../database/session-request.ts';
import { type Html, html } from '../lib/html.ts';
import { optionName, walletLinks } from '../payments/option.ts';
import { amountDue, isSimulated, networkTitle, type PageModel, unitsDue } from './model.ts';

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

export function walletPanel(model: PageModel, option: PaymentOption): Html {
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
