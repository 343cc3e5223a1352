/** The decoder on bytes: samples from a real node, and blocks made up at random. */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RawContent } from '../../../src/chains/chain.ts';
import { bloomBits, bloomHas, createBloom } from '../../../src/chains/evm/bloom.ts';
import { evmErrors } from '../../../src/chains/evm/rpc-errors.ts';
import { evmWire, readHeader, TRANSFER_TOPIC } from '../../../src/chains/evm/wire.ts';
import { peekId, readResult } from '../../../src/chains/json-rpc.ts';
import { Fault } from '../../../src/core/fault.ts';
import type { Currency, Token } from '../../../src/core/transfer.ts';
import { has, have } from '../../support/fields.ts';
import { faultIn } from '../../support/refusal.ts';

const origin = { method: 'a test', host: 'here' };
const [CONTRADICTORY, NONSENSE] = ['node_content_contradictory', 'node_nonsense'] as const;
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

// ── Samples ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One block of anvil, and anvil's answers about it, byte by byte. */
const sample = (name: string): Buffer => readFileSync(`test/vectors/evm-${name}.json`);
const truth = JSON.parse(sample('block').toString());
const header = readHeader(readResult(sample('header'), origin, evmErrors), origin);
const watchedSample = (key: string): boolean => truth.watched.includes(key);

const sampleContent = (kind: 'logs' | 'receipts'): RawContent => ({
  block: header.ref,
  kind,
  bytes: sample(kind),
  context: { host: 'here', bloom: header.bloom, txCount: header.txCount },
});

test("a node's header is read to the block it describes", () => {
  assert.equal(header.ref, truth.block);
  assert.is(header.txCount, Object.keys(truth.transactions).length + 2, 'the two that switched the fee');
});

test('a header with a missing or malformed field is nonsense that names the field', () => {
  const shown = readResult(sample('header'), origin, evmErrors) as object;
  for (const field of ['hash', 'parentHash', 'logsBloom', 'number', 'timestamp', 'transactions']) {
    for (const value of [undefined, null, '0x', 7, '0xzz']) {
      const fault = faultIn(() => readHeader({ ...shown, [field]: value }, origin));
      assert.is(fault.code, NONSENSE, `${field} ${value}`);
      assert.match(fault.message, `"${field}"`);
    }
  }
});

for (const kind of ['logs', 'receipts'] as const) {
  test(`a node's ${kind} are read to the transfers that happened`, () => {
    const transfers = evmWire.decode(sampleContent(kind), truth.tokens, watchedSample);
    assert.equal(
      transfers.map((transfer) => ({ ...transfer, units: String(transfer.units) })),
      truth.transfers.map(({ what, ...transfer }: { what: string }) => transfer),
    );
  });
}

// ── The bloom ────────────────────────────────────────────────────────────────────────────────────────────────────────

test("the header's bloom is the one made of the receipts' addresses and topics", () => {
  const bloom = createBloom();
  const receipts = readResult(sample('receipts'), origin, evmErrors) as {
    logs: { address: string; topics: string[] }[];
  }[];
  for (const { address, topics } of receipts.flatMap(({ logs }) => logs)) {
    for (const text of [address, ...topics]) bloom.add(text.slice(2));
  }
  assert.is(bloom.text(), header.bloom);
  for (const { address } of truth.tokens) assert.is(bloomHas(header.bloom, bloomBits(address.slice(2))), true);
  assert.is(bloomHas(header.bloom, bloomBits('f'.repeat(40))), false);
});

