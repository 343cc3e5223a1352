/**
 * Resolves a payout that does not end by itself: paid by a transaction, never paid, or tried again. All of it is
 * verified on the chain.
 */
import { type ExitParts, retry, settleNever, settlePaid } from '../../indexers/payouts/exits.ts';
import { type Command, dryRunOption, recordAnswer, requiredReason, usage } from './command.ts';
import { networkOf, transactionsOf } from './network-name.ts';
import { adoptIfBehind, unknownPayout, withPayoutAccess } from './payouts.ts';

export const payoutsResolve: Command = {
  name: 'payout resolve',
  needsSandbox: true,
  args: '<id>',
  summary: 'Resolve a payout as the chain shows it: paid by a transaction, never paid, or to be tried again.',
  options: {
    paid: { value: 'TRANSACTION', help: 'this final transaction paid it: the refund is completed by it' },
    never: { help: 'nothing paid it, and nothing signed for it can: it fails, and its amount can be refunded again' },
    retry: { help: 'its cause is fixed: it is looked at again, or signed again where nothing has paid it or can' },
    yes: { help: 'with --paid: agree that it paid, although its record shows no payment' },
    tx: { value: 'TX,…', help: 'with --never or --retry: these transfers, which equal it, were another payment' },
    reason: requiredReason,
    dryRun: dryRunOption,
  },
  notes: [
    '--paid needs a transaction of our wallet that is final on each node (url and witness_url), pays exactly this ' +
      'token, amount and address, and is no attempt of another payout.',
    '--never needs every attempt of every generation to be final without effect: failed, expired, or its nonce used by ' +
      'another transaction that did not pay it. A refund then fails with the reason rejected_by_operator, and the merchant ' +
      'can request its amount again, once; the money of a sweep is swept again.',
    '--retry frees nothing: the same payout is paid. It is signed again only where --never would end it.',
  ],
  async run(input, installation) {
    const { database, config } = installation;
    const id = input.args[0] ?? '';
    const payout = await database.payouts.find(id);
    if (!payout) throw unknownPayout(id);
    const network = networkOf(config.networks, payout.network);
    const { dryRun, yes } = input.options;
    const exits = (['paid', 'never', 'retry'] as const).filter((one) => input.options[one] !== undefined);
    const [exit, other] = exits;
    const [paidBy = '', ...more] = transactionsOf(input, 'paid', network);
    if (!exit || other || more.length > 0 || (exit === 'paid') !== (paidBy !== ''))
      throw usage('say one of --paid TRANSACTION, --never and --retry');
    const others = transactionsOf(input, 'tx', network);
    const isDryRun = dryRun === true;
    const json = { id, resolved: exit, dry_run: isDryRun };
    return withPayoutAccess(network, installation, async (access) => {
      await adoptIfBehind(network, input, installation, access);
      const parts: ExitParts = { ...access, database, act: input.act, isDryRun };
      const now = (await database.payouts.find(id)) ?? payout;
      if (exit === 'paid') {
        const { feeUnits } = await settlePaid(parts, now, paidBy, yes === true);
        return recordAnswer({ ...json, transaction_hash: paidBy, fee_units: feeUnits.toString() });
      }
      await (exit === 'never' ? settleNever : retry)(parts, now, others);
      return recordAnswer(json);
    });
  },
};
