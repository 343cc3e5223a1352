/**
 * The simulated Solana node answers what Quayside asks as the recorded one did: the same members of the same types in
 * the same order, and the same errors.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { solanaAddress } from '../../src/chains/solana/address.ts';
import { solanaOfflineKeys } from '../../src/chains/solana/offline-keys.ts';
import { solanaSpending } from '../../src/chains/solana/spend.ts';
import type { RefundIntent } from '../../src/core/intent.ts';
import { solanaMethods } from '../../src/sandbox/solana-methods.ts';
import { formatSignature } from '../../src/sandbox/solana-render.ts';
import type { FaultKind } from '../simulated/faults.ts';
import { refundIntent } from '../support/intents.ts';
import { readRecordings, theRecording } from '../support/recordings.ts';
import {
  accountKeyOf,
  SOLANA_CHAIN_ID,
  solanaTokenKeys,
  solanaTokens,
  startSimulatedNode,
} from '../support/simulated-node.ts';
import { signRecordedRefund } from './recorded-refund.ts';

const recordings = readRecordings('solana/agave-3.1.5');
const recording = (name: string) => theRecording(recordings, name);

const SOL = 1_000_000_000n;
const FINAL = 31;
/** Each wallet has a seed of its own. */
const seedOf = (wallet: number): Uint8Array => new Uint8Array(64).fill(wallet);
const [FUNDED, SHORT, TIGHT] = [1, 2, 3];
const walletOf = (wallet: number): string => solanaSpending.derive(seedOf(wallet), { role: 'refund' }).key;
const [treasury = '', payee = ''] = solanaOfflineKeys.derive(seedOf(FUNDED), 900, 2);
const FEE = 5_000n;
const LOCK = 650_240n;

const node = await startSimulatedNode({ family: 'solana', seed: 'shapes', isSkipped: (slot) => slot === 13 });
const { world, faults } = node;
test.after(() => node.close());
test.after.each(() => {
  faults.set({ rates: Object.fromEntries(Object.keys(faults.report().rates).map((kind) => [kind, 0])) });
});

/** Compared with the recordings so far. */
const compared = new Set<string>();

async function post(body: string, init: RequestInit = {}): Promise<{ status: number; body: string }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(node.httpUrl, { method: 'POST', headers, body, ...init });
  return { status: response.status, body: await response.text() };
}
async function ask(method: string, params: readonly unknown[]): Promise<string> {
  return (await post(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))).body;
}

/**
 * Returns every path to a value with the value's type, in the order of the text; all items of a list count as one. What
 * an error holds differs by its kind, an empty account has no float, and the simulation shows no inner calls.
 */
function shapeOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : value.flatMap((item) => shapeOf(item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [`${path} ${value === null ? 'null' : typeof value}`];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (/^(err|Err|innerInstructions|uiAmount|version)$/.test(name)) return [`${path}.${name}`];
    return shapeOf(inner, `${path}.${name}`);
  });
}
/** The result or error of an answer; what frames it is the same for every simulated node. */
function within(body: string): unknown {
  const { result, error } = JSON.parse(body);
  return error ?? result;
}
const plain = (body: string): string => JSON.stringify(within(body));
const shapes = (body: string): string[] => [...new Set(shapeOf(within(body)))];

/** Asserts that an answer has the recorded shape. */
function isShaped(body: string, name: string): void {
  compared.add(name);
  assert.equal(shapes(body), shapes(recording(name).text), name);
}

