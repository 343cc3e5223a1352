/** Shows one thing, whatever it is: recognises what was pasted, and prints its record, its waits and its faults. */
import { approvalRequest } from '../../src/app/refund-approvals.ts';
import { countOf, findingLines } from '../nodes/finding.ts';
import { type Answer, type Command, notFound } from './command.ts';
import { findPayout, findRefund } from './show-money-out.ts';
import { type Finder, findFollowed, readPlaces, type Scene, type Shown } from './show-network.ts';
import { findAddress, findSessions, findTransaction } from './show-payment.ts';
import { findEndpoint } from './show-webhook.ts';
import { recordLines } from './table.ts';

/** The nouns, in the order in which a text is tried as the name of one. */
const nouns: readonly Finder[] = [
  findSessions,
  findFollowed,
  findRefund,
  findPayout,
  findEndpoint,
  findTransaction,
  findAddress,
];

/** The members of rows that people see, of lists that have more. */
const columns = {
  payments: ['network', 'amount', 'currency', 'confirmations', 'status', 'transaction_hash'],
  deliveries: ['event', 'id', 'state', 'attempts', 'last_answer', 'url'],
  held: ['id', 'kind', 'state', 'amount', 'currency', 'since'],
  refunds: ['id', 'refund_id', 'status', 'amount', 'currency', 'network', 'needs', 'transaction_hash'],
};

export const show: Command = {
  name: 'show',
  args: '<thing>',
  summary: 'Show what became of anything that has an id, what is wrong, and what to do.',
  options: {
    request: { help: 'of a refund above the signer’s caps: print only what an approver is to sign' },
  },
  notes: [
    'A thing is a session, an order, a transaction, an address, a refund, a payout, an endpoint or a network, by its id ' +
      'or name; of held money, an event or a delivery, its session is shown. … goes on with time, ✗ wrong, · note.',
    'Exit codes: 0 nothing is wrong, 1 something is, 3 it is not known here.',
  ],
  async run(input, installation) {
    const { config, database, clock } = installation;
    const places = await readPlaces(database, config.networks);
    const scene = { ...installation, nowMs: clock.nowMs(), places };
    if (input.options.request === true) return showRequest(scene, String(input.args[0]));
    const text = (input.args[0] ?? '').trim();
    for (const find of nouns) {
      const found = await find(scene, text);
      if (found.length > 0) return answer(found);
    }
    throw notFound(`nothing here is called "${text}", and it has the form of no transaction or address`);
  },
};

/** Prints what approvers sign for a refund. @throws Fault permanent `not_found` */
async function showRequest(scene: Scene, id: string): Promise<Answer> {
  const refund = await scene.database.refunds.findBy({ id });
  if (!refund) throw notFound(`there is no refund ${id}; \`quayside refund list\` shows all`);
  const lines = await approvalRequest(scene, refund);
  return { json: JSON.parse(lines.join('\n')), lines };
}

/** Prints what was found. Several sessions of one order, or refunds of one id, are a list for programs. */
function answer(found: readonly Shown[]): Answer {
  const findings = found.flatMap((one) => one.findings);
  const [only, ...others] = found;
  const facts =
    others.length === 0
      ? { ...only?.json, kind: only?.kind }
      : { kind: `${only?.kind}s`, [`${only?.kind}s`]: found.map(({ json }) => json) };
  return {
    json: { ...facts, findings },
    lines: [
      ...found.flatMap(({ kind, json, about = json }) => [...recordLines({ kind, ...about }, columns), '']),
      ...findingLines(findings),
    ],
    isBad: countOf(findings, 'error') > 0,
  };
}
