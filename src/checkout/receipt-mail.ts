/**
 * The receipt of a paid session by mail, if the shop sends any: the payer types an address, sees it whole, and
 * confirms. A session has one such mail, and an address and a caller few a day: the form cannot be used to write to
 * strangers.
 */
import type { Request, Router } from 'express';
import type { Config } from '../config/config.ts';
import { PAR_DECIMALS, shownUnits, toPar } from '../core/money.ts';
import type { Database } from '../database/database.ts';
import type { NewMail } from '../database/mails.ts';
import type { Session } from '../database/session.ts';
import type { Clock } from '../lib/clock.ts';
import { queryOf } from '../lib/form.ts';
import { type Html, html } from '../lib/html.ts';
import { isMailAddress, MAIL_ADDRESS_CHARS_MAX } from '../lib/mail-server.ts';
import { createLimiter } from '../lib/rate-limit.ts';
import { documentOf } from '../web/document.ts';
import { icon } from './icon.ts';
import { linkTo, type PageModel, type ReceiptMail } from './model.ts';
import { allow } from './policy.ts';
import { asked, findSession, formReader, limitCallers, type Refuse } from './request.ts';
import type { Words } from './texts.ts';

const FORM_BYTES_MAX = 2_048;
/** Of one caller: mistakes included. */
const TRIES = { perSecond: 1 / 60, burst: 10 } as const;
/** To one address, from every shop. */
const TO_ADDRESS = { perSecond: 3 / 86_400, burst: 3, namesMax: 10_000 } as const;
const SHOWN_CHARS_MAX = 64;

type Faults = 'bad' | 'limit';
const faults: Readonly<Record<Faults, 'mail_bad' | 'mail_limit'>> = { bad: 'mail_bad', limit: 'mail_limit' };

/** Returns what a payer may do about the receipt of a session. */
export async function receiptMailOf(
  { database, config }: Pick<ReceiptMailDeps, 'database' | 'config'>,
  session: Session,
  replyTo: string | null,
): Promise<ReceiptMail> {
  if (config.mail === null || replyTo === null || session.life.status !== 'paid') return 'none';
  return (await database.mails.hasReceipt(session.id)) ? 'sent' : 'ask';
}

/** Renders the form, or that the receipt was sent. */
export function receiptMailPanel(model: PageModel): Html | null {
  const { session, words, choice, receiptMail } = model;
  const { say } = words;
  if (receiptMail === 'none') return null;
  if (receiptMail === 'sent')
    return html`<p class="notice" id="receipt-mail">${icon('done')} <span>${say('mail_done')}</span></p>`;
  const fault = choice.mailFault === 'bad' || choice.mailFault === 'limit' ? faults[choice.mailFault] : null;
  return html`<details class="look-up" id="receipt-mail"${fault ? html` open` : null}><summary>${say('mail_title')}</summary>
<p>${say('mail_text')}</p>
<form method="post" action="${session.id}/receipt${linkTo(model, {})}">
<label for="mail-to">${say('mail_label')}</label>
<div class="ask"><input id="mail-to" name="address" type="email" maxlength="${MAIL_ADDRESS_CHARS_MAX}" required dir="ltr" autocomplete="email"${fault ? html` aria-invalid="true" aria-describedby="mail-error"` : null}>
<button class="button">${say('refund_continue')}</button></div>${fault ? html`<p class="field-error" id="mail-error">${icon('alert')} ${say(fault)}</p>` : null}
</form></details>`;
}

/** Renders the second step: the address whole. @param style URL of the style sheet */
function confirmPage(words: Words, address: string, shop: string, back: string, style: string): string {
  const { say } = words;
  return documentOf(
    words,
    say('mail_title'),
    html`<link rel="stylesheet" href="${style}">`,
    html`<main id="main"><section class="card pay" aria-labelledby="headline"><h1 id="headline">${say('mail_confirm_title')}</h1>
<p class="lead"><bdi dir="ltr">${address}</bdi></p>
<p>${say('mail_confirm_text', { shop })}</p>
<form method="post"><input type="hidden" name="address" value="${address}"><input type="hidden" name="confirmed" value="yes">
<p><button class="button main">${say('mail_confirm_button')}</button> <a class="button" href="${back}">${say('refund_change')}</a></p></form>
</section></main>`,
  );
}