/** The text with what depends on the chain taken out: keys, hashes, places and most numbers. Codes of errors stay. */
const general = (text: string): string =>
  text
    .replace(/[1-9A-HJ-NP-Za-km-z]{32,88}/g, 'KEY')
    .replace(/("id":|Instruction |"InstructionError":\[|[Ss]lot(?:":| ))\d+/g, '$1N')
    .replace(/(?<!-)\b\d{2,}\b/g, 'N')
    .replace(/"logs":\[".*?"\](?=,"postBalances")/, '"logs":["…"]');
function isSame(body: string, name: string): void {
  compared.add(name);
  const [version, recordedVersion] = [
    recording('getVersion').response.result['solana-core'],
    /"apiVersion":"([\d.]+)"/.exec(body)?.[1],
  ];
  const recorded = recording(name).text.replaceAll(version, recordedVersion ?? version);
  assert.is(general(plain(body)), general(plain(recorded)), name);
}

let refunds = 0;
/** Returns a refund's bytes, signed on the newest block hash if nothing else is said. */
function bytesOf(
  change: { wallet?: number; to?: string; units?: bigint; blockhash?: string; id?: string; lock?: bigint } = {},
): Buffer {
  const { wallet = FUNDED, to = payee, units = 5n, id = `rf_${++refunds}`, blockhash = hashOfTip() } = change;
  const network = { chainId: SOLANA_CHAIN_ID, tokens: solanaTokens, treasury, feeUnitsMax: SOL };
  const intent: RefundIntent = refundIntent({ id, network: 'test:solana', to, units });
  const terms = {
    blockhash,
    last_valid_block_height: '100000',
    compute_unit_limit: '90000',
    compute_unit_price: '0',
    lock_lamports: String(change.lock ?? LOCK),
  };
  return Buffer.from(signRecordedRefund(seedOf(wallet), network, intent, terms).bytes);
}
const hashOfTip = (): string => solanaAddress.format(world.tip().hash);
const settings = { encoding: 'base64', skipPreflight: false, preflightCommitment: 'confirmed', maxRetries: 0 };
const send = (bytes: Buffer) => ask('sendTransaction', [bytes.toString('base64'), settings]);
const mine = (blocks = 1): void => {
  for (let left = blocks; left > 0; left--) world.mine();
};

test.before(() => {
  world.fund(walletOf(FUNDED), SOL);
  world.fund(walletOf(SHORT), LOCK);
  world.fund(walletOf(TIGHT), FEE + LOCK + 1_000n);
  for (const wallet of [FUNDED, SHORT, TIGHT]) node.pay(walletOf(wallet), 1_000n);
  for (let n = 0; n < 30; n++) node.pay(accountKeyOf('solana', `payee ${n}`), 5n, n % 5 ? 'direct' : 'failed');
  mine();
  mine(FINAL + 20);
});

const confirmed = { commitment: 'confirmed' };
const detailed = { encoding: 'json', rewards: false, maxSupportedTransactionVersion: 1, commitment: 'confirmed' };
const tokenAddresses = solanaTokens.map(({ address }) => address);

/** What is asked of the simulated node, and the recording of which the answer must have the shape. */
const answers: readonly (readonly [name: string, method: string, params: () => readonly unknown[]])[] = [
  ['getHealth', 'getHealth', () => []],
  ['getVersion', 'getVersion', () => []],
  ['getGenesisHash', 'getGenesisHash', () => []],
  ...['processed', 'confirmed', 'finalized'].flatMap((commitment) =>
    ['getSlot', 'getBlockHeight'].map((method) => [`${method}.${commitment}`, method, () => [{ commitment }]] as const),
  ),
  ['malformed.setting', 'getSlot', () => [{ commitment: 'soon' }]],
  ['getBlocks.ok', 'getBlocks', () => [0, 6, confirmed]],
  ['getBlocks.ahead', 'getBlocks', () => [6, 400_006, confirmed]],
  ['getBlocks.too-many', 'getBlocks', () => [6, 500_007, confirmed]],
  ['getBlocksWithLimit.ok', 'getBlocksWithLimit', () => [6, 3, confirmed]],
  ['getBlock.none', 'getBlock', () => [2, { ...detailed, transactionDetails: 'none' }]],
  ['getBlock.finalized', 'getBlock', () => [2, { ...detailed, transactionDetails: 'none', commitment: 'finalized' }]],
  ['getBlock.genesis', 'getBlock', () => [0, { ...detailed, transactionDetails: 'none' }]],
  ['getBlock.first', 'getBlock', () => [1, { ...detailed, transactionDetails: 'none' }]],
  ['getBlock.version.legacy', 'getBlock', () => [1, { ...confirmed, transactionDetails: 'none' }]],
  ['getBlock.accounts', 'getBlock', () => [1, { ...detailed, transactionDetails: 'accounts' }]],
  [
    'getMultipleAccounts.payout',
    'getMultipleAccounts',
    () => [
      [solanaAddress.format(walletOf(FUNDED)), ...tokenAddresses, solanaAddress.format(treasury)],
      { encoding: 'base64', commitment: 'confirmed' },
    ],
  ],
  ['getLatestBlockhash.confirmed', 'getLatestBlockhash', () => [confirmed]],
  ['getLatestBlockhash.finalized', 'getLatestBlockhash', () => [{ commitment: 'finalized' }]],
  ...[0, 82, 165].map(
    (bytes) =>
      [`getMinimumBalanceForRentExemption.${bytes}`, 'getMinimumBalanceForRentExemption', () => [bytes]] as const,
  ),
  ['getRecentPrioritizationFees', 'getRecentPrioritizationFees', () => [tokenAddresses]],
];
for (const [name, method, params] of answers) {
  test(`${name}: the same members, in order`, async () => isShaped(await ask(method, params()), name));
}

test('a transaction, and its status: in a block, failed, unknown', async () => {
  const block = world.at(1);
  const ids = (succeeded: boolean) =>
    block?.transactions.filter((one) => one.succeeded === succeeded && one.entries.length > 0).map(({ id }) => id) ??
    [];
  const [paid = '', failed = ''] = [ids(true).at(-1), ids(false)[0]].map((id) => formatSignature(id ?? ''));
  const unknown = formatSignature('ab'.repeat(32));
  isShaped(await ask('getTransaction', [paid, detailed]), 'getTransaction.plain');
  isShaped(await ask('getTransaction', [failed, detailed]), 'getTransaction.failed');
  isSame(await ask('getTransaction', [unknown, detailed]), 'getTransaction.null');
  const statuses = [[paid, failed, unknown], { searchTransactionHistory: true }];
  isShaped(await ask('getSignatureStatuses', statuses), 'getSignatureStatuses.confirmed');
});

/** Answers in which nothing depends on the chain but numbers, to the very requests that were recorded. */
const repeated = [
  'getBlock.future',
  'getBlocks.future',
  'getBlocks.reversed',
  'getBlocksWithLimit.future',
  'getBlocksWithLimit.too-many',
];
for (const name of repeated) {
  test(`${name}: the same answer to the same request`, async () => {
    const { request } = recording(name);
    isSame((await post(typeof request === 'string' ? request : JSON.stringify(request))).body, name);
  });
}

test('slots: not there yet, not final yet, skipped', async () => {
  const header = { ...detailed, transactionDetails: 'none' };
  const tip = world.tip().number;
  isSame(await ask('getBlock', [tip + 1, header]), 'getBlock.next');
  isSame(await ask('getBlock', [tip - 1, { ...header, commitment: 'finalized' }]), 'getBlock.not-final');
  isSame(await ask('getBlock', [13, header]), 'skipped.getBlock.confirmed');
  isSame(await ask('getBlock', [13, { ...header, commitment: 'finalized' }]), 'skipped.getBlock.finalized');
  isSame(await ask('getBlocks', [13, 13, confirmed]), 'skipped.getBlocks.within');
  isSame(await ask('getBlocksWithLimit', [13, 1, confirmed]), 'skipped.getBlocksWithLimit');
});

test('what a transaction is refused with, in text and data', async () => {
  const bytes = bytesOf();
  isShaped(await send(bytes), 'sendTransaction.ok');
  isSame(await send(bytes), 'sendTransaction.again');
  isSame(await send(Buffer.concat([bytes, Buffer.alloc(4)])), 'sendTransaction.trailing');
  const forged = bytesOf();
  forged[10] = (forged[10] ?? 0) ^ 1;
  isSame(await send(forged), 'sendTransaction.signature');
  const lost = bytesOf({ blockhash: solanaAddress.format('09'.repeat(32)) });
  isSame(await send(lost), 'sendTransaction.blockhash');
  const late = bytesOf();
  const lock = bytesOf({ id: 'rf_1', units: 6n });
  mine();
  isSame(await send(lock), 'sendTransaction.lock');
  isSame(await send(bytesOf({ units: 10_000n })), 'sendTransaction.token-short');
  isSame(await send(bytesOf({ wallet: SHORT })), 'sendTransaction.lamports-short');
  isSame(await send(bytesOf({ wallet: TIGHT })), 'sendTransaction.rent');
  isSame(await send(bytesOf({ lock: LOCK / 2n })), 'sendTransaction.rent.other');
  mine(160);
  isSame(await send(bytes), 'sendTransaction.again.expired');
  isSame(await send(late), 'sendTransaction.expired');
  assert.is(world.pending().length, 0, 'what no block can include is accepted and forgotten');
  const poor = await startSimulatedNode({ family: 'solana', seed: 'poor' });
  const unpaid = { id: 7, jsonrpc: '2.0', method: 'sendTransaction' };
  const hash = solanaAddress.format(poor.world.tip().hash);
  const body = JSON.stringify({ ...unpaid, params: [bytesOf({ blockhash: hash }).toString('base64'), settings] });
  const headers = { 'content-type': 'application/json' };
  isSame(await (await fetch(poor.httpUrl, { method: 'POST', headers, body })).text(), 'sendTransaction.no-payer');
  await poor.close();
});

test('more lamports than a float holds are written with all their digits, as is the epoch of rent', async () => {
  const payer = solanaAddress.format(accountKeyOf('solana', 'payer'));
  const body = await ask('getMultipleAccounts', [[payer], { encoding: 'base64', ...confirmed }]);
  isShaped(body, 'getMultipleAccounts.rich');
  const [lamports, epoch] = [/"lamports":(\d+)/, /"rentEpoch":(\d+)/].map((one) => BigInt(one.exec(body)?.[1] ?? 0));
  assert.ok(lamports !== undefined && lamports > 2n ** 53n && BigInt(Number(lamports)) !== lamports);
  assert.is(epoch, 2n ** 64n - 1n);
  assert.match(recording('getMultipleAccounts.rich').text, `"rentEpoch":${epoch}`);
});

// ── PubSub ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Sends texts to PubSub and returns as many messages as were recorded; a block is mined for each one more. */
async function subscribe(texts: readonly string[], count: number): Promise<string[]> {
  const socket = new WebSocket(node.url);
  const messages: string[] = [];
  try {
    await new Promise((resolve) => socket.once('open', resolve));
    await new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        messages.push(data.toString());
        if (messages.length === count) resolve();
        else mine();
      });
      for (const text of texts) socket.send(text);
    });
    return messages;
  } finally {
    socket.terminate();
  }
}
const call = (method: string) => JSON.stringify({ jsonrpc: '2.0', id: 0, method });

