/**
 * The payment page: one document for every state of a session, complete without scripts.
 */
import { currencies } from '../core/transfer.ts';
import type { LineItem } from '../database/column-values.ts';
import { toSeconds } from '../lib/clock.ts';
import { type Html, html } from '../lib/html.ts';
import { optionName } from '../payments/option.ts';
import { simulations } from '../payments/simulation.ts';
import { priceText } from '../rates/currencies.ts';
import { documentOf, RELOAD_S } from '../web/document.ts';
import type { Assets } from './assets.ts';
import { brandName, brandStyle } from './brand.ts';
import { type IconName, icon } from './icon.ts';
import { methodChoice } from './method.ts';
import {
  amountDue,
  confirmationsRequired,
  durationText,
  isBecomingFinal,
  isUp,
  linkTo,
  networkMark,
  networkTitle,
  type PageModel,
  type Progress,
  parText,
  progress,
  selectedOption,
  sumText,
  timeLeftOf,
  tokenMark,
} from './model.ts';
import { refundAddressPanel } from './refund-address.ts';
import { refundList } from './refund-page.ts';
import { returnNotice, returnRefresh, successLink } from './return.ts';
import { sendPanel, timeLeft } from './send.ts';
import { allWords, type Words } from './texts.ts';

export function paymentPage(model: PageModel, assets: Assets): string {
  const { session, state, words, shop, version, nowMs, choice } = model;
  const { say } = words;
  const { headline, body } = stateSection(model);
  const isTest = session.mode === 'test';
  return documentOf(
    words,
    say('title', { shop }),
    html`<link rel="stylesheet" href="${assets.style}">${brandStyle(model)}
${!model.isLive ? null : html`<noscript><meta http-equiv="refresh" content="${RELOAD_S}"></noscript>`}${returnRefresh(model)}
<script type="module" src="${assets.script}"></script>`,
    html`<a class="skip" href="#main">${say('skip')}</a>
<header>${brandName(model)}${isTest ? html`<p class="test">${say('test_mode')}</p>` : null}</header>
<main id="main" tabindex="-1"
 data-version="${version}" data-now="${toSeconds(nowMs)}"
 data-deadline="${state.isPayable ? (state.deadlineS ?? '') : ''}"
 data-events="${session.id}/events" data-live="${model.isLive ? 'yes' : ''}"
 data-session="${session.id}" data-status="${session.life.status}"
 data-seen="${standingPayments(model).length > 0 ? 'yes' : ''}" data-parent="${choice.parent ?? ''}"
 data-headline="${headline}" data-minutes="${say('announce_minutes', { minutes: 5 })}"
 data-minute="${say('announce_minute')}" data-copy-failed="${say('copy_failed')}">
<section class="card pay" aria-labelledby="headline">${suspensionNotice(model)}${body}${refundList(model)}${refundAddressPanel(model)}${helpPanel(model)}</section>
${orderSummary(model)}
${model.canSimulate ? sandboxPanel(model) : null}
</main>
<p id="announcer" class="unseen" role="status"></p>
<footer>
<p>${say('footer')}</p>
<p>${say('reference', { id: session.id })}</p>
${languageSwitch(model)}
</footer>`,
  );
}

/** Says what a payer can do whose payment does not show. */
function helpPanel({ state, words, shop }: PageModel): Html | null {
  if (state.kind === 'seen' || state.kind === 'paid') return null;
  return html`<details class="fold" id="rescue"><summary>${words.say('rescue_title')}</summary><p>${words.say('rescue_text', { shop })}</p></details>`;
}

/** Tells a payer who can still pay to ask the shop first. Money that was sent already counts, and the page shows it. */
const suspensionNotice = ({ isSuspended, state, words, shop }: PageModel): Html | null =>
  isSuspended && !state.hasEnded ? html`<p class="warning">${words.say('suspended_text', { shop })}</p>` : null;

