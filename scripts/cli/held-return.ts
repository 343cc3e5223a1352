/**
 * Sends held money back, as a payout of its own.
 * @module
 */
import { permanent } from '../../src/core/fault.ts';
import type { HeldPart } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS } from '../../src/core/money.ts';
import { currencies } from '../../src/core/transfer.ts';
import { createDestinationCheck } from '../../src/payments/destination.ts';
import { type Command, choiceOption, operatorAct, reasonOption, textOption, usage } from './command.ts';
import { amountOf, findHeld, whyNotOpen } from './held.ts';

export const heldReturn: Command = {
  name: 'held return',
  args: ['id'],
  summary: 'Send held money back from the refund wallet; if that fails, it is held again.',
  options: {
    to: { value: 'ADDRESS', help: 'the address to pay' },
    'to-sender': { help: 'pay the address that it came from, which may be an exchange’s' },
    network: { value: 'KEY', help: 'only what came on this network, such as live:mychain' },
    currency: { value: 'COIN', help: `only this coin: ${currencies.join(', ')}` },
    reason: reasonOption,
    'dry-run': { help: 'show what would be paid, and change nothing' },
  },
  notes: [
    'Whole cents of one coin on one network are returned at a time; --network and --currency choose among several.',
    'The signer’s caps apply: `quayside refunds approve` approves a return above them.',
    '`quayside refunds reject` takes it back while it waits and nothing that was signed for it can pay. It is paid once the',
    'money is final.',
  ],
  async run(input, { database, config, clock }) {
    const { 'dry-run': isDry, 'to-sender': isToSender } = input.options;
    const [to, network, isDryRun] = [textOption(input, 'to'), textOption(input, 'network'), isDry === true];
    if ((to === undefined) === (isToSender !== true)) throw usage('name one of --to ADDRESS and --to-sender');
    const chosen = config.networks.find(({ key }) => key === network);
    if (network !== undefined && !chosen) {
      throw usage(`no network ${network} is configured; \`quayside networks show\` shows all`);
    }
    const currency = textOption(input, 'currency') && choiceOption(input, 'currency', currencies);
    const act = operatorAct(heldReturn, input, clock);
    if (act.reason === null) throw usage('--reason is required: the audit log keeps why money was returned');
    const held = await findHeld(database, input.args[0] ?? '');
    const named = { id: held.id, to: to ?? null, requestedBy: null };
    const wish = { ...named, ...(chosen && { network: chosen.key }), ...(currency && { currency }) };
    const outcome = await database.returnHeldMoney({ ...wish, act, isDryRun }, await createDestinationCheck(config));
    const refuse = (why: string) => permanent('refused', `${held.id} cannot be returned: ${why}`);
    const show = `\`quayside held show ${held.id}\``;
    switch (outcome.kind) {
      case 'done': {
        const { refund } = outcome;
        const address = refund.destination?.address ?? '';
        return {
          json: {
            held: held.id,
            kind: held.kind,
            return: refund.id,
            amount: formatUnits(refund.amountMinor, MINOR_DECIMALS, MINOR_DECIMALS),
            currency: refund.currency,
            network: refund.network,
            address,
            address_from: refund.destination?.from ?? null,
            dry_run: isDryRun,
          },
          lines: [
            `${isDryRun ? 'would return' : 'returns'} ${partText(refund)} of session ${held.sessionId} to ${address}`,
            ...(isDryRun ? [] : [`\`quayside refunds show ${refund.id}\` shows how it goes on`]),
          ],
        };
      }
      case 'choose':
        throw refuse(
          outcome.parts.length === 0
            ? `there is less than one cent of it in each coin; ${show} shows its transfers`
            : `choose one part with --network and --currency: ${outcome.parts.map(partText).join(', ')}`,
        );
      case 'bad_destination':
        throw refuse(`${to} cannot be paid: ${outcome.why}`);
      case 'refunded':
        throw refuse(
          `refunds of its session have used the money; see \`quayside refunds list --session ${held.sessionId}\``,
        );
      case 'senders_differ':
        throw refuse(`it did not come from one address alone: name one with --to; ${show} shows its transfers`);
      case 'not_adopted':
        throw refuse(
          'this database was restored from a backup, and the money may have been returned before: run `quayside payouts reconcile <network>`',
        );
      default:
        throw refuse(`${amountOf(held)} ${whyNotOpen(held)}; ${show} shows what became of it`);
    }
  },
};

const partText = ({ amountMinor, currency, network }: Pick<HeldPart, 'amountMinor' | 'currency' | 'network'>): string =>
  `${formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS)} ${currency} on ${network}`;