test('PubSub is on the port above', async () => {
  assert.is(Number(new URL(node.url).port), Number(new URL(node.httpUrl).port) + 1);
  compared.add('slotSubscribe');
  const recorded = recording('slotSubscribe').messages.map((message) => JSON.stringify(message));
  const sent = await subscribe([call('slotSubscribe')], recorded.length);
  assert.equal(sent.map(shapes), recorded.map(shapes));
  const toPubSub = fetch(node.url.replace('ws:', 'http:'), { method: 'POST', body: call('getSlot') });
  await toPubSub.then(
    () => assert.unreachable('PubSub answers no HTTP'),
    () => {},
  );
});

// ── Faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const strike = (kind: FaultKind) => faults.set({ rates: { [kind]: 1 } });

test('a node that has just restarted shows the genesis and says that it is healthy', async () => {
  strike('restarted');
  isSame(await ask('getHealth', []), 'restarted.getHealth');
  isSame(await ask('getSlot', [confirmed]), 'restarted.getSlot');
  const mint = [solanaAddress.format(solanaTokenKeys[0])];
  isSame(
    await ask('getMultipleAccounts', [mint, { encoding: 'base64', ...confirmed }]),
    'restarted.getMultipleAccounts',
  );
});

test('a lost block is not there yet, then null, then cleaned up', async () => {
  strike('blocks_lost');
  const header = { ...detailed, transactionDetails: 'none' };
  const bodies = new Set<string>();
  for (let n = 0; n < 40; n++) bodies.add(general(plain(await ask('getBlock', [10, header]))));
  const names = ['-32014', '-32004', 'null', '-32001'].map((name) => `hole.getBlock.${name}`);
  for (const name of names) compared.add(name);
  assert.equal([...bodies].sort(), names.map((name) => general(plain(recording(name).text))).sort());
  const lists = new Set<number>();
  for (let n = 0; n < 20; n++)
    lists.add(JSON.parse(await ask('getBlocks', [10, world.tip().number, confirmed])).result.length);
  assert.is(lists.size, 2, 'listed at first although they are lost');
  for (const name of [...names.map((one) => one.replace('getBlock.', 'getBlocks-beside.')), 'hole.getBlocksWithLimit'])
    isShaped(await ask('getBlocks', [10, world.tip().number, confirmed]), name);
});