// ── Envelopes ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('the id of an answer is found if it comes first or last, and never mistaken for one inside', () => {
  const shown: readonly (readonly [string, number | null])[] = [
    ['{"jsonrpc":"2.0","id":12,"result":"0x1"}', 12],
    ['{"id":12,"jsonrpc":"2.0","result":"0x1"}', 12],
    ['{"id":12}', 12],
    [' {\n "jsonrpc": "2.0",\n "id": 12,\n "result": [] }', 12],
    ['{"jsonrpc":"2.0","result":"0x1","id":12}', 12],
    ['{"jsonrpc":"2.0","result":{"id":3},"id":12 }\n', 12],
    ['[{"jsonrpc":"2.0","id":12,"result":"0x1"},{"jsonrpc":"2.0","id":13,"result":"0x2"}]', 12],
    ['[{"jsonrpc":"2.0","result":"0x1","id":12},{"jsonrpc":"2.0","result":"0x2","id":13}]', 13],
    ['{"jsonrpc":"2.0","result":{"id":3}}', null],
    ['{"result":{"a":1,"id":3}}', null],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}', null],
    ['{"jsonrpc":"2.0","id":"12","result":"0x1"}', null],
    ['{"jsonrpc":"2.0","result":",\\"id\\":12}"}', null],
    ['', null],
  ];
  for (const [text, id] of shown) assert.is(peekId(Buffer.from(text)), id, text);
});

test('any bytes are read to a value or a named fault, and any JSON to transfers or to one', () => {
  const transientIn = (read: () => unknown): boolean => {
    try {
      read();
      return false;
    } catch (error) {
      if (error instanceof Fault && error.kind === 'transient') return true;
      throw error;
    }
  };
  const readAll = (bytes: Uint8Array) => {
    peekId(bytes);
    transientIn(() => readResult(bytes, origin, evmErrors));
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), readAll));
  fc.assert(fc.property(fc.jsonValue(), (value) => readAll(bytesOf(value))));
  const anything = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()));
  for (const kind of ['logs', 'receipts'] as const) {
    const decode = (result: unknown) =>
      evmWire.decode({ ...sampleContent(kind), bytes: bytesOf({ id: 1, result }) }, truth.tokens, () => true);
    fc.assert(fc.property(anything, (result) => transientIn(() => decode(result))));
  }
});

test('a sample cut anywhere is a fault, never fewer transfers', () => {
  for (const kind of ['logs', 'receipts'] as const) {
    const whole = sample(kind);
    for (let length = 0; length < whole.length; length += 97) {
      const content = { ...sampleContent(kind), bytes: whole.subarray(0, length) };
      assert.throws(
        () => evmWire.decode(content, truth.tokens, watchedSample),
        (error: unknown) => error instanceof Fault,
      );
    }
  }
});

test('receipts without one of two equal payments are refused, though the bloom stays the same', () => {
  type Receipt = { logs: unknown[]; transactionHash: string };
  const receipts = readResult(sample('receipts'), origin, evmErrors) as Receipt[];
  const decodeWith = (changed: readonly Receipt[]) => () =>
    evmWire.decode(
      { ...sampleContent('receipts'), bytes: bytesOf({ id: 1, result: changed }) },
      truth.tokens,
      watchedSample,
    );
  // The batch pays the first address twice, at its first and its last log.
  for (const hidden of [0, 2]) {
    const changed = receipts.map((receipt) =>
      receipt.transactionHash === truth.transactions.batch
        ? { ...receipt, logs: receipt.logs.filter((_, at) => at !== hidden) }
        : receipt,
    );
    assert.is(faultIn(decodeWith(changed)).code, CONTRADICTORY);
  }
  const withoutFailed = receipts.filter(({ transactionHash }) => transactionHash !== truth.transactions.failed);
  assert.is(faultIn(decodeWith(withoutFailed)).code, CONTRADICTORY);
  assert.not.throws(decodeWith(receipts));
});

// ── Answers that contradict their block ──────────────────────────────────────────────────────────────────────────────

type Kind = 'logs' | 'receipts';
/** A log or a receipt; the tests use only fields that exist. */
type Row = Record<string, unknown>;
const SIBLING = `0x${'5b'.repeat(32)}`;

const decodeChanged = (kind: Kind, change: (rows: Row[]) => unknown) => {
  const result = change(readResult(sample(kind), origin, evmErrors) as Row[]);
  return evmWire.decode({ ...sampleContent(kind), bytes: bytesOf({ id: 1, result }) }, truth.tokens, watchedSample);
};
const withoutLogs = (rows: Row[], at: number): Row[] => rows.with(at, { ...rows.at(at), logs: [] });

