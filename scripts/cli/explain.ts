/**
 * Explains one payment: walks from block to delivery, and names the link that is broken.
 * @module
 */

import { parseSessionId } from '../../src/lib/session-id.ts';
import { type Answer, type Command, notFound } from './command.ts';
import { addressLinks, foreignLink, namesOf } from './explain-address.ts';
import { firstBroken, type Link, link, type Mark, worstMark } from './explain-link.ts';
import { openScene, type Scene } from './explain-scene.ts';
import { sessionLink } from './explain-session.ts';
import { candidatesOf, transactionLink } from './explain-transaction.ts';

export const explain: Command = {
  name: 'explain',
  args: ['session|order|transaction|address'],
  summary: 'Explain a payment: from block to delivery and refund, which link is broken, and what to do.',
  options: { 'ask-node': { help: 'ask the configured nodes about a transaction that is not known here' } },
  notes: [
    'Reads the database only, unless --ask-node is given. ✓ done, … goes on with time, ✗ broken, · note.',
    'Exit codes: 0 nothing is broken, 1 something is, 3 it is not known here (or, with --ask-node, to any node).',
  ],
  needsSandbox: true,
  async run(input, installation) {
    const scene = await openScene(installation);
    const text = (input.args[0] ?? '').trim();
    const sessions = await sessionsNamed(scene, text);
    if (sessions.length > 0) return answer(sessions, true);
    const candidates = candidatesOf(text);
    if (candidates.length > 0) {
      const { root, isKnown } = await transactionLink(scene, text, candidates, input.options['ask-node'] === true);
      return answer([root], isKnown);
    }
    const names = namesOf(text);
    if (names.length === 0) {
      throw notFound(
        `"${text}" is no session or order here, and has the form of no transaction or address; check it, and the data directory`,
      );
    }
    const own = await addressLinks(scene, names);
    return own.length > 0 ? answer(own, true) : answer([foreignLink(scene, names)], false);
  },
};

/** Returns the session with this id, or the sessions of this order. */
async function sessionsNamed(scene: Scene, text: string): Promise<Link[]> {
  const { database } = scene;
  const id = parseSessionId(text);
  const ids = [...new Set([...(id ? [id] : []), ...(await database.sessionsOfOrder(text))])];
  const sessions = await Promise.all(ids.map((one) => database.findSession(one)));
  return Promise.all(sessions.flatMap((session) => (session ? [sessionLink(scene, session)] : [])));
}

function answer(roots: readonly Link[], isKnown: boolean): Answer {
  const all = link('session', 'note', '', null, roots);
  const broken = firstBroken(all);
  const worst = worstMark(all);
  const finding = isKnown ? (worst === 'note' ? 'ok' : worst) : 'not_found';
  return {
    json: { finding, broken, links: roots },
    lines: [...roots.flatMap((root) => treeLines(root)), '', ...verdictLines(broken, finding)],
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