test('other nodes behind one address: unhealthy, a clock that is behind, finality above the newest block', async () => {
  strike('unhealthy');
  for (const body of [await ask('getHealth', []), await send(bytesOf())]) {
    assert.equal(JSON.parse(body).error, {
      code: -32005,
      message: 'Node is behind by 42 slots',
      data: { numSlotsBehind: 42 },
    });
  }
  faults.set({ rates: { unhealthy: 0, clock_behind: 1 } });
  const { result } = JSON.parse(await ask('getBlock', [1, { ...detailed, transactionDetails: 'none' }]));
  assert.is(result.blockTime, (world.at(1)?.timeS ?? 0) - 90);
  faults.set({ rates: { clock_behind: 0, finality_ahead: 1 } });
  const slot = async (commitment: string) => JSON.parse(await ask('getSlot', [{ commitment }])).result;
  assert.ok((await slot('confirmed')) < (await slot('finalized')));
});

// ── Nothing is left out ──────────────────────────────────────────────────────────────────────────────────────────────

test('every method that the node answers is compared', () => {
  const methods = solanaMethods({ world, chainId: SOLANA_CHAIN_ID, tokens: [] });
  const seen = new Set([...compared].map((name) => recording(name).method));
  assert.equal(
    [...methods.keys()].filter((method) => !seen.has(method)),
    [],
  );
});

test.run();