/** Renders a page without a session; with `retry` it reloads itself. */
export function messagePage(
  words: Words,
  text: Readonly<{ title: string; text: string; retry: boolean }>,
  assets: Assets,
): string {
  return documentOf(
    words,
    text.title,
    html`<link rel="stylesheet" href="${assets.style}">${text.retry ? html`<meta http-equiv="refresh" content="${RELOAD_S}">` : null}`,
    html`<main id="main"><section class="card pay"><div class="state">${icon('alert')}<h1>${text.title}</h1></div><p>${text.text}</p>${
      text.retry ? html`<p><a class="button main" href="">${words.say('retry')}</a></p>` : null
    }</section></main>`,
  );
}

function languageSwitch(model: PageModel): Html {
  return html`<nav class="languages" aria-label="${model.words.say('languages')}">${allWords.map((words) =>
    words.code === model.words.code
      ? html`<span lang="${words.code}" aria-current="true">${words.say('language')}</span>`
      : html`<a href="${linkTo(model, { language: words.code })}" lang="${words.code}" hreflang="${words.code}">${words.say('language')}</a>`,
  )}</nav>`;
}

// ── The states ───────────────────────────────────────────────────────────────────────────────────────────────────────

type Section = Readonly<{ headline: string; body: Html }>;

function stateSection(model: PageModel): Section {
  const { session, state, shop, words } = model;
  const { say } = words;
  const { terms, standing } = session;
  const countedPar = standing.seenPar + standing.confirmedPar;
  switch (state.kind) {
    case 'open':
      return openSection(model);
    case 'underpaid':
      return underpaidSection(model, state.leftPar);
    case 'wrong_token': {
      const currency = terms.accepts.join(' / ');
      const headline = say('wrong_token_title', { currency });
      const text = say('wrong_token_text', { received: sumText(state.foreign), currency, shop });
      return {
        headline,
        body: html`${stateHead('alert', 'attention', headline)}<p>${text}</p>${payable(model)}${transferList(model)}`,
      };
    }
    case 'seen': {
      const slowest = progress(model);
      const headline = say('seen_title');
      return {
        headline,
        body: html`${stateHead('wait', 'good', headline)}<p>${say('seen_text')}</p>
${slowest && confirmationBar(model, slowest)}${overNote(model)}${transferList(model)}${backLink(model, shopLink(session), false)}`,
      };
    }
    case 'paid':
      return paidSection(model);
    case 'checking':
      return ended(model, 'wait', say('checking_title'), say('checking_text'), null);
    case 'expired':
      return ended(model, 'stop', say('expired_title'), say('expired_text', { shop }), say('expired_sent', { shop }));
    case 'canceled':
      return ended(model, 'stop', say('canceled_title'), say('canceled_text', { shop }), null);
    case 'late': {
      const currency = [...new Set(standingPayments(model).map((payment) => payment.currency))].join(' / ');
      const received = `${parText(standing.latePar)} ${currency}`;
      return ended(model, 'alert', say('late_title'), say('late_text', { received, shop }), null);
    }
    case 'failed': {
      const text = say('failed_text', { received: parText(countedPar), due: parText(terms.duePar), shop });
      return ended(model, 'stop', say('failed_title'), text, null);
    }
  }
}

/** Renders an underpaid session: how much is missing, and how to pay it. */
function underpaidSection(model: PageModel, leftPar: bigint): Section {
  const { session, words } = model;
  const { say } = words;
  const option = selectedOption(model);
  const amount = option ? amountDue(model, option) : parText(leftPar);
  const counted = standingPayments(model).filter(({ currency }) => session.terms.accepts.includes(currency));
  const headline = say('underpaid_title', { amount, currency: option?.currency ?? '' });
  const sums = { received: sumText(counted), due: parText(session.terms.duePar) };
  const isBegun = option && counted.some((payment) => optionName(payment) === optionName(option));
  const text = option ? say(isBegun ? 'underpaid_text' : 'underpaid_text_other', sums) : say('underpaid_choose');
  return {
    headline,
    body: html`${stateHead('alert', 'attention', headline)}
<p>${text}</p>${payable(model)}${transferList(model)}`,
  };
}