const wrong: readonly (readonly [what: string, kind: Kind, change: (rows: Row[]) => unknown, code: string])[] = [
  ['no logs', 'logs', () => [], 'node_content_doubtful'],
  ["a sibling's logs", 'logs', (rows) => rows.map((row) => ({ ...row, blockHash: SIBLING })), CONTRADICTORY],
  ['one log of a sibling', 'logs', (rows) => rows.with(1, { ...rows[1], blockHash: SIBLING }), CONTRADICTORY],
  ['removed logs', 'logs', (rows) => rows.map((row) => ({ ...row, removed: true })), CONTRADICTORY],
  ['a log twice', 'logs', (rows) => [...rows, rows.at(-1)], CONTRADICTORY],
  ['logs in disorder', 'logs', (rows) => rows.toReversed(), CONTRADICTORY],
  ['no receipts', 'receipts', () => [], CONTRADICTORY],
  ['a receipt too few', 'receipts', (rows) => rows.slice(1), CONTRADICTORY],
  ['a receipt twice', 'receipts', (rows) => rows.with(1, rows[0] ?? {}), CONTRADICTORY],
  ['receipts in disorder', 'receipts', (rows) => rows.toReversed(), CONTRADICTORY],
  ["a sibling's receipts", 'receipts', (rows) => rows.map((row) => ({ ...row, blockHash: SIBLING })), CONTRADICTORY],
  ['a first receipt without its logs', 'receipts', (rows) => withoutLogs(rows, 0), CONTRADICTORY],
  ['a last receipt without its logs', 'receipts', (rows) => withoutLogs(rows, -1), CONTRADICTORY],
  ['a text', 'logs', () => 'many', NONSENSE],
  ['an object', 'receipts', () => ({}), NONSENSE],
  ['rows that are not objects', 'logs', () => [1, 2], NONSENSE],
  ['data of 31 bytes', 'logs', (rows) => rows.map((row) => ({ ...row, data: `0x${'0'.repeat(62)}` })), NONSENSE],
  ['data that is not hex', 'logs', (rows) => rows.map((row) => ({ ...row, data: `0x${'z'.repeat(64)}` })), NONSENSE],
  ['no log index', 'logs', (rows) => rows.map(({ logIndex, ...row }) => row), NONSENSE],
  ['no transaction', 'logs', (rows) => rows.map((row) => ({ ...row, transactionHash: null })), NONSENSE],
  ['receipts without logs', 'receipts', (rows) => rows.map(({ logs, ...row }) => row), NONSENSE],
  ['receipts without status', 'receipts', (rows) => rows.map(({ status, ...row }) => row), NONSENSE],
  ['null for the logs of a block', 'logs', () => null, 'node_block_unknown'],
  ['null for the receipts of a block', 'receipts', () => null, 'node_block_unknown'],
];
for (const [what, kind, change, code] of wrong) {
  test(`${what}: ${code}`, () => {
    const fault = faultIn(() => decodeChanged(kind, change));
    has(fault, { code, kind: 'transient' }, fault.message);
    if (code === CONTRADICTORY) assert.match(fault.message, truth.block.hash);
  });
}

test('a failed transaction has no transfers, even if its logs are shown', () => {
  const transfers = decodeChanged('receipts', (rows) => rows.map((row) => ({ ...row, status: '0x0' })));
  assert.equal(transfers, []);
});

// ── Blocks made up at random ─────────────────────────────────────────────────────────────────────────────────────────

const tokens: readonly Token[] = [
  { symbol: 'USDT', address: '0xdAC17F958D2ee523a2206206994597C13D831ec7', decimals: 6 },
  { symbol: 'USDC', address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 },
];
/** Where the native transfers of EIP-7708 are logged from. */
const NATIVE = '0xfffffffffffffffffffffffffffffffffffffffe';
const APPROVAL_TOPIC = `0x${'8c5be1e5'.padEnd(64, '0')}`;

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const block = { hash: hash('b'), parent: hash('a'), number: 9, timeS: 1_700_000_000 };
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;

