/**
 * Resolves a payout that does not end by itself: paid by a transaction, never paid, or tried again. All of it is
 * verified on the chain.
 */
import { type ExitParts, retry, settleNever, settlePaid } from '../../indexers/payouts/exits.ts';
import { chains } from '../../src/chains/index.ts';
import type { Payout } from '../../src/core/payout.ts';
import { equalTransferText } from '../../src/core/reasons.ts';
import type { EqualTransfer } from '../../src/database/payouts/outgoing.ts';
import {
  type Answer,
  type Command,
  dryRunOption,
  type Input,
  operatorAct,
  requiredReason,
  textOption,
  usage,
} from './command.ts';
import { networkOf } from './network-name.ts';
import { adoptIfBehind, unknownPayout, withPayoutAccess } from './payouts.ts';

type Wish = Readonly<{ kind: 'paid'; tx: string }> | Readonly<{ kind: 'never' | 'retry' }>;

export const payoutsResolve: Command = {
  name: 'payout resolve',
  needsSandbox: true,
  args: ['id'],
  summary: 'Resolve a payout as the chain shows it: paid by a transaction, never paid, or to be tried again.',
  options: {
    paid: { value: 'TRANSACTION', help: 'this final transaction paid it: the refund is completed by it' },
    never: { help: 'nothing paid it, and nothing signed for it can: it fails, and its amount can be refunded again' },
    retry: { help: 'its cause is mended: it is looked at again, or signed again where nothing has paid it or can' },
    yes: { help: 'agree to what the command has shown: an equal transfer, or a record that shows no payment' },
    reason: requiredReason,
    'dry-run': dryRunOption,
  },
  notes: [
    '--paid needs a transaction of our wallet that is final on each node (url and witness_url), pays exactly this',
    'token, amount and address, and is no attempt of another payout.',
    '--never needs every attempt of every generation to be final without effect: failed, expired, or its nonce used by',
    'another transaction that did not pay it. A refund then fails with the reason rejected_by_operator, and the merchant',
    'can request its amount again, once; the money of a sweep is swept again.',
    '--retry frees nothing: the same payout is paid. It is signed again only where --never would end it.',
  ],
  async run(input, installation) {
    const { database, config, clock } = installation;
    const id = input.args[0] ?? '';
    const payout = await database.payouts.find(id);
    if (!payout) throw unknownPayout(id);
    const network = networkOf(config.networks, payout.network);
    const wish = readWish(input, (tx) => chains[network.family].transactionId(tx), network.key);
    const isDryRun = input.options['dry-run'] === true;
    const isAgreed = input.options.yes === true;
    const act = operatorAct(payoutsResolve, input, clock);
    return withPayoutAccess(network, installation, async (access) => {
      await adoptIfBehind(network, installation, access, isDryRun);
      const parts = { ...access, database, act, isDryRun };
      return resolve(parts, (await database.payouts.find(id)) ?? payout, wish, isAgreed);
    });
  },
};

async function resolve(parts: ExitParts, payout: Payout, wish: Wish, isAgreed: boolean): Promise<Answer> {
  const { id } = payout;
  const { isDryRun } = parts;
  const is = isDryRun ? 'would be' : 'is';
  const json = { id, resolved: wish.kind, dry_run: isDryRun };
  if (wish.kind === 'paid') {
    const { feeUnits } = await settlePaid(parts, payout, wish.tx, isAgreed);
    const paid = { ...json, transaction_hash: wish.tx, fee_units: feeUnits.toString() };
    return { json: paid, lines: [`${id} ${is} settled: paid by ${wish.tx}`] };
  }
  if (wish.kind === 'never') {
    const equal = await settleNever(parts, payout, isAgreed);
    return { json, lines: [`${id} ${is} ended: it was never paid`, ...agreedText(id, equal)] };
  }
  const equal = await retry(parts, payout, isAgreed);
  return {
    json,
    lines: [`${id} ${is} tried again; \`quayside show ${id}\` shows it`, ...agreedText(id, equal)],
  };
}

const agreedText = (id: string, equal: EqualTransfer | null): string[] =>
  equal ? [`with your word that ${id} is another payment: ${equalTransferText(equal.tx)}`] : [];

/** @throws Fault permanent `usage` unless exactly one of --paid, --never and --retry is given */
function readWish(input: Input, read: (tx: string) => string | null, network: string): Wish {
  const paid = textOption(input, 'paid');
  const { never, retry: again } = input.options;
  if ([paid !== undefined, never === true, again === true].filter(Boolean).length !== 1)
    throw usage('say one of --paid TRANSACTION, --never and --retry');
  if (paid === undefined) return { kind: never === true ? 'never' : 'retry' };
  const tx = read(paid);
  if (tx === null) throw usage(`--paid is "${paid}", which is no transaction id of ${network}`);
  return { kind: 'paid', tx };
}