/** Renders the receipt of a paid session. */
function paidSection(model: PageModel): Section {
  const { session, shop, words } = model;
  const { say } = words;
  const { life } = session;
  const headline = say('paid_title');
  return {
    headline,
    body: html`${stateHead('done', 'good', headline)}
<p class="lead">${life.paidLate ? say('paid_late_text', { shop }) : say('paid_text', { shop })}</p>
${overNote(model)}${foreignNote(model)}
${backLink(model, shopLink(session), true)}${returnNotice(model)}
<h2>${say('receipt')}</h2>
<dl class="sums"><div><dt>${say('received')}</dt><dd>${sumText(standingPayments(model))}</dd></div>
<div><dt>${say('paid_at')}</dt><dd>${life.paidAtS === null ? null : time(life.paidAtS)}</dd></div></dl>
${transferList(model)}
<button type="button" class="button" id="print" hidden>${say('print')}</button>`,
  };
}

/** Returns the payments whose block is still part of the chain. */
const standingPayments = ({ session }: PageModel) => session.payments.filter(({ state }) => state !== 'orphaned');

/** Renders an unpaid session: choose a way to pay, then send. */
function openSection(model: PageModel): Section {
  const { session, shop, words, state } = model;
  const { say } = words;
  const option = selectedOption(model);
  const undone = state.isUndone
    ? html`<p class="notice attention">${icon('alert')} <span>${say('undone_text')}</span></p>`
    : null;
  const cancel = session.request.cancelUrl;
  const leave =
    cancel === null
      ? null
      : html`<p><a id="cancel" href="${cancel}" rel="noreferrer"${leavesFrame(model)}>${say('back', { shop })}</a></p>`;
  const price = priceText(session.request.amountMinor, session.request.currency);
  if (!session.options.some((one) => isUp(model, one))) {
    const headline = say('networks_down_title');
    return {
      headline,
      body: html`${stateHead('alert', 'attention', headline)}<p>${say('networks_down_text')}</p>${leave}`,
    };
  }
  if (option === null) {
    const headline = say('choose_title');
    return {
      headline,
      body: html`<div class="send-head"><p class="price">${price}</p>${timeLeft(model)}</div><h1 id="headline">${headline}</h1>${undone}${methodChoice(model)}${leave}`,
    };
  }
  if (!isUp(model, option)) {
    const network = networkTitle(model, option);
    const headline = say('down_title', { network });
    return {
      headline,
      body: html`${stateHead('alert', 'attention', headline)}<p>${say('down_text')}</p>${changeLink(model, say('down_choose'))}${leave}`,
    };
  }
  const { currency } = option;
  const headline = say('send_title', { amount: amountDue(model, option), currency });
  return {
    headline,
    body: html`<div class="send-head"><h1 id="headline">${headline}</h1>${timeLeft(model)}</div>
<p class="on">${networkMark(model, option)} ${say('send_on', { network: networkTitle(model, option) })} ${changeLink(model)}</p>
${undone}${sendPanel(model, option)}
<p class="waiting"><span class="pulse" aria-hidden="true"></span>${say('waiting')}<noscript> ${say('refreshes')}</noscript></p>${leave}`,
  };
}

/** Renders the time left with how to send the rest, or with the choice of a way to pay. */
function payable(model: PageModel): Html {
  const option = selectedOption(model);
  if (option === null || !isUp(model, option)) return html`${timeLeft(model)}${methodChoice(model)}`;
  const { say } = model.words;
  return html`<div class="send-head"><p class="on">${networkMark(model, option)} ${say('send_on', { network: networkTitle(model, option) })} ${changeLink(model)}</p>${timeLeft(model)}</div>${sendPanel(model, option)}`;
}

/**
 * Renders the link to other ways to pay. After a part payment the same way stays selected, but another may be cheaper
 * for a small rest, and all payments add up; a token in the query then means that the payer is choosing.
 */
