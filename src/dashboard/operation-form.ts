/**
 * What operators ask the networks' indexers to do: the forms that ask, read into a wish, and what follows from it.
 * @module
 */
import { MINOR_DECIMALS, parseUnits } from '../core/money.ts';
import { type AskOutcome, OPEN_MAX, otherNodes, PLAN_MS_MAX, type Wish } from '../core/operation.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { type Html, html } from '../lib/html.ts';
import { changeFields } from './change.ts';
import type { Visit } from './page.ts';

export const OPERATIONS_PATH = '/operator/operations';
export const askPath = (network: NetworkKey): string => `/operator/networks/${network}/ask`;

const ID_CHARS_MAX = 200;
export const BECAUSE_CHARS_MAX = 200;

/** Why an operator does something. */
export const becauseField = html`<label>Reason, for the audit log <input name="because" maxlength="${String(BECAUSE_CHARS_MAX)}" required></label>`;

/** A block's number, or null. */
export const readBlock = (text: string | undefined): number | null =>
  /^\d{1,15}$/.test((text ?? '').trim()) ? Number((text ?? '').trim()) : null;

/** Reads what a form asks for. @returns why it cannot, as text */
export function readWish(form: Readonly<Record<string, string>>): Wish | string {
  const isCheck = form.check === 'yes';
  switch (form.kind) {
    case 'adopt':
    case 'freeze_signer':
      return { kind: form.kind };
    case 'sweep_plan': {
      const min = (form.min ?? '').trim();
      if (min === '') return { kind: 'sweep_plan' };
      const minor = parseUnits(min, MINOR_DECIMALS);
      return minor !== null ? { kind: 'sweep_plan', min } : `“${min}” is no amount of stablecoins. Write it like 5.00.`;
    }
    case 'sweep_run':
      return { kind: 'sweep_run', planId: (form.plan ?? '').slice(0, ID_CHARS_MAX) };
    case 'resume_wallets':
      return { kind: 'resume_wallets', isCheck, accepted: form.accepted ?? null };
    case 'reread': {
      const [from, to] = [readBlock(form.from), readBlock(form.to)];
      if (from === null || to === null || to < from) return 'Name the first and the last block, by their numbers.';
      const node = otherNodes.find((one) => one === form.node);
      return { kind: 'reread', from, to, isCheck, ...(node && { node }) };
    }
    case 'settle': {
      const paidBy = (form.paid ?? '').trim().slice(0, ID_CHARS_MAX);
      if (form.how === 'paid' && paidBy === '') return 'Name the transaction that paid it.';
      const isRenewed = form.how === 'again';
      const vouches = form.vouch === 'yes';
      if (vouches && form.how !== 'paid') return 'Only for a transaction that paid it you can vouch.';
      return {
        kind: 'settle',
        payoutId: form.payout ?? '',
        paidBy: form.how === 'paid' ? paidBy : null,
        isRenewed,
        isCheck,
        ...(vouches && { vouches }),
      };
    }
    default:
      return 'There is no such operation.';
  }
}

/** The fields of a form that asks for this wish. */
function fieldsOf(wish: Wish): Readonly<Record<string, string>> {
  switch (wish.kind) {
    case 'sweep_run':
      return { kind: wish.kind, plan: wish.planId };
    case 'reread':
      return { kind: wish.kind, from: String(wish.from), to: String(wish.to), ...(wish.node && { node: wish.node }) };
    case 'sweep_plan':
      return { kind: wish.kind, ...(wish.min !== undefined && { min: wish.min }) };
    case 'resume_wallets':
      return { kind: wish.kind, ...(wish.accepted !== null && { accepted: wish.accepted }) };
    case 'settle': {
      const how = wish.paidBy !== null ? 'paid' : wish.isRenewed ? 'again' : 'never';
      const paid = wish.paidBy !== null && { paid: wish.paidBy };
      return { kind: wish.kind, payout: wish.payoutId, how, ...paid, ...(wish.vouches && { vouch: 'yes' }) };
    }
    default:
      return { kind: wish.kind };
  }
}

/** A form with one button that asks for a wish. A check becomes a check. */
export function askForm(
  visit: Visit<null>,
  network: NetworkKey,
  wish: Wish,
  { button, isPlain = false }: Readonly<{ button: string; isPlain?: boolean }>,
): Html {
  const fields = Object.entries({ ...fieldsOf(wish), ...('isCheck' in wish && wish.isCheck && { check: 'yes' }) });
  return html`<form method="post" action="${askPath(network)}">${changeFields(visit)}${fields.map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${askedOf(wish).needsReason ? becauseField : null}<button${isPlain ? html` class="plain"` : null}>${button}</button></form>`;
}

