/**
 * The order: items, prices, exchange rate.
 */
import type { LineItem } from '../database/session-request.ts';
import { type Html, html } from '../lib/html.ts';
import { priceText } from '../rates/currencies.ts';
import type { PageModel } from './model.ts';

/** Renders an amount so that it reads correctly in a right-to-left line. */
const price = (minor: bigint, currency: string): Html => html`<bdi dir="ltr">${priceText(minor, currency)}</bdi>`;

export function orderSummary({ session, words }: PageModel): Html {
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