function changeLink(model: PageModel, label = model.words.say('change_method')): Html | null {
  const { session, state } = model;
  if (session.options.length < 2) return null;
  const token = state.kind === 'underpaid' ? (selectedOption(model)?.currency ?? null) : null;
  return html`<a id="change" href="${linkTo(model, { pay: null, token, walletQr: false })}">${label}</a>`;
}

const stateHead = (name: IconName, tone: 'good' | 'attention' | 'plain', headline: string): Html =>
  html`<div class="state ${tone}">${icon(name)}<h1 id="headline">${headline}</h1></div>`;

/** Renders a session that takes no more money: what happened, what to do, what was received. */
function ended(model: PageModel, name: IconName, headline: string, text: string, more: string | null): Section {
  const { session, state, words } = model;
  const tone = name === 'alert' ? 'attention' : 'plain';
  // A payer who has to contact the shop needs a reference.
  const isForTheShop = state.kind === 'late' || state.kind === 'failed';
  const reference = isForTheShop ? html`<p>${words.say('reference', { id: session.id })}</p>` : null;
  const back = backLink(model, session.request.cancelUrl ?? shopLink(session), false);
  return {
    headline,
    body: html`${stateHead(name, tone, headline)}<p class="lead">${text}</p>${more === null ? null : html`<p>${more}</p>`}${reference}
${foreignNote(model)}${back}${session.payments.length > 0 ? transferList(model) : null}`,
  };
}

/** Returns the shop's page for a payer who has paid. */
const shopLink = ({ id, request }: PageModel['session']): string | null =>
  request.successUrl === null ? null : successLink(request.successUrl, id);

const backLink = (model: PageModel, url: string | null, isMain: boolean): Html | null =>
  url === null
    ? null
    : html`<p><a class="button ${isMain ? 'main' : ''}" id="back" href="${url}" rel="noreferrer"${leavesFrame(model)}>${model.words.say('back', { shop: model.shop })}</a></p>`;

/** Makes links to the shop open outside the frame. */
const leavesFrame = ({ choice }: PageModel): Html | null => (choice.parent === null ? null : html` target="_top"`);

function overNote({ session, state, words, shop }: PageModel): Html | null {
  if (state.overPar === 0n) return null;
  const currencies = [...new Set(session.payments.map(({ currency }) => currency))].join(' / ');
  const over = `${parText(state.overPar)} ${currencies}`;
  return html`<p class="notice">${icon('alert')} <span>${words.say('paid_over_text', { over, shop })}</span></p>`;
}

const foreignNote = ({ state, words, shop }: PageModel): Html | null =>
  state.foreign.length === 0
    ? null
    : html`<p class="notice attention">${icon('alert')} <span>${words.say('wrong_token_note', { received: sumText(state.foreign), shop })}</span></p>`;

function confirmationBar(model: PageModel, { payment, required }: Progress): Html {
  const count = Math.min(payment.confirmations, required);
  const left = timeLeftOf(model, { payment, required });
  const network = networkTitle(model, payment);
  const { say } = model.words;
  const text = isBecomingFinal(model, payment)
    ? say('seen_becoming_final', { network })
    : say('seen_progress', { count, required, network });
  return html`<p class="bar"><label for="confirmations">${text}</label><progress id="confirmations" value="${count}" max="${required}"></progress></p>
${left && html`<p class="muted" id="confirmed-in">${say(left.isFinal ? 'final_in' : 'confirmed_in', { time: durationText(model, left.seconds) })}</p>`}`;
}

function transferList(model: PageModel): Html {
  const { session, words } = model;
  const { say } = words;
  return html`<h2>${say('transfers')}</h2><ul class="transfers">${session.payments.map((payment) => {
    const required = confirmationsRequired(model, payment);
    const status = {
      seen: isBecomingFinal(model, payment)
        ? say('transfer_becoming_final')
        : say('transfer_seen', { count: Math.min(payment.confirmations, required), required }),
      confirmed: say('transfer_confirmed'),
      final: say('transfer_confirmed'),
      orphaned: say('transfer_orphaned'),
    }[payment.state];
    const sum = sumText([payment]);
    const [amount = '', currency = ''] = sum.split(' ');
    return html`<li>${tokenMark(model, payment.currency)}${networkMark(model, payment)} <span>${say('transfer', { amount, currency, network: networkTitle(model, payment) })} <em>${status}</em></span>
<code dir="ltr" aria-label="${say('transaction')}">${payment.tx}</code></li>`;
  })}</ul>`;
}

