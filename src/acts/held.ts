/** Decisions about held money: it is accepted, or returned as a payout of its own. */
import { type HeldKind, type HeldPart, openPar } from '../core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS, shownUnits } from '../core/money.ts';
import { type Currency, currencies, type NetworkKey } from '../core/transfer.ts';
import type { AcceptHeldOutcome, HeldMoney, ReturnHeldOutcome } from '../database/held-money.ts';
import {
  type Context,
  defineAct,
  type Field,
  isRefusal,
  oneOf,
  type Refusal,
  refuse,
  type Sentence,
  say,
  textOf,
} from './act.ts';
import {
  ADDRESS_CHARS_MAX,
  aboveDailyLimit,
  addressFault,
  amountText,
  minorText,
  readAddress,
  shownMinor,
  storeSuspended,
  titleOf,
} from './refund-words.ts';

export const parText = (par: bigint): string => formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS);
/** Returns an amount of stablecoins at par, exact. */
export const coins = (par: bigint): string => shownUnits(par, PAR_DECIMALS);

/** Returns what is still to be decided about; if nothing is, what was. */
export const heldAmount = (held: HeldMoney): string =>
  `${coins(held.state === 'open' ? openPar(held) : held.settledPar)} ${held.currency}`;

export const meanings: Readonly<Record<HeldKind, string>> = {
  late: 'came after the deadline, or after a cancel',
  short: 'the session ended with too little',
  surplus: 'more than was due',
  wrong_token: 'in a coin that the session does not take',
};

/** Returns what becomes of held money, with its returns. */
export function heldState({ state, returns }: HeldMoney): HeldMoney['state'] | 'returning' | 'returned' {
  if (state !== 'gone') return state;
  if (returns.some(({ status }) => status === 'pending' || status === 'processing')) return 'returning';
  return returns.some(({ status }) => status === 'completed') ? 'returned' : state;
}

/** Returns held money for programs. */
export const heldJson = (held: HeldMoney) => ({
  id: held.id,
  kind: held.kind,
  state: heldState(held),
  amount: parText(openPar(held)),
  currency: held.currency,
  settled: parText(held.settledPar),
  session: held.sessionId,
  order: held.orderId,
  store: held.storeId,
  mode: held.mode,
  since: textOf({ atMs: held.openedAtMs }),
  settled_at: held.settledAtMs === null ? null : textOf({ atMs: held.settledAtMs }),
});

/** Returns the commands that decide about held money. */
export const heldAdvice = (id: string): string =>
  `\`quayside held accept ${id} --reason …\`, or \`quayside held return ${id} --to ADDRESS --reason …\``;

const heldField = { label: say('Held'), help: 'its id', isArgument: true } as const satisfies Field;

const isDecided = refuse('refused', say('It is decided already.'));

/** Returns held money that the page, or the operator, may decide about. */
async function findOpen({ database, scope }: Context, id: string): Promise<HeldMoney | Refusal> {
  const held = await database.held.find(id);
  if (!held || (scope && (held.storeId !== scope.storeId || held.mode !== scope.mode))) {
    const values = { id };
    return refuse('not_found', say('There is no held money {id}; `quayside held list --state any` shows all.', values));
  }
  return held.state === 'open' ? held : isDecided;
}

type Accepted = Extract<AcceptHeldOutcome, Readonly<{ kind: 'done' }>>;

/** Returns what accepting does to the payment. */
export function acceptEffect({ effect, after }: Accepted): Sentence {
  const [has, due] = [coins(after.confirmedPar), coins(after.duePar)];
  if (effect === 'credited') return say('{has} of {due} count; the payment waits for the rest.', { has, due });
  return effect === 'paid'
    ? say(
        'The payment is paid with {has} of {due}, and your shop gets the event. It stays with you; a paid payment can be refunded.',
        { has, due },
      )
    : say('The payment stays as it is, and the money with you; a paid payment can be refunded.');
}

export const acceptHeld = defineAct({
  name: 'held accept',
  summary: 'Accept held money: the session is paid with it, or it is settled where nothing is left to pay.',
  needs: 'held:decide',
  asks: 'second factor',
  fields: { held: heldField },
  async plan(context, { held: id }) {
    const held = await findOpen(context, id);
    if (isRefusal(held)) return held;
    const tried = await context.database.held.accept(id, context.act, true);
    return tried.kind === 'done' ? tried : isDecided;
  },
  review: (tried) => ({
    title: say('Accept {amount}?', { amount: heldAmount(tried.held) }),
    target: tried.held.id,
    notes: [acceptEffect(tried), say('This cannot be taken back.')],
    button: say('Accept {amount}', { amount: heldAmount(tried.held) }),
  }),
  async run({ database, act }, { held: { id } }) {
    const done = await database.held.accept(id, act, false);
    if (done.kind !== 'done') return isDecided;
    const { effect, after } = done;
    return { said: say('It is accepted.'), json: { effect, status: after.status, paid_late: after.paidLate } };
  },
});

const readCurrency = oneOf(currencies);

