/**
 * Simulated nodes compared with recordings of real ones, as far as our clients ask: an answer has each field that every
 * recorded answer to the same call has, and no field, kind of value or error that none of them has.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { DialectName } from '../../src/sandbox/evm-dialect.ts';
import { paymentKinds } from '../../src/sandbox/transaction.ts';
import { gasOf, sweepOf, TOKENS, withClient } from '../chains/payout-bench.ts';
import { makeSimulatedPayouts } from '../chains/simulated-payouts.ts';
import type { FaultKind } from '../simulated/faults.ts';
import { closing } from '../support/closing.ts';
import { startLiar } from '../support/liar.ts';
import { type Json, readRecordings } from '../support/recordings.ts';
import { accountKeyOf, writtenBy } from '../support/simulated-node.ts';

const GETH = 'evm/geth-1.16.9';
/** The nodes whose answers were recorded, and which simulated one is like each. Of BSC's own there are few. */
const nodes: readonly (readonly [folder: string, family: Family, dialect?: DialectName, other?: string])[] = [
  [GETH, 'evm', 'ethereum'],
  ['evm/bsc-1.7.3', 'evm', 'bsc', GETH],
  ['tron/java-tron-4.8.0', 'tron'],
  ['solana/agave-3.1.5', 'solana'],
];

/** Parts that were recorded nowhere, or only in answers to other calls. */
const unlike: readonly RegExp[] = [
  /^eth_getBalance /,
  /^eth_feeHistory \.reward/,
  /^broadcasthex \.transaction is recorded only/,
  /^getaccountresource \.TotalNetWeight/,
  /^(getblock|gettransactioninfobyblocknum) .*(energy_penalty_total|net_usage|ILLEGAL_OPERATION|OUT_OF_\w+)/,
  /^getBlock \.transactions\[\]\.version/,
  /^getSignatureStatuses .*\.confirmations/,
];

// ── Comparing ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The lengths of addresses, hashes and blooms in hex. */
const FIXED = [40, 42, 64, 66, 514];

function kindOf(value: unknown): string {
  if (value === null || typeof value !== 'string') return value === null ? 'null' : typeof value;
  if (/^[A-Z_]{3,}$/.test(value)) return value;
  return FIXED.includes(value.length) && /^(0x)?[0-9a-f]+$/.test(value) ? `${value.length} hex digits` : 'text';
}

