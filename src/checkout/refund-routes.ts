/**
 * The routes of claim links, `/refund/:token`: the form, the confirmation and the state of the refund. The link is the
 * only secret: whoever has it can give the address, and replace it until the payment is in progress.
 */

import type { Request, Response, Router } from 'express';
import { invariant } from '../core/fault.ts';
import { mayReplace } from '../core/refund.ts';
import type { Refund } from '../database/refunds/refund.ts';
import { toSeconds } from '../lib/clock.ts';
import { queryOf } from '../lib/form.ts';
import { type AddressDeps, serveAddressForm } from './address-form.ts';
import { protect } from './policy.ts';
import { type RefundStep, refundPage } from './refund-page.ts';
import { asked, type Refuse } from './request.ts';

const TOKEN = /^[0-9a-f]{32}$/;

/** @param styleOf returns the URL of the style sheet, relative to the requested page */
export function serveRefunds(
  router: Router,
  deps: AddressDeps,
  styleOf: (request: Request) => string,
  refuse: Refuse,
): void {
  const { database, config, clock, checkDestination } = deps;

  /** Finds the refund of a link; null if there is none, or if its network is no longer configured. */
  async function find(request: Request, response: Response) {
    const token = String(request.params.token);
    const refund = TOKEN.test(token) ? await database.refunds.findBy({ claimToken: token }) : null;
    const network = config.networks.find(({ key }) => key === refund?.network);
    if (!refund || !network) return null;
    const merchant = await database.stores.find(refund.storeId);
    invariant(merchant, `refund ${refund.id} belongs to a store`);
    const { words } = asked(request);
    const show = (step: RefundStep): void => {
      response.set('Vary', 'Accept-Language').type('html');
      response.send(refundPage({ refund, shop: merchant.name, network, step, token, words }, styleOf(request)));
    };
    const store = (address: string) =>
      database.refunds.claim({ claimToken: token, address, nowMs: clock.nowMs() }, checkDestination);
    return { id: refund.id, refund, network, isOpen: isOpen(refund), show, store, next: token };
  }

  /** Whether the payer may name an address here. The database decides, which also knows the payment. */
  const isOpen = ({ status, destination, claim }: Refund): boolean =>
    (status === 'pending' || status === 'processing') &&
    mayReplace(destination?.from ?? null, 'claim_link') &&
    claim !== null &&
    toSeconds(clock.nowMs()) <= claim.untilS;

  router.use('/refund', protect);
  router.get('/refund/:token', async (request, response) => {
    const found = await find(request, response);
    if (!found) return refuse(request, response, null);
    const { refund, isOpen: mayChange, show } = found;
    const isAsked = mayChange && (refund.destination === null || queryOf(request).has('change'));
    show(isAsked ? { kind: 'ask', typed: '', fault: null } : { kind: 'state', mayChange });
  });
  serveAddressForm(router, '/refund/:token', deps, find, refuse);
}
