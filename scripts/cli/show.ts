/**
 * Shows one thing, whatever it is: recognises what was pasted, prints the way of a payment from block to
 * delivery and refund, and names the link that is broken.
 */
import { createRefundApprovals } from '../../src/app/refund-approvals.ts';
import { parseSessionId } from '../../src/lib/id.ts';
import { type Answer, type Command, notFound } from './command.ts';
import { networkOf } from './network-name.ts';
import { firstBroken, type Link, link, type Mark, type Shown, worstMark } from './show-link.ts';
import { heldShown, payoutShown, refundShown } from './show-money-out.ts';
import { networkShown } from './show-network.ts';
import { addressLinks, namesOf, sessionShown } from './show-payment.ts';
import { openScene, type Scene } from './show-scene.ts';
import { candidatesOf, transactionLink } from './show-transaction.ts';
import { deliveryShown, endpointShown, eventShown } from './show-webhook.ts';

export const show: Command = {
  name: 'show',
  args: ['thing'],
  summary: 'Show anything: what became of it, which link is broken, and what to do.',
  options: {
    request: { help: 'of a refund above the signer’s caps: print only what an approver is to sign' },
  },
  notes: [
    'A thing is a session, an order, a transaction, an address, a refund, a payout, held money, an event, a delivery, an',
    'endpoint or a network, by its id or name. ✓ done, … goes on with time, ✗ broken, · note.',
    'Exit codes: 0 nothing is broken, 1 something is, 3 it is not known here.',
  ],
  needsSandbox: true,
  async run(input, installation) {
    const scene = await openScene(installation);
    if (input.options.request === true) return approvalRequest(scene, String(input.args[0]));
    const text = (input.args[0] ?? '').trim();
    const sessions = await sessionsNamed(scene, text);
    if (sessions.length > 0) return answer(sessions, true);
    const named = await recordNamed(scene, text);
    if (named) return answer([named], true);
    const candidates = candidatesOf(text);
    if (candidates.length > 0) {
      const { root, isKnown } = await transactionLink(scene, text, candidates);
      return answer([{ kind: 'transaction', json: {}, links: [root] }], isKnown);
    }
    const names = namesOf(text);
    if (names.length === 0)
      throw notFound(`nothing here is called "${text}", and it has the form of no transaction or address`);
    const { links, isKnown } = await addressLinks(scene, names);
    return answer([{ kind: 'address', json: {}, links }], isKnown);
  },
};

/** Prints what approvers sign for a refund. @throws Fault permanent `not_found` */
async function approvalRequest(scene: Scene, id: string): Promise<Answer> {
  const refund = await scene.database.refunds.findBy({ id });
  if (!refund) throw notFound(`there is no refund ${id}; \`quayside refund list\` shows all`);
  const lines = await createRefundApprovals(scene).request(refund);
  return { json: JSON.parse(lines.join('\n')), lines };
}

/** Returns the session with this id, or the sessions of this order. */
async function sessionsNamed(scene: Scene, text: string): Promise<Shown[]> {
  const { database } = scene;
  const id = parseSessionId(text);
  const ids = [...new Set([...(id ? [id] : []), ...(await database.traces.sessionsOfOrder(text))])];
  const sessions = await Promise.all(ids.map((one) => database.sessions.find(one)));
  return Promise.all(sessions.flatMap((session) => (session ? [sessionShown(scene, session)] : [])));
}

/** Returns what has this id or name; null if nothing has. */
async function recordNamed(scene: Scene, text: string): Promise<Shown | null> {
  const { networks } = scene.config;
  const isNetwork = networks.some(({ key, name }) => key === text || name === text);
  const place = isNetwork ? scene.places.get(networkOf(networks, text).key) : undefined;
  if (place) return networkShown(place, scene.nowMs);
  return (
    (await refundShown(scene, text)) ??
    (await payoutShown(scene, text)) ??
    (await heldShown(scene, text)) ??
    (await endpointShown(scene, text)) ??
    (await deliveryShown(scene, text)) ??
    (await eventShown(scene, text))
  );
}

/** Prints what was found. Several sessions of one order are a list for programs. */
function answer(found: readonly Shown[], isKnown: boolean): Answer {
  const roots = found.flatMap(({ links }) => links);
  const all = link('', 'note', '', null, roots);
  const broken = firstBroken(all);
  const worst = worstMark(all);
  const finding = isKnown ? (worst === 'note' ? 'ok' : worst) : 'not_found';
  const [only, ...others] = found;
  const facts =
    others.length === 0
      ? { ...only?.json, kind: only?.kind }
      : { kind: 'order', sessions: found.map(({ json }) => json) };
  const parts = [
    ...found.flatMap(({ lines = [], links }) => [lines, links.flatMap((root) => treeLines(root))]),
    roots.length > 0 ? verdictLines(broken, finding) : [],
  ].filter(({ length }) => length > 0);
  return {
    json: { ...facts, finding, broken, links: roots },
    lines: parts.flatMap((lines, place) => (place === 0 ? lines : ['', ...lines])),
    code: !isKnown ? 3 : broken ? 1 : 0,
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