/** A random log. */
type Drawn = Readonly<{
  address: string;
  shape: 'transfer' | 'nft' | 'approval';
  to: string;
  units: bigint;
  success: boolean;
}>;

const keys = Array.from({ length: 6 }, (_, at) => `${at}`.repeat(40));
const drawnBlock: fc.Arbitrary<Drawn[]> = fc.array(
  fc.record({
    address: fc.constantFrom(...tokens.map((token) => token.address.toLowerCase()), NATIVE, `0x${'77'.repeat(20)}`),
    shape: fc.constantFrom('transfer', 'transfer', 'transfer', 'nft', 'approval'),
    to: fc.constantFrom(...keys),
    units: fc.oneof(fc.constant(0n), fc.bigInt(1n, 2n ** 256n - 1n)),
    success: fc.boolean(),
  }),
);

/** The log as a node writes it. */
function render({ address, shape, to, units }: Drawn, index: number) {
  const parties = [`0x${'0'.repeat(24)}${'c'.repeat(40)}`, `0x${'0'.repeat(24)}${to}`];
  return {
    address,
    topics: [
      shape === 'approval' ? APPROVAL_TOPIC : TRANSFER_TOPIC,
      ...parties,
      ...(shape === 'nft' ? [word(units)] : []),
    ],
    data: shape === 'nft' ? '0x' : word(units),
    blockHash: block.hash,
    blockNumber: '0x9',
    transactionHash: word(BigInt(index)),
    transactionIndex: `0x${index.toString(16)}`,
    logIndex: `0x${index.toString(16)}`,
    removed: false,
  };
}

/** A block with one log in each successful transaction, as both kinds of content, and the expected transfers. */
function madeUp(drawn: readonly Drawn[], watched: (key: string) => boolean) {
  const bloom = createBloom();
  let logIndex = 0;
  const expected: unknown[] = [];
  const logs: ReturnType<typeof render>[] = [];
  const receipts = drawn.map((entry, at) => {
    const log = { ...render(entry, logIndex), transactionHash: word(BigInt(at)) };
    const common = { blockHash: block.hash, transactionIndex: `0x${at.toString(16)}` };
    if (!entry.success) return { ...common, status: '0x0', logs: [] };
    for (const text of [log.address, ...log.topics]) bloom.add(text.slice(2));
    const token = tokens.find((known) => known.address.toLowerCase() === log.address);
    if (token && entry.shape !== 'approval') logs.push(log);
    if (token && entry.shape === 'transfer' && entry.units > 0n && watched(entry.to)) {
      const { to, units } = entry;
      const currency: Currency = token.symbol;
      expected.push({ tx: log.transactionHash, index: logIndex, currency, from: 'c'.repeat(40), to, units });
    }
    logIndex += 1;
    return { ...common, status: '0x1', logs: [log] };
  });
  const context = { host: 'here', bloom: bloom.text(), txCount: drawn.length };
  const contentOf = (kind: string, result: unknown): RawContent => ({
    block,
    kind,
    bytes: bytesOf({ jsonrpc: '2.0', id: 1, result }),
    context,
  });
  return { light: contentOf('logs', logs), thorough: contentOf('receipts', receipts), logs, expected };
}

test('in any block exactly the watched transfers of the tokens are found, in both kinds of content', () => {
  fc.assert(
    fc.property(drawnBlock, fc.subarray(keys), (drawn, watchedKeys) => {
      const watched = (key: string) => watchedKeys.includes(key);
      const { light, thorough, expected } = madeUp(drawn, watched);
      assert.equal(evmWire.decode(thorough, tokens, watched), expected);
      try {
        assert.equal(evmWire.decode(light, tokens, watched), expected);
      } catch (error) {
        // A token's other events, or chance, make the bloom announce transfers that do not exist.
        assert.is(error instanceof Fault && error.code, 'node_content_doubtful');
      }
    }),
  );
});

