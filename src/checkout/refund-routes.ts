/**
 * The routes of claim links, `/refund/:token`: the form, the confirmation and the state of the refund. The link is the
 * only secret: whoever has it can give the address, and replace it until the payment is in progress.
 */

import type { Request, Response, Router } from 'express';
import { chains } from '../chains/index.ts';
import type { Config } from '../config/config.ts';
import { invariant } from '../core/fault.ts';
import { mayReplace } from '../core/refund.ts';
import type { Database } from '../database/database.ts';
import type { DestinationCheck, Refund } from '../database/refunds/refund.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { queryOf } from '../lib/form.ts';
import { createLimiter } from '../lib/rate-limit.ts';
import { protect } from './policy.ts';
import {
  ADDRESS_CHANGES,
  ADDRESS_CHARACTERS_MAX,
  ADDRESS_FORM_BYTES_MAX,
  ADDRESS_TRIES,
  type RefundStep,
  refundPage,
} from './refund-page.ts';
import { asked, formReader, limitCallers, type Refuse } from './request.ts';

type RefundPageDeps = Readonly<{
  database: Database;
  config: Pick<Config, 'networks'>;
  clock: Clock;
  checkDestination: DestinationCheck;
}>;

const TOKEN = /^[0-9a-f]{32}$/;

/** @param style returns the URL of the style sheet, relative to the page */
export function serveRefunds(
  router: Router,
  { database, config, clock, checkDestination }: RefundPageDeps,
  style: string,
  refuse: Refuse,
): void {
  const count = limitCallers(ADDRESS_TRIES, clock);
  const changes = createLimiter({ ...ADDRESS_CHANGES, clock });

  async function find(request: Request): Promise<Refund | null> {
    const token = String(request.params.token);
    return TOKEN.test(token) ? database.refunds.findBy({ claimToken: token }) : null;
  }

  const networkOf = (refund: Refund) => config.networks.find(({ key }) => key === refund.network);
  /** Whether the payer may name an address here. The database decides, which also knows the payment. */
  const isOpen = ({ status, destination, claim }: Refund): boolean =>
    (status === 'pending' || status === 'processing') &&
    mayReplace(destination?.from ?? null, 'claim_link') &&
    claim !== null &&
    toSeconds(clock.nowMs()) <= claim.untilS;

  async function show(request: Request, response: Response, refund: Refund, step: RefundStep): Promise<void> {
    const network = networkOf(refund);
    const merchant = await database.stores.find(refund.storeId);
    invariant(merchant, `refund ${refund.id} belongs to a store`);
    if (!network) return refuse(request, response, null);
    const { words } = asked(request);
    const token = String(request.params.token);
    response.set('Vary', 'Accept-Language').type('html');
    response.send(refundPage({ refund, shop: merchant.name, network, step, token, words }, style));
  }

  router.use('/refund', protect);
  router.get('/refund/:token', async (request, response) => {
    const refund = await find(request);
    if (!refund) return refuse(request, response, null);
    const mayChange = isOpen(refund);
    const isAsked = mayChange && (refund.destination === null || queryOf(request).has('change'));
    await show(
      request,
      response,
      refund,
      isAsked ? { kind: 'ask', typed: '', fault: null } : { kind: 'state', mayChange },
    );
  });
  router.post('/refund/:token', formReader(ADDRESS_FORM_BYTES_MAX), async (request, response) => {
    const waitS = count(request);
    if (waitS > 0) return refuse(request, response, waitS);
    const refund = await find(request);
    if (!refund) return refuse(request, response, null);
    if (!isOpen(refund)) return show(request, response, refund, { kind: 'state', mayChange: false });
    const { address = '', confirmed = '' } = Object(request.body) as Record<string, unknown>;
    const typed = String(address).trim().slice(0, ADDRESS_CHARACTERS_MAX);
    const verdict = checkDestination(refund.network, typed);
    if (verdict.kind === 'bad') {
      return show(request, response.status(400), refund, { kind: 'ask', typed, fault: verdict.why });
    }
    if (confirmed !== 'yes') {
      const network = networkOf(refund);
      const address = network ? chains[network.family].address.format(verdict.key) : typed;
      return show(request, response, refund, { kind: 'confirm', address });
    }
    const changeWaitS = changes.take(refund.id);
    if (changeWaitS > 0) return refuse(request, response, changeWaitS);
    const claimToken = String(request.params.token);
    const outcome = await database.refunds.claim(
      { claimToken, address: typed, nowMs: clock.nowMs() },
      checkDestination,
    );
    if (typeof outcome === 'object') {
      return show(request, response.status(400), refund, { kind: 'ask', typed, fault: outcome.why });
    }
    // Redirects, so that a reload does not send the form again.
    response.redirect(303, claimToken);
  });
}
