/**
 * Resolves a payout that does not end by itself: paid by a transaction, never paid, or tried again. All of it is
 * verified on the chain.
 */
import { type ExitParts, retry, settleNever, settlePaid } from '../../indexers/payouts/exits.ts';
import { chains } from '../../src/chains/index.ts';
import type { Payout } from '../../src/core/payout.ts';
import { type Answer, type Command, dryRunOption, type Input, requiredReason, textOption, usage } from './command.ts';
import { networkOf } from './network-name.ts';
import { adoptIfBehind, unknownPayout, withPayoutAccess } from './payouts.ts';

type Wish =
  | Readonly<{ kind: 'paid'; tx: string; isAgreed: boolean }>
  | Readonly<{ kind: 'never' | 'retry'; others: readonly string[] }>;

export const payoutsResolve: Command = {
  name: 'payout resolve',
  needsSandbox: true,
  args: ['id'],
  summary: 'Resolve a payout as the chain shows it: paid by a transaction, never paid, or to be tried again.',
  options: {
    paid: { value: 'TRANSACTION', help: 'this final transaction paid it: the refund is completed by it' },
    never: { help: 'nothing paid it, and nothing signed for it can: it fails, and its amount can be refunded again' },
    retry: { help: 'its cause is mended: it is looked at again, or signed again where nothing has paid it or can' },
    yes: { help: 'with --paid: agree that it paid, although its record shows no payment' },
    tx: { value: 'TX,…', help: 'with --never or --retry: these transfers, which equal it, were another payment' },
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
    const { database, config } = installation;
    const id = input.args[0] ?? '';
    const payout = await database.payouts.find(id);
    if (!payout) throw unknownPayout(id);
    const network = networkOf(config.networks, payout.network);
    const wish = readWish(input, (tx) => chains[network.family].transactionId(tx), network.key);
    const isDryRun = input.options['dry-run'] === true;
    return withPayoutAccess(network, installation, async (access) => {
      await adoptIfBehind(network, input, installation, access);
      const parts = { ...access, database, act: input.act, isDryRun };
      return resolve(parts, (await database.payouts.find(id)) ?? payout, wish);
    });
  },
};

async function resolve(parts: ExitParts, payout: Payout, wish: Wish): Promise<Answer> {
  const { id } = payout;
  const { isDryRun } = parts;
  const is = isDryRun ? 'would be' : 'is';
  const json = { id, resolved: wish.kind, dry_run: isDryRun };
  if (wish.kind === 'paid') {
    const { feeUnits } = await settlePaid(parts, payout, wish.tx, wish.isAgreed);
    const paid = { ...json, transaction_hash: wish.tx, fee_units: feeUnits.toString() };
    return { json: paid, lines: [`${id} ${is} settled: paid by ${wish.tx}`] };
  }
  if (wish.kind === 'never') {
    await settleNever(parts, payout, wish.others);
    return { json, lines: [`${id} ${is} ended: it was never paid`] };
  }
  await retry(parts, payout, wish.others);
  return { json, lines: [`${id} ${is} tried again; \`quayside show ${id}\` shows it`] };
}

/** @throws Fault permanent `usage` unless exactly one of --paid, --never and --retry is given */
function readWish(input: Input, read: (tx: string) => string | null, network: string): Wish {
  const paid = textOption(input, 'paid');
  const { never, retry: again } = input.options;
  if ([paid !== undefined, never === true, again === true].filter(Boolean).length !== 1)
    throw usage('say one of --paid TRANSACTION, --never and --retry');
  const readTx = (option: string, text: string): string => {
    const tx = read(text.trim());
    if (tx === null) throw usage(`--${option} has "${text}", which is no transaction id of ${network}`);
    return tx;
  };
  if (paid !== undefined) return { kind: 'paid', tx: readTx('paid', paid), isAgreed: input.options.yes === true };
  const words = (textOption(input, 'tx') ?? '').split(',').filter(Boolean);
  return { kind: never === true ? 'never' : 'retry', others: words.map((word) => readTx('tx', word)) };
}
