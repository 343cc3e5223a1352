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
import type { TextKey, Words } from './texts.ts';

export const OPERATIONS_PATH = '/operator/operations';
export const askPath = (network: NetworkKey): string => `/operator/networks/${network}/ask`;

const ID_CHARS_MAX = 200;
export const BECAUSE_CHARS_MAX = 200;

/** Why an operator does something. */
export const becauseField = (words: Words): Html =>
  html`<label>${words.say('operation-form.because')} <input name="because" maxlength="${String(BECAUSE_CHARS_MAX)}" required></label>`;

/** A block's number, or null. */
export const readBlock = (text: string | undefined): number | null =>
  /^\d{1,15}$/.test((text ?? '').trim()) ? Number((text ?? '').trim()) : null;

/** Reads what a form asks for. @returns why it cannot, as text */
export function readWish(words: Words, form: Readonly<Record<string, string>>): Wish | string {
  const isCheck = form.check === 'yes';
  switch (form.kind) {
    case 'adopt':
    case 'freeze_signer':
      return { kind: form.kind };
    case 'sweep_plan': {
      const min = (form.min ?? '').trim();
      if (min === '') return { kind: 'sweep_plan' };
      const minor = parseUnits(min, MINOR_DECIMALS);
      return minor !== null ? { kind: 'sweep_plan', min } : words.say('operation-form.bad_amount', { text: min });
    }
    case 'sweep_run':
      return { kind: 'sweep_run', planId: (form.plan ?? '').slice(0, ID_CHARS_MAX) };
    case 'resume_wallets':
      return { kind: 'resume_wallets', isCheck, accepted: form.accepted ?? null };
    case 'reread': {
      const [from, to] = [readBlock(form.from), readBlock(form.to)];
      if (from === null || to === null || to < from) return words.say('operation-form.name_blocks');
      const node = otherNodes.find((one) => one === form.node);
      return { kind: 'reread', from, to, isCheck, ...(node && { node }) };
    }
    case 'settle': {
      const paidBy = (form.paid ?? '').trim().slice(0, ID_CHARS_MAX);
      if (form.how === 'paid' && paidBy === '') return words.say('operation-form.name_transaction');
      const isRenewed = form.how === 'again';
      const vouches = form.vouch === 'yes';
      if (vouches && form.how !== 'paid') return words.say('operation-form.vouch_paid_only');
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
      return words.say('operation-form.no_such');
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
  )}${askedOf(visit.words, wish).needsReason ? becauseField(visit.words) : null}<button${isPlain ? html` class="plain"` : null}>${button}</button></form>`;
}

/** What a wish is, and what follows from it. Without `consequence`, nothing does: it is asked for at once. */
export type Asked = Readonly<{
  what: string;
  consequence?: Html;
  button: string;
  needsSudo: boolean;
  needsReason: boolean;
  isDangerous?: boolean;
}>;

const looks = (words: Words, key: TextKey): Asked => ({
  what: words.say(key),
  button: words.say('operation-form.check'),
  needsSudo: false,
  needsReason: false,
});

const moves = { needsSudo: true, needsReason: true, isDangerous: true } as const;

export function askedOf(words: Words, wish: Wish): Asked {
  if ('isCheck' in wish && wish.isCheck) {
    return {
      reread: looks(words, 'operation-form.compare'),
      settle: looks(words, 'operation-form.settle_check'),
      resume_wallets: looks(words, 'operation-form.resume_check'),
    }[wish.kind];
  }
  switch (wish.kind) {
    case 'sweep_plan':
      return looks(words, 'operation-form.plan_sweeps');
    case 'sweep_run':
      return { ...textsOf(words, 'sweep'), ...moves, needsReason: false };
    case 'reread':
      return { ...textsOf(words, 'reread'), needsSudo: false, needsReason: true };
    case 'adopt':
      return { ...textsOf(words, 'adopt'), ...moves };
    case 'settle':
      return settleAsked(words, wish);
    case 'resume_wallets':
      return { ...textsOf(words, 'resume'), ...moves };
    case 'freeze_signer':
      return {
        what: words.say('operation-form.freeze_signer'),
        consequence: words.html('operation-form.freeze_signer_text'),
        button: words.say('operation-form.freeze_button'),
        ...moves,
        needsSudo: false,
      };
  }
}

type Act = 'sweep' | 'reread' | 'adopt' | 'resume' | 'settle_paid' | 'settle_again' | 'settle_never';

const textsOf = (words: Words, act: Act): Pick<Asked, 'what' | 'button'> & Readonly<{ consequence: Html }> => ({
  what: words.say(`operation-form.${act}`),
  consequence: words.html(`operation-form.${act}_text`),
  button: words.say(`operation-form.${act}_button`),
});

function settleAsked(words: Words, { paidBy, isRenewed, vouches }: Extract<Wish, { kind: 'settle' }>): Asked {
  const act = paidBy !== null ? 'settle_paid' : isRenewed ? 'settle_again' : 'settle_never';
  const vouched = paidBy !== null && vouches && { consequence: words.html('operation-form.vouch_text') };
  return { ...textsOf(words, act), ...moves, ...vouched };
}

/** Says why nothing was asked for. */
export function askRefusal(words: Words, why: Exclude<AskOutcome, 'requested' | 'already'>): string {
  switch (why) {
    case 'too_many':
      return words.say('operation-form.too_many', { count: OPEN_MAX });
    case 'plan_old':
      return words.say('operation-form.plan_old', { count: PLAN_MS_MAX / 60_000 });
    default:
      return words.say(`operation-form.${why}`);
  }
}
