/**
 * Shows one thing, whatever it is: recognises what was pasted, prints the way of a payment from block to
 * delivery and refund, and names the link that is broken.
 */
import { createRefundApprovals } from '../../src/app/refund-approvals.ts';
import { type Answer, type Command, notFound } from './command.ts';
import { findAddress, findTransaction } from './show-address.ts';
import {
  type Finder,
  firstBroken,
  type Link,
  link,
  type Mark,
  readPlaces,
  type Scene,
  type Shown,
  worstMark,
} from './show-link.ts';
import { findHeld, findPayout, findRefund } from './show-money-out.ts';
import { findFollowed } from './show-network.ts';
import { findSessions } from './show-payment.ts';
import { findDelivery, findEndpoint, findEvent } from './show-webhook.ts';

/** The nouns, in the order in which a text is tried as the name of one. */
const nouns: readonly Finder[] = [
  ...[findSessions, findFollowed, findRefund, findPayout, findHeld, findEndpoint, findDelivery, findEvent],
  ...[findTransaction, findAddress],
];

export const show: Command = {
  name: 'show',
  args: ['thing'],
  summary: 'Show anything: what became of it, which link is broken, and what to do.',
  options: {
    request: { help: 'of a refund above the signer’s caps: print only what an approver is to sign' },
  },
  notes: [
    'A thing is a session, an order, a transaction, an address, a refund, a payout, held money, an event, a delivery, an',
    'endpoint or a network, by its id or name. ✓ done, … goes on with time, ✗ broken, · note. --json has its whole record.',
    'Exit codes: 0 nothing is broken, 1 something is, 3 it is not known here.',
  ],
  needsSandbox: true,
  async run(input, installation) {
    const { config, database, clock } = installation;
    const places = await readPlaces(database, config.networks);
    const scene = { ...installation, nowMs: clock.nowMs(), places };
    if (input.options.request === true) return approvalRequest(scene, String(input.args[0]));
    const text = (input.args[0] ?? '').trim();
    for (const find of nouns) {
      const found = await find(scene, text);
      if (found.length > 0) return answer(found);
    }
    throw notFound(`nothing here is called "${text}", and it has the form of no transaction or address`);
  },
};

/** Prints what approvers sign for a refund. @throws Fault permanent `not_found` */
async function approvalRequest(scene: Scene, id: string): Promise<Answer> {
  const refund = await scene.database.refunds.findBy({ id });
  if (!refund) throw notFound(`there is no refund ${id}; \`quayside refund list\` shows all`);
  const lines = await createRefundApprovals(scene).request(refund);
  return { json: JSON.parse(lines.join('\n')), lines };
}

/** Prints what was found. Several sessions of one order are a list for programs. */
function answer(found: readonly Shown[]): Answer {
  const roots = found.flatMap(({ links }) => links);
  const all = link('', 'note', '', null, roots);
  const broken = firstBroken(all);
  const worst = worstMark(all);
  const isForeign = found.some((one) => one.isForeign);
  const finding = isForeign ? 'not_found' : worst === 'note' ? 'ok' : worst;
  const [only, ...others] = found;
  const facts =
    others.length === 0
      ? { ...only?.json, kind: only?.kind }
      : { kind: 'order', sessions: found.map(({ json }) => json) };
  return {
    json: { ...facts, finding, broken, links: roots },
    lines: [...roots.flatMap((root) => treeLines(root)), '', ...verdictLines(broken, finding)],
    code: isForeign ? 3 : broken ? 1 : 0,
  };
}

function verdictLines(broken: Link | null, finding: string): string[] {
  if (finding === 'not_found') return ['not known here'];
  if (!broken) return [finding === 'waiting' ? 'nothing is broken; it goes on as shown above' : 'nothing is broken'];
  return [`broken: ${broken.step}: ${broken.text}`, ...(broken.next ? [`what to do: ${broken.next}`] : [])];
}

const signs: Readonly<Record<Mark, string>> = { ok: '✓', waiting: '…', broken: '✗', note: '·' };

/** Draws a link and those below it. `first` begins its own line, `rest` the lines below. */
function treeLines(one: Link, first = '', rest = ''): string[] {
  const children = one.links ?? [];
  const below = children.length > 0 ? '│ ' : '  ';
  const last = children.length - 1;
  return [
    `${first}${signs[worstMark(one)]} ${one.step}: ${one.text}`,
    ...(one.next ? [`${rest}${below}  → ${one.next}`] : []),
    ...children.flatMap((child, place) =>
      treeLines(child, `${rest}${place === last ? '└─' : '├─'}`, `${rest}${place === last ? '  ' : '│ '}`),
    ),
  ];
}