test('a light answer that omits all rows of a token is never taken for an empty block', () => {
  fc.assert(
    fc.property(drawnBlock, fc.constantFrom(...tokens), (drawn, hidden) => {
      const { light, logs } = madeUp(drawn, () => true);
      const shown = logs.filter((log) => log.address !== hidden.address.toLowerCase());
      if (shown.length === logs.length) return;
      const content = { ...light, bytes: bytesOf({ id: 1, result: shown }) };
      assert.is(faultIn(() => evmWire.decode(content, tokens, () => true)).code, 'node_content_doubtful');
    }),
  );
});

/** A block with one payment in its first token, in both kinds of content. */
const paying = (units = 171n) =>
  madeUp(
    [{ address: tokens[0]?.address.toLowerCase() ?? '', shape: 'transfer', to: keys[1] ?? '', units, success: true }],
    () => true,
  );

test('anybody may write a transfer of nothing in our name', () => {
  const leaving = (units: bigint) => {
    const { light } = paying(units);
    return evmWire.decode(light, tokens, () => false, new Set(['c'.repeat(40)]));
  };
  assert.equal(leaving(0n), []);
  have(leaving(1n), [{ units: 1n, isOutgoing: true }]);
});

test('numbers and hashes in upper-case hex are the same numbers and hashes', () => {
  const { light, expected } = paying();
  const text = Buffer.from(light.bytes)
    .toString()
    .replace(/"0x[0-9a-f]+"/g, (found) => `"0x${found.slice(3, -1).toUpperCase()}"`);
  assert.equal(
    evmWire.decode({ ...light, bytes: Buffer.from(text) }, tokens, () => true),
    expected,
  );
});

/** Returns both contents of a block whose log has other topics. */
function withTopics(change: (topics: string[]) => string[]) {
  const { light, thorough } = paying();
  const log = JSON.parse(Buffer.from(light.bytes).toString()).result[0];
  const changed = { ...log, topics: change(log.topics) };
  const bloom = createBloom();
  for (const text of [changed.address, ...changed.topics]) bloom.add(text.slice(2));
  const receipt = { ...JSON.parse(Buffer.from(thorough.bytes).toString()).result[0], logs: [changed] };
  const context = { ...light.context, bloom: bloom.text() };
  return [
    { ...light, context, bytes: bytesOf({ id: 1, result: [changed] }) },
    { ...thorough, context, bytes: bytesOf({ id: 1, result: [receipt] }) },
  ];
}

test('a Transfer of our token to a word that is no address pays nobody, and is no fault', () => {
  for (const upper of ['f'.repeat(24), '1'.padStart(24, '0')]) {
    for (const content of withTopics((topics) => topics.with(2, `0x${upper}${keys[1]}`))) {
      assert.equal(
        evmWire.decode(content, tokens, () => true),
        [],
        content.kind,
      );
    }
  }
});

test('the upper bytes of the sender do not matter', () => {
  for (const content of withTopics((topics) => topics.with(1, `0x${'f'.repeat(24)}${'c'.repeat(40)}`))) {
    const [transfer] = evmWire.decode(content, tokens, () => true);
    has(transfer, { from: 'c'.repeat(40), to: keys[1], units: 171n }, content.kind);
  }
});

test('a Transfer of our token to a word of another length is nonsense', () => {
  const [content] = withTopics((topics) => topics.with(2, '0xab'));
  assert.is(faultIn(() => content && evmWire.decode(content, tokens, () => true)).code, NONSENSE);
});

test('logs that the bloom does not cover are refused, whichever way they are read', () => {
  const { light, thorough } = paying();
  const bloom = createBloom().text();
  const codeOf = (content: RawContent) =>
    faultIn(() => evmWire.decode({ ...content, context: { ...content.context, bloom } }, tokens, () => true)).code;
  assert.equal(
    { light: codeOf(light), thorough: codeOf(thorough) },
    { light: 'node_content_doubtful', thorough: CONTRADICTORY },
  );
});

test.run();
