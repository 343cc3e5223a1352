/**
 * Settles a payout by hand: as paid by a transaction, or as never paid. Both are verified on the chain.
 * @module
 */
import { equalText, settleNever, settlePaid } from '../../indexers/payouts/exits.ts';
import { chains } from '../../src/chains/index.ts';
import { type Command, operatorAct, reasonOption, textOption, usage } from './command.ts';
import { networkOf } from './network-name.ts';
import { withPayoutAccess } from './payout-access.ts';
import { adoptIfBehind, unknownPayout } from './payouts.ts';

export const payoutsSettle: Command = {
  name: 'payouts settle',
  needsSandbox: true,
  args: ['id'],
  summary: 'End a payout as the chain shows it: paid by a transaction, or never paid. Verified with every node.',
  options: {
    paid: { value: 'TRANSACTION', help: 'this final transaction paid it: the refund is completed by it' },
    vouch: { help: 'with --paid: an attempt of its own paid it, although its record on the chain does not show that' },
    never: { help: 'nothing paid it, and nothing signed for it can: it fails, and its amount can be refunded again' },
    again: { help: 'with --never: instead of failing, it is signed and paid once more' },
    yes: {
      help: 'with --never: also if an acknowledged transfer (`payouts thaw`) has paid the same to the same address',
    },
    reason: reasonOption,
    'dry-run': { help: 'verify, show what would be done, and change nothing' },
  },
  notes: [
    '--paid needs a transaction of our wallet that is final on each node (url and witness_url), pays exactly this',
    'token, amount and address, and is no attempt of another payout.',
    '--never needs every attempt of every generation to be final without effect: failed, expired, or its number used by',
    'another transaction that did not pay it. A refund then fails with the reason rejected_by_operator, and the merchant',
    'can request its amount again, once; the money of a sweep is swept again. With --again nothing is freed: the same',
    'payout is paid in a new generation.',
  ],
  async run(input, installation) {
    const { database, config, clock } = installation;
    const id = input.args[0] ?? '';
    const payout = await database.findPayout(id);
    if (!payout) throw unknownPayout(id);
    const network = networkOf(config.networks, payout.network);
    const wish = readWish(input.options.never === true, textOption(input, 'paid'), input.options);
    const tx = wish.paid === null ? null : chains[network.family].transactionId(wish.paid);
    if (wish.paid !== null && tx === null) {
      throw usage(`--paid is "${wish.paid}", which is no transaction id of ${network.key}`);
    }
    const isDryRun = input.options['dry-run'] === true;
    const act = operatorAct(payoutsSettle, input, clock);
    if (act.reason === null) throw usage('--reason is required: the audit log keeps why a payout was settled by hand');
    return withPayoutAccess(network, installation, async (access) => {
      await adoptIfBehind(network, installation, access.signer, isDryRun);
      const parts = { ...access, database, act, isDryRun };
      const current = (await database.findPayout(id)) ?? payout;
      if (tx !== null) {
        const { feeUnits } = await settlePaid(parts, current, tx, wish.vouches);
        const json = { id, settled: 'paid', transaction_hash: tx, fee_units: feeUnits.toString(), dry_run: isDryRun };
        return { json, lines: [`${id} ${isDryRun ? 'would be' : 'is'} settled: paid by ${tx}`] };
      }
      const { despite } = await settleNever(parts, current, { ...wish, isAgreed: input.options.yes === true });
      const done = wish.isRenewed ? 'paid again: nothing has paid it, and nothing can' : 'ended: it was never paid';
      const json = { id, settled: wish.isRenewed ? 'again' : 'never', transaction_hash: null, dry_run: isDryRun };
      const agreed = despite ? [`with your word that ${id} is another payment: ${equalText(despite)}`] : [];
      return { json, lines: [`${id} ${isDryRun ? 'would be' : 'is'} ${done}`, ...agreed] };
    });
  },
};

/** @throws Fault permanent `usage` unless exactly one of --paid and --never is given */
function readWish(isNever: boolean, paid: string | undefined, { vouch, again }: Readonly<Record<string, unknown>>) {
  if (isNever === (paid !== undefined)) throw usage('say either --paid <transaction> or --never');
  if (vouch === true && paid === undefined) throw usage('--vouch belongs to --paid');
  if (again === true && !isNever) throw usage('--again belongs to --never');
  return { paid: paid ?? null, vouches: vouch === true, isRenewed: again === true };
}
