/** A refund of a payment is made: the form, with what is left and what the store may refund, and its review. */
import { say } from '../../acts/act.ts';
import { createRefund, leftText } from '../../acts/refund-create.ts';
import { amountText, minorText, shownMinor } from '../../acts/refund-words.ts';
import { currencies } from '../../core/transfer.ts';
import { html } from '../../lib/html.ts';
import { facts, section } from '../../web/list.ts';
import { data } from '../../web/show.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Page, Reply, StoreAt, Visit } from '../page.ts';
import { coinNames, confirmedText, networkTitle, price } from '../show.ts';
import { findPayment } from './payment.ts';
import { refundBadge } from './refunds.ts';

const REFUNDS_SHOWN = 100;
const DAY_S = 86_400;
const PATH = '/s/:store/:mode/payments/:id/refund';

const creating = formOf(createRefund, {
  path: PATH,
  fills: { payment: 'id' },
  inputs: ['amount', 'currency', 'address', 'reason', 'description'],
  to: '/s/:store/:mode/refunds/:refund',
});

export const newRefundPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'refunds:request', answer: (visit) => formPage(deps, visit) }, [creating]);

async function formPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { database, config } = deps;
  const { at, form, nowMs, words } = visit;
  const session = await findPayment(deps, visit);
  if (!session) return null;
  const earlier = await database.refunds.list({ sessionId: session.id, limit: REFUNDS_SHOWN });
  const room = (await database.refunds.room(session.id, nowMs)) ?? { coins: [], dayLeftMinor: 0n };
  const chosen = room.coins.find(({ currency }) => currency === form.currency) ?? room.coins[0];
  const anyCoin = coinNames(room.coins.length > 0 ? room.coins.map(({ currency }) => currency) : currencies);
  const networks = [...new Set(room.coins.map(({ network }) => networkTitle(config, network)))].join(' / ');
  const { refundDailyMinor, refundWindowS, refundAutoMinor } = await database.stores.refundPolicy(at.storeId);
  const inCoins = (minor: bigint) => `${shownMinor(minor)} ${anyCoin}`;
  const left = chosen && chosen.leftMinor > 0n ? minorText(chosen.leftMinor) : '';
  const limits = { amount: inCoins(BigInt(refundDailyMinor)), left: inCoins(room.dayLeftMinor) };
  const coins = room.coins.map(({ currency, network }) => {
    const on = { currency, network: networkTitle(config, network) };
    return [currency, say('{currency} on {network}', on)] as const;
  });
  const refunding = creating.show(visit, {
    ...{ button: words.say('Go on'), look: 'main' },
    texts: { amount: left },
    offers: { currency: Object.fromEntries(coins) },
    labels: { address: say('Address on {network}', { network: networks || '–' }) },
  });
  return {
    title: words.say('Refund order {order}', { order: session.request.orderId }),
    content: html`${section(
      'so-far',
      words.say('So far'),
      facts([
        [words.say('Price'), data(price(session))],
        [words.say('Received'), data(confirmedText(session) ?? '–')],
        [
          words.say('Earlier refunds'),
          earlier.length === 0
            ? words.say('none')
            : html`${earlier.map((one) => html`${data(amountText(one))} ${refundBadge(words, one)} `)}`,
        ],
        [words.say('Left to refund'), data(leftText(room) || '–')],
        [
          words.say('The store may refund'),
          words.html('{amount} a day, {left} of it left today; {days} days after a payment', {
            ...limits,
            days: Math.floor(refundWindowS / DAY_S),
          }),
        ],
        [
          words.say('Approval is needed'),
          words.html('above {amount} in 24 hours for one payment, one address, or one person or key that asks', {
            amount: inCoins(BigInt(refundAutoMinor)),
          }),
        ],
      ]),
    )}
${section('new', words.say('New refund'), html`${refunding}`)}`,
  };
}