/** What a wish is, and what follows from it. Without `consequence`, nothing does: it is asked for at once. */
export type Asked = Readonly<{
  what: string;
  consequence?: string;
  button: string;
  needsSudo: boolean;
  needsReason: boolean;
  isDangerous?: boolean;
}>;

const looks = (what: string): Asked => ({ what, button: 'Check', needsSudo: false, needsReason: false });

export function askedOf(wish: Wish): Asked {
  if ('isCheck' in wish && wish.isCheck) {
    return {
      reread: looks('Compare blocks with the node'),
      settle: looks('Check how a payout can be settled'),
      resume_wallets: looks('Check what stopped the wallets'),
    }[wish.kind];
  }
  switch (wish.kind) {
    case 'sweep_plan':
      return looks('Plan sweeps');
    case 'sweep_run':
      return {
        what: 'Sweep to the treasury',
        consequence:
          'Exactly the sweeps that were shown are signed and sent. What changed meanwhile is left; if it costs over a ' +
          'quarter more, nothing is swept. What is sent cannot be taken back.',
        button: 'Sweep now',
        needsSudo: true,
        needsReason: false,
        isDangerous: true,
      };
    case 'reread':
      return {
        what: 'Read blocks again',
        consequence:
          'Transfers that were missed are added, and credited as any other. Nothing that is held is changed.',
        button: 'Read them',
        needsSudo: false,
        needsReason: true,
      };
    case 'adopt':
      return {
        what: 'Adopt what the signer has signed',
        consequence:
          'For a database that was restored from a backup. First stop every other installation that uses the signer: ' +
          'two that pay at once get into each other’s way.',
        button: 'Adopt it',
        needsSudo: true,
        needsReason: true,
        isDangerous: true,
      };
    case 'settle':
      return settleAsked(wish);
    case 'resume_wallets':
      return {
        what: 'Let halted wallets go on',
        consequence:
          'They go on with the number after the last one that is final. Transactions that were shown, and that no ' +
          'payout explains, stay unexplained: somebody else may have the key.',
        button: 'Go on',
        needsSudo: true,
        needsReason: true,
        isDangerous: true,
      };
    case 'freeze_signer':
      return {
        what: 'Freeze the signer',
        consequence:
          'It signs nothing on any network until an approver ends that with a signature: quayside signer thaw. ' +
          'Without an approver in its policy nothing ends it.',
        button: 'Freeze it',
        needsSudo: false,
        needsReason: true,
        isDangerous: true,
      };
  }
}

function settleAsked({ paidBy, isRenewed, vouches }: Extract<Wish, { kind: 'settle' }>): Asked {
  const how = { needsSudo: true, needsReason: true, isDangerous: true } as const;
  if (paidBy !== null) {
    return {
      ...how,
      what: 'Settle a payout as paid',
      consequence: vouches
        ? 'You vouch for it: it must be final and an attempt of this payout, but its record on the chain does not show ' +
          'what it paid. If it paid nothing, the payer never gets this money. Then it has ended.'
        : 'Every node is asked again whether this transaction is final and paid exactly this. Then it has ended.',
      button: 'Settle it as paid',
    };
  }
  return isRenewed
    ? {
        ...how,
        what: 'Pay a payout once more',
        consequence:
          'Every node is asked whether anything has paid it, or still can. Only if not, it is signed and sent again.',
        button: 'Pay it once more',
      }
    : {
        ...how,
        what: 'Settle a payout as never paid',
        consequence:
          'Every node is asked whether anything has paid it, or still can. Only if not, it fails, and its amount can be refunded again.',
        button: 'Settle it as never paid',
      };
}

export const askRefusals: Readonly<Record<Exclude<AskOutcome, 'requested' | 'already'>, string>> = {
  too_many: `${OPEN_MAX} operations of this network are open already. Wait until one has ended.`,
  no_plan: 'There is no such plan of this network. Plan again.',
  plan_old: `The plan is older than ${PLAN_MS_MAX / 60_000} minutes. Plan again.`,
  plan_used: 'This plan was run already. Plan again.',
};