/** Text of merchants in a mail: one short line that turns no direction. */
const plain = (text: string): string => {
  const flat = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
  return flat.length > SHOWN_CHARS_MAX
    ? `${flat.slice(0, SHOWN_CHARS_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…`
    : flat;
};

/** Writes the receipt. The link in it opens the page, and has no token: who reads the mailbox can name no address. */
function receiptMail(
  {
    session,
    shop,
    words,
    titleOf,
  }: Readonly<{ session: Session; shop: string; words: Words; titleOf(key: string): string }>,
  pageUrl: string,
  to: string,
): NewMail {
  const { say } = words;
  const { request, payments, life, mode } = session;
  const name = plain(shop);
  const counted = payments.filter(({ state }) => state !== 'orphaned');
  const amountOf = ({ units, decimals, currency }: (typeof counted)[number]) =>
    `${shownUnits(toPar(units, decimals), PAR_DECIMALS)} ${currency}`;
  const paidAt =
    life.paidAtS === null ? '' : new Date(life.paidAtS * 1000).toISOString().slice(0, 16).replace('T', ' ');
  const lines = [
    ...(mode === 'test' ? [say('test_mode'), ''] : []),
    say('mail_intro', { shop: name }),
    '',
    say('order_number', { order: plain(request.orderId) }),
    `${say('paid_at')}: ${paidAt} UTC`,
    ...counted.flatMap((payment) => ['', `${amountOf(payment)} · ${titleOf(payment.networkKey)}`, payment.tx]),
    '',
    pageUrl,
    '',
    say('mail_why', { shop: name }),
    '',
  ];
  return { to, fromName: name, replyTo: null, subject: say('mail_subject', { shop: name }), text: lines.join('\n') };
}

type ReceiptMailDeps = Readonly<{
  database: Database;
  config: Pick<Config, 'mail' | 'networks' | 'checkoutUrl'>;
  clock: Clock;
}>;

/** @param styleOf returns the URL of the style sheet, relative to the requested page */
export function serveReceiptMail(
  router: Router,
  deps: ReceiptMailDeps,
  styleOf: (request: Request) => string,
  refuse: Refuse,
): void {
  const { database, config, clock } = deps;
  const count = limitCallers(TRIES, clock);
  const recipients = createLimiter({ ...TO_ADDRESS, clock });
  const titleOf = (key: string) => config.networks.find((network) => network.key === key)?.title ?? key;
  router.post('/pay/:id/receipt', formReader(FORM_BYTES_MAX), async (request, response) => {
    const session = await findSession(database.sessions, request);
    const settings = session && (await database.stores.findPageSettings(session.storeId));
    const merchant = session && (await database.stores.find(session.storeId));
    if (!session || !settings || !merchant) return refuse(request, response, null);
    const state = await receiptMailOf(deps, session, settings.receiptsReplyTo);
    if (state === 'none') return refuse(request, response, null);
    const query = queryOf(request);
    query.delete('mail');
    // The page, one folder up, with the same choice.
    const pageLink = (fault: Faults | null) => {
      if (fault) query.set('mail', fault);
      return `../${session.id}?${query}#receipt-mail`;
    };
    if (state === 'sent') return response.redirect(303, pageLink(null));
    const waitS = count(request);
    if (waitS > 0) return refuse(request, response, waitS);
    const { address = '', confirmed = '' } = Object(request.body) as Record<string, unknown>;
    const typed = String(address).trim();
    if (!isMailAddress(typed)) return response.redirect(303, pageLink('bad'));
    const { words } = asked(request);
    if (confirmed !== 'yes') {
      allow(response, { connect: [], ancestors: settings.embedOrigins });
      response.type('html').send(confirmPage(words, typed, merchant.name, pageLink(null), styleOf(request)));
      return;
    }
    if (recipients.take(typed.toLowerCase()) > 0) return response.redirect(303, pageLink('limit'));
    const pageUrl = `${config.checkoutUrl}/pay/${session.id}?lang=${words.code}`;
    const mail = receiptMail({ session, shop: merchant.name, words, titleOf }, pageUrl, typed);
    const outcome = await database.mails.queueReceipt({ sessionId: session.id, mail, nowMs: clock.nowMs() });
    response.redirect(303, pageLink(outcome === 'too_many' ? 'limit' : null));
  });
}