/** Returns the path and kind of every value in an answer; all items of a list are taken together. */
function shapeOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path}: ${kindOf(value)}`];
  if (Array.isArray(value)) return [`${path}: list`, ...value.flatMap((item) => shapeOf(item, `${path}[]`))];
  return [`${path}: object`, ...Object.entries(value).flatMap(([name, inner]) => shapeOf(inner, `${path}.${name}`))];
}

/** Returns a text without what differs on each chain: keys, hashes and numbers. */
const plain = (text: string): string =>
  text.replace(/\b(0x[0-9a-f]+|[0-9a-f]{40,}|[1-9A-HJ-NP-Za-km-z]{32,88})\b/gi, '…').replace(/\d+/g, '0');

const methodOf = (call: string): string => call.split('/').at(-1) ?? call;

type Heard = readonly [call: string, answer: Json];

/** Returns what an answer has: its error, or the shape of its result. */
function partsOf([call, answer]: Heard): string[] {
  const { error, Error: text } = answer ?? {};
  if (error || text) return [`error ${error?.code}: ${plain(error?.message ?? text)}`];
  return shapeOf(call.startsWith('/') ? answer : answer.result);
}

const pathOf = (part: string): string => part.slice(0, part.indexOf(':'));
/** Whether an answer is one of an object, whose fields can be missing. */
const isObject = (parts: readonly string[]): boolean => parts[0] === ': object' && parts.length > 1;

/** Returns the recorded answers of a folder. A batch has those to each of its calls, whose methods are not told. */
const recordedIn = (folder: string): Heard[] =>
  [...readRecordings(folder).values()]
    .filter(({ response }) => typeof response === 'object')
    .flatMap(({ path, method, response }) =>
      (path || method ? [response] : [response].flat()).map((one): Heard => [path || method, one]),
    );

/** Returns where answers differ from those of a node. Kinds of values and errors may be those of another one, too. */
function differences(heard: readonly Heard[], own: readonly Heard[], others: readonly Heard[]): string[] {
  const found = new Set<string>();
  const partsIn = (all: readonly Heard[], method: string): string[][] =>
    all.filter(([call]) => methodOf(call) === method).map(partsOf);
  const errors = [...own, ...others].flatMap(partsOf).filter((part) => part.startsWith('error '));
  for (const one of heard) {
    const method = methodOf(one[0]);
    const parts = partsOf(one);
    const real = partsIn(own, method);
    const known = new Set([...real, ...partsIn(others, method), errors].flat());
    for (const part of parts) if (!known.has(part)) found.add(`${method} ${part} is simulated only`);
    const objects = real.filter(isObject).map((all) => new Set(all.map(pathOf)));
    if (!isObject(parts) || objects.length === 0) continue;
    const paths = new Set(parts.map(pathOf));
    for (const path of paths)
      if (!objects.some((all) => all.has(path))) found.add(`${method} ${path} is simulated only`);
    for (const path of objects[0] ?? []) {
      const isAlways = !path.includes('[]') && objects.every((all) => all.has(path));
      if (isAlways && !paths.has(path)) found.add(`${method} ${path} is recorded only`);
    }
  }
  return [...found].sort();
}

// ── What clients ask ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Starts what hears each answer of a node. */
async function startListener(node: Readonly<{ httpUrl: string }>) {
  const heard: Heard[] = [];
  const { httpUrl: url, lies, close } = await startLiar(node);
  lies.text = (text, calls) => {
    const answer: Json = JSON.parse(text);
    const answers: Json[] = calls[0]?.startsWith('/') ? [answer] : [answer].flat();
    heard.push(...answers.map((one, at): Heard => [calls[at] ?? '', one]));
    return text;
  };
  return { heard, url, close };
}

async function open(family: Family, dialect?: DialectName) {
  const simulated = await makeSimulatedPayouts(family, 'recorded', dialect);
  const { heard, url, close } = await startListener(simulated.sandbox);
  const bench = withClient({ ...simulated, open: (more = {}) => simulated.open({ url, ...more }) });
  const { openNode } = await chains[family].node();
  const limits = { requestTimeoutMs: 10_000, responseBytesMax: 1 << 22, idleMsMax: 10_000, concurrencyMax: 4 };
  const follower = openNode({ url, tokens: bench.network.tokens, ...limits });
  return {
    ...bench,
    heard,
    follower,
    async close() {
      await follower.close();
      await close();
      await bench.close();
    },
  };
}

type Scene = Awaited<ReturnType<typeof open>>;

/** Reads a block with every kind of payment, as a follower does. */
async function follow({ sandbox, follower, mine, unknownTx }: Scene, family: Family): Promise<void> {
  await follower.identity();
  const payee = accountKeyOf(family, 'recorded payee');
  const txs = paymentKinds.map((kind, at) => sandbox.pay(payee, 5_000n + BigInt(at), kind));
  mine();
  const head = await follower.head();
  for (const isThorough of [true, false]) await follower.content(head, isThorough).catch(() => null);
  for (const tx of [...txs, unknownTx]) await follower.attest(head, [tx]);
  mine();
  await follower.content(await follower.head(), false);
  await follower.header(head.hash);
  await follower.header(writtenBy[family].hash('ab'.repeat(32))).catch(() => null);
  await follower.range(head.number - 3, head.number);
  await follower.range(head.number + 9, head.number + 9).catch(() => null);
  await follower.finalized();
  await follower.holdings([payee, accountKeyOf(family, 'nobody')], head).catch(() => null);
}

/** Pays, sweeps, lends gas, and has attempts that are refused, expire and are sent twice. */
async function payOut(scene: Scene, family: Family): Promise<void> {
  const { node, world, nativeUnits, giveNative, giveTokens, mine, prepare, carry, unpayable, outlive } = scene;
  const wallets = await scene.openFundedWallets();
  const quote = (intent: Parameters<typeof carry>[1]) => node.quote(wallets.draft(intent), 0, []);
  await quote(wallets.refund('USDT', TOKENS + 1n));
  for (const to of unpayable) await quote(wallets.refund('USDT', 5n, to));
  const refund = wallets.refund('USDT', 5n);
  const attempt = await prepare(wallets, refund);
  for (let times = 0; times < 2; times++) await node.broadcast(attempt.bytes);
  mine();
  assert.is((await scene.finalOutcome(wallets, refund, [attempt])).kind, 'succeeded');
  await node.broadcast(attempt.bytes);
  await node.balance(attempt.payer);

  const gasWallet = wallets.keyOf({ role: 'gas' });
  const owner = { index: 0, units: 5n };
  await giveTokens(wallets.keyOf({ role: 'collection', index: 0 }), owner.units);
  mine();
  await quote(sweepOf(owner));
  await giveNative(gasWallet, nativeUnits);
  if (family === 'tron') world.fund(gasWallet, 100n * nativeUnits, true);
  mine();
  const forms = { evm: ['transfer'], tron: ['transfer', 'delegate', 'reclaim'], solana: [] } as const;
  for (const form of forms[family])
    assert.is((await carry(wallets, gasOf(form, 0, nativeUnits / 10n))).kind, 'succeeded');
  assert.is((await carry(wallets, sweepOf(owner))).kind, 'succeeded');

  const late = wallets.refund('USDT', 9n);
  const unsent = await prepare(wallets, late);
  await outlive?.();
  await node.outcome(wallets.draft(late), [unsent]);
  await node.broadcast(unsent.bytes);
  await node.broadcast(unsent.bytes.with(10, (unsent.bytes[10] ?? 0) ^ 1)).catch(() => null);
}

/** Faults that an answer shows. */
const faults: readonly FaultKind[] = [
  ...(['finality_missing', 'states_gone', 'unknown_block', 'empty_content', 'blocks_lost', 'restarted'] as const),
  ...(['batch_limited', 'answers_limited', 'method_off', 'call_failed', 'failed_logs'] as const),
];

/** Asks a node that fails in each way. */
async function fail({ sandbox, follower, node, mine, ...scene }: Scene, family: Family): Promise<void> {
  const wallets = await scene.openFundedWallets();
  const refund = wallets.refund('USDT', 3n);
  const attempt = await scene.prepare(wallets, refund);
  for (const kind of faults) {
    const tx = sandbox.pay(accountKeyOf(family, kind), 5n, 'failed');
    mine();
    const head = await follower.head();
    sandbox.faults.set({ rates: { [kind]: 1 } });
    const asked = [
      () => follower.identity(),
      () => follower.head(),
      () => follower.finalized(),
      () => follower.range(head.number - 9, head.number),
      () => follower.content(head, true),
      () => follower.content(head, false),
      () => follower.attest(head, [tx]),
      () => node.quote(wallets.draft(refund), 0, []),
      () => node.count(attempt.payer),
      () => node.outcome(wallets.draft(refund), [attempt]),
      () => node.broadcast(attempt.bytes),
    ];
    for (const ask of asked) await ask().catch(() => null);
    sandbox.faults.heal();
  }
}

for (const [folder, family, dialect, other] of nodes) {
  test(`${folder}: the simulated node answers our clients alike`, async () => {
    const scene = closing(await open(family, dialect));
    await follow(scene, family);
    await payOut(scene, family);
    await fail(scene, family);
    const found = differences(scene.heard, recordedIn(folder), other ? recordedIn(other) : []);
    assert.equal(
      found.filter((one) => !unlike.some((known) => known.test(one))),
      [],
    );
  });
}

test.run();