/** Undefined stands for whatever there is. */
type Wish = Readonly<{
  held: string;
  to: string;
  network?: NetworkKey | undefined;
  currency?: Currency | undefined;
}>;

export const nothingReturnable = say('Less than one cent of it is left in each coin, so nothing can be returned.');

/** Returns what can be returned of it, one coin on one network at a time. */
export async function returnableParts(context: Context, held: string): Promise<readonly HeldPart[]> {
  // No part is on a network of this name, so the outcome lists them all.
  const tried = await order(context, { held, to: '', network: 'test:' }, true);
  return tried.kind === 'choose' ? tried.parts : [];
}

const order = async (
  { database, act, personId, destinationCheck }: Context,
  { held: id, to, network, currency }: Wish,
  isDryRun: boolean,
): Promise<ReturnHeldOutcome> =>
  database.held.giveBack(
    {
      id,
      to,
      ...(network && { network }),
      ...(currency && { currency }),
      act,
      requestedBy: personId,
      isDryRun,
    },
    await destinationCheck(),
  );

export const returnHeld = defineAct({
  name: 'held return',
  summary: 'Send held money back from the refund wallet; if that fails, it is held again.',
  needs: 'held:decide',
  asks: 'second factor',
  needsReason: true,
  fields: {
    held: heldField,
    to: {
      label: say('To the address'),
      hint: say('Ask the payer for an address: the one that it came from may belong to an exchange.'),
      help: 'the address to pay; that of the sender may be an exchange’s',
      value: 'ADDRESS',
      isRequired: true,
      charsMax: ADDRESS_CHARS_MAX,
      read: readAddress,
    },
    network: {
      label: say('Network'),
      help: 'only what came on this network, such as live:mychain',
      value: 'KEY',
      read: (text: string) => text as NetworkKey,
    },
    currency: {
      label: say('Amount'),
      help: `only this coin: ${currencies.join(', ')}`,
      value: 'COIN',
      read: readCurrency,
    },
  },
  async plan(context, wish) {
    const { networks } = context;
    if (wish.network !== undefined && !networks.some(({ key }) => key === wish.network)) {
      const values = { network: wish.network };
      return refuse('usage', say('no network {network} is configured; `quayside status` shows all', values));
    }
    const held = await findOpen(context, wish.held);
    if (isRefusal(held)) return held;
    const tried = await order(context, wish, true);
    if (tried.kind !== 'done') return refusalOf(context, held, wish, tried);
    return { held, refund: tried.refund, wish, title: titleOf(networks, tried.refund.network) };
  },
  review: ({ held, refund, title }) => ({
    title: say('Return {amount}?', { amount: amountText(refund) }),
    target: held.id,
    facts: [
      [say('Amount'), amountText(refund)],
      [say('Network'), title],
      [say('To'), { address: refund.destination?.address ?? '' }],
    ],
    notes: [say('It is paid from the refund wallet, and cannot be taken back once it is signed.')],
    button: say('Return {amount}', { amount: amountText(refund) }),
    isDangerous: true,
  }),
  async run(context, { held, wish }) {
    const done = await order(context, wish, false);
    if (done.kind !== 'done') return refusalOf(context, held, wish, done);
    const { refund } = done;
    return {
      said: say('It is being returned.'),
      json: {
        return: refund.id,
        amount: minorText(refund.amountMinor),
        currency: refund.currency,
        network: refund.network,
        address: refund.destination?.address ?? '',
      },
      next: `show ${refund.id}`,
    };
  },
});

/** Returns why held money was not returned. */
async function refusalOf(
  context: Context,
  { id, sessionId, storeId }: HeldMoney,
  { network }: Wish,
  outcome: Exclude<ReturnHeldOutcome, Readonly<{ kind: 'done' }>>,
): Promise<Refusal> {
  const { database, networks, nowMs } = context;
  const refused = (because: Sentence) => refuse('refused', because);
  switch (outcome.kind) {
    case 'choose': {
      const parts = outcome.parts.map((part) => `${amountText(part)} (${part.network})`).join(', ');
      return refused(outcome.parts.length === 0 ? nothingReturnable : say('Choose what to return: {parts}', { parts }));
    }
    case 'bad_destination': {
      const chosen = network ?? (await returnableParts(context, id))[0]?.network ?? 'test:';
      return refused(addressFault(networks, chosen, outcome.why));
    }
    case 'store_suspended':
      return storeSuspended;
    case 'daily_limit':
      return aboveDailyLimit((await database.refunds.room(sessionId, nowMs))?.dayLeftMinor ?? null);
    case 'above_limit': {
      const amount = shownMinor(BigInt((await database.stores.values(storeId)).refundAutoMinor));
      return refused(
        say(
          'More than {amount} is not returned without an approval. Ask the operator of this installation: `quayside held return {id} --to ADDRESS`',
          { amount, id },
        ),
      );
    }
    case 'refunded':
      return refused(say('Refunds of its payment have used the money.'));
    default:
      return isDecided;
  }
}