/** Renders a time in UTC, because the payer's time zone is unknown here. */
function time(seconds: number): Html {
  const iso = new Date(seconds * 1000).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

// ── The sandbox ─────────────────────────────────────────────────────────────────────────────────────────────────────

function sandboxPanel(model: PageModel): Html | null {
  const { session, state, words } = model;
  const { say } = words;
  const option = selectedOption(model) ?? session.options[0];
  if (!option) return null;
  const takesAll = currencies.every((currency) => session.terms.accepts.includes(currency));
  const isUnderWay = session.payments.some((payment) => payment.state === 'seen');
  const offered = simulations.filter((simulation) => {
    if (simulation === 'pay_wrong_token') return !takesAll;
    if (simulation === 'mine' || simulation === 'reorg') return isUnderWay;
    return !(state.hasEnded && (simulation === 'expire' || simulation === 'pay_late'));
  });
  return html`<section class="card sandbox" aria-labelledby="sandbox-title">
<h2 id="sandbox-title">${say('sandbox')}</h2>
<p>${say('sandbox_lead')}</p>
<p class="muted">${tokenMark(model, option.currency)}${networkMark(model, option)} ${say('sandbox_network', { network: `${networkTitle(model, option)}, ${option.currency}` })}</p>
<form method="post" action="${session.id}/simulate${linkTo(model, {})}">${offered.map(
    (simulation) =>
      html`<button class="button" id="${simulation}" name="action" value="${simulation}">${say(`sandbox_${simulation}`)}</button>`,
  )}</form>
</section>`;
}

// ── The order ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Renders an amount so that it reads correctly in a right-to-left line. */
const price = (minor: bigint, currency: string): Html => html`<bdi dir="ltr">${priceText(minor, currency)}</bdi>`;

function orderSummary({ session, words }: PageModel): Html {
  const { request, conversion } = session;
  const { currency, lineItems, taxMinor, shippingMinor, amountMinor, description, orderId } = request;
  const { say } = words;
  const sum = (name: string, minor: bigint | null) =>
    minor === null ? null : html`<div><dt>${name}</dt><dd>${price(minor, currency)}</dd></div>`;
  return html`<section class="order card" aria-labelledby="order-title">
<h2 id="order-title">${say('order')}</h2>
<p class="muted">${say('order_number', { order: orderId })}</p>
${description === null ? null : html`<p>${description}</p>`}
${lineItems && html`<ul class="items">${lineItems.map((item) => lineItem(item, currency, say))}</ul>`}
<dl class="sums">
${sum(say('tax'), taxMinor)}${sum(say('shipping'), shippingMinor)}
<div class="total"><dt>${say('total')}</dt><dd>${price(amountMinor, currency)}</dd></div>
${
  conversion &&
  html`<div><dt>${say('rate')}</dt><dd>${say('rate_value', { from: currency, rate: conversion.rate, to: conversion.currency })}</dd></div>`
}
</dl>
${conversion && html`<p class="muted">${say('rate_locked')}</p>`}
</section>`;
}

function lineItem({ price_data: data, quantity }: LineItem, currency: string, say: PageModel['words']['say']): Html {
  const unit = BigInt(data.unit_amount);
  const { name, description } = data.product_data;
  return html`<li><span class="item">${name}${description ? html`<small>${description}</small>` : null}${
    quantity === 1 ? null : html`<small>${say('quantity', { quantity, price: priceText(unit, currency) })}</small>`
  }</span><span class="item-price">${price(unit * BigInt(quantity), currency)}</span></li>`;
}
