/**
 * Solana's blocks as bytes: a sample in the shape that Agave writes, executed by its virtual machine; every way to cut
 * it, twist it and lie with it; and the proof that leaving most of a block unparsed loses nothing.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RawContent } from '../../../src/chains/chain.ts';
import { NOBODY, solanaAddress } from '../../../src/chains/solana/address.ts';
import { sliceBlock } from '../../../src/chains/solana/block-slices.ts';
import { readHeader, solanaWire, TOKEN_PROGRAM } from '../../../src/chains/solana/wire.ts';
import { Fault } from '../../../src/core/fault.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import { refuses } from '../../support/refusal.ts';

const origin = { method: 'getBlock', host: 'sample' };
const sample = readFileSync('test/vectors/solana-block.json');
const truth = JSON.parse(readFileSync('test/vectors/solana-truth.json', 'utf8'));
const header = JSON.parse(readFileSync('test/vectors/solana-header.json', 'utf8')).result;
const kinds = ['slices', 'whole'] as const;

function read(bytes: Uint8Array, kind: string, block = truth.block): ChainTransfer[] {
  const content: RawContent = { block, kind, bytes, context: { host: origin.host } };
  return solanaWire.decode(content, truth.tokens, (key) => truth.watched.includes(key));
}

/** Returns the code of the fault that decoding throws; null if it succeeds. */
function codeOf(bytes: Uint8Array, kind: string, block = truth.block): string | null {
  try {
    read(bytes, kind, block);
    return null;
  } catch (error) {
    if (error instanceof Fault && error.kind === 'transient') return error.code;
    throw error;
  }
}

/** The sample with something changed in it. */
// biome-ignore lint/suspicious/noExplicitAny: the sample is twisted freely, that is the test
function twisted(twist: (result: any) => void): Buffer {
  const answer = JSON.parse(sample.toString());
  twist(answer.result);
  return Buffer.from(JSON.stringify(answer));
}

const withoutIndex = ({ index: _, ...rest }: ChainTransfer) => ({ ...rest, units: String(rest.units) });

test('the sample holds exactly what was paid, by both ways to read it', () => {
  for (const kind of kinds) assert.equal(read(sample, kind).map(withoutIndex), truth.transfers, kind);
  assert.equal(read(sample, 'slices'), read(sample, 'whole'));
  const places = read(sample, 'whole').map(({ index }) => index);
  assert.equal(
    places,
    [...new Set(places)].sort((a, b) => a - b),
  );
});

type Row = Readonly<{ accountIndex: number; mint: string; owner: string; uiTokenAmount: { amount: string } }>;

test('an account of our own wallet that is handed over takes its balance with it, and is no payment to anybody', () => {
  type Shown = Readonly<{ meta: { err: unknown; preTokenBalances: Row[] }; transaction: { signatures: string[] } }>;
  const listed = JSON.parse(sample.toString()).result.transactions as Shown[];
  const mints = truth.tokens.map(({ address }: { address: string }) => address);
  const isFull = ({ mint, uiTokenAmount: { amount } }: Row) => mints.includes(mint) && BigInt(amount) > 1n;
  const place = listed.findIndex(({ meta }) => meta.err === null && meta.preTokenBalances.some(isFull));
  const row = listed[place]?.meta.preTokenBalances.find(isFull);
  assert.ok(row);
  const thief = solanaAddress.parse(mints[0]) ?? '';
  const [owner, units] = [solanaAddress.parse(row.owner) ?? '', BigInt(row.uiTokenAmount.amount)];
  for (const kind of kinds) {
    for (const kept of [units, units - 1n, units + 1n, 0n]) {
      const bytes = twisted((result) => {
        const { meta } = result.transactions[place];
        const uiTokenAmount = { ...row.uiTokenAmount, amount: String(kept) };
        meta.preTokenBalances = [row];
        meta.postTokenBalances = [{ ...row, owner: mints[0], uiTokenAmount }];
      });
      const decode = (watched: string, own: readonly string[]) =>
        solanaWire
          .decode(
            { block: truth.block, kind, bytes, context: { host: origin.host } },
            truth.tokens,
            (key) => key === watched,
            new Set(own),
          )
          .filter(({ tx }) => tx === listed[place]?.transaction.signatures[0])
          .map(({ from, to, units: moved, isOutgoing }) => [from, to, moved, isOutgoing]);
      const to = kept === 0n ? NOBODY : thief;
      assert.equal(decode('', [owner]), [[owner, to, units, true]], `${kind} ${kept} of ${units}`);
      assert.equal(decode('', [thief]), [], 'nothing left a wallet that got an account');
      const received = kept > units ? [[NOBODY, thief, 1n, undefined]] : [];
      assert.equal(decode(thief, []), received, 'only what came on top is a payment');
    }
  }
});

test('the header is the block’s own, and its slot is the requested one', () => {
  const { block, parentSlot } = truth;
  assert.equal(readHeader(header, block.number, origin), { ref: block, parentSlot });
  const fields = ['blockhash', 'previousBlockhash', 'parentSlot', 'blockTime'];
  const malformed = [undefined, null, '', -1, '0x00', {}];
  const spoilt = fields.flatMap((field) => malformed.map((value) => ({ ...header, [field]: value })));
  for (const wrong of [null, [], ...spoilt]) {
    refuses('node_nonsense', () => readHeader(wrong, block.number, origin));
  }
  assert.throws(() => readHeader(header, parentSlot, origin), /parent in slot/);
});

test('only transactions that name a mint are parsed', () => {
  const sliced = sliceBlock(
    sample,
    truth.tokens.map(({ address }: { address: string }) => address),
  );
  const { transactions } = JSON.parse(sample.toString()).result;
  assert.equal(
    sliced?.slices.map(({ at }) => at),
    [1, 2, 3, 6, 7],
  );
  for (const { at, bytes } of sliced?.slices ?? []) assert.equal(JSON.parse(bytes.toString()), transactions[at]);
  assert.equal(JSON.parse(sliced?.frame ?? ''), {
    ...JSON.parse(sample.toString()),
    result: { ...header, transactions: [] },
  });
});

test('a truncated answer is a fault, never fewer payments', () => {
  for (let bytes = 0; bytes < sample.length - 2; bytes += 37) {
    for (const kind of kinds) assert.is.not(codeOf(sample.subarray(0, bytes), kind), null, `${kind} of ${bytes} bytes`);
  }
});

test('in another layout, a block gives the same or is parsed whole', () => {
  const value = JSON.parse(sample.toString());
  const reversed = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(reversed);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(
      Object.entries(part)
        .reverse()
        .map(([name, inner]) => [name, reversed(inner)]),
    );
  };
  const mint = truth.tokens[0].address;
  const { transactions } = value.result;
  const lastReversed = {
    ...value,
    result: { ...value.result, transactions: transactions.with(-1, reversed(transactions.at(-1))) },
  };
  const ways: readonly (readonly [string, string | null])[] = [
    [JSON.stringify(value, null, 1), 'node_content_doubtful'],
    [JSON.stringify(reversed(value)), null],
    [
      sample.toString().replaceAll(mint, `\\u00${mint.charCodeAt(0).toString(16)}${mint.slice(1)}`),
      'node_content_doubtful',
    ],
    [JSON.stringify(value).replaceAll('{"meta":', '{ "meta":'), 'node_content_doubtful'],
    [JSON.stringify(lastReversed), 'node_content_doubtful'],
  ];
  for (const [text, code] of ways) {
    assert.is(codeOf(Buffer.from(text), 'slices'), code);
    assert.equal(read(Buffer.from(text), 'whole').map(withoutIndex), truth.transfers);
    if (code === null) assert.equal(read(Buffer.from(text), 'slices').map(withoutIndex), truth.transfers);
  }
});

// biome-ignore lint/suspicious/noExplicitAny: the sample is twisted freely, that is the test
type Json = any;
const PAID = 3;
/** Changes the result of the transaction that pays. */
const meta = (change: (meta: Json) => unknown) => twisted(({ transactions }) => change(transactions[PAID].meta));
/** Changes the rows of the balances after it. */
const row = (change: Json) =>
  meta(({ postTokenBalances }) => {
    for (const one of postTokenBalances) Object.assign(one, change);
  });
const amount = (value: unknown) => meta(({ postTokenBalances: [first] }) => (first.uiTokenAmount.amount = value));

const contradictions: readonly (readonly [string, string, Buffer])[] = [
  ['another block', 'node_block_unknown', twisted((result) => (result.blockhash = result.previousBlockhash))],
  ['another parent', 'node_nonsense', twisted((result) => (result.previousBlockhash = result.blockhash))],
  ['a parent from the future', 'node_nonsense', twisted((result) => (result.parentSlot = truth.block.number + 1))],
  ['no time', 'node_nonsense', twisted((result) => delete result.blockTime)],
  ['no transactions', 'node_nonsense', twisted((result) => delete result.transactions)],
  ['transactions: null', 'node_nonsense', twisted((result) => (result.transactions = null))],
  ['no result of a transaction', 'node_nonsense', twisted((result) => (result.transactions[PAID].meta = null))],
  ['a stranger’s without its result', 'node_nonsense', twisted((result) => (result.transactions[0].meta = null))],
  ['no meta', 'node_nonsense', twisted((result) => delete result.transactions[PAID].meta)],
  ['no error member', 'node_nonsense', meta((one) => delete one.err)],
  ['no balances before', 'node_nonsense', meta((one) => delete one.preTokenBalances)],
  ['balances after: null', 'node_nonsense', meta((one) => (one.postTokenBalances = null))],
  ['a balance that is a number', 'node_nonsense', meta((one) => (one.postTokenBalances[0] = 7))],
  ['a balance without a mint', 'node_nonsense', row({ mint: null })],
  ['no owner', 'node_nonsense', row({ owner: undefined })],
  ['an owner that is not an address', 'node_nonsense', row({ owner: 'somebody' })],
  ['no program', 'node_nonsense', row({ programId: undefined })],
  ['no amount', 'node_nonsense', row({ uiTokenAmount: undefined })],
  ...[5, '5.0', '1e7', '-5', '0x10', '', ' 5', '1'.repeat(21), null].map(
    (value) => [`the amount ${JSON.stringify(value)}`, 'node_nonsense', amount(value)] as const,
  ),
  ...['1', -1, 1.5, 256, null].map(
    (index) => [`the account ${JSON.stringify(index)}`, 'node_nonsense', row({ accountIndex: index })] as const,
  ),
  ['other decimals', 'node_nonsense', meta((one) => (one.postTokenBalances[0].uiTokenAmount.decimals = 9))],
  ['two of one account', 'node_nonsense', meta((one) => one.postTokenBalances.push(one.postTokenBalances[0]))],
  ['no signature', 'node_nonsense', twisted((result) => (result.transactions[PAID].transaction.signatures = []))],
  ['no block', 'node_nonsense', Buffer.from('{"jsonrpc":"2.0","result":null,"id":1}')],
  [
    'a lost slot',
    'node_block_missing',
    Buffer.from('{"jsonrpc":"2.0","error":{"code":-32007,"message":"Slot 5 was skipped, or missing"},"id":1}'),
  ],
];
for (const [what, code, bytes] of contradictions) {
  test(`${what}: ${code}`, () => {
    assert.is(codeOf(bytes, 'whole'), code);
    const light = codeOf(bytes, 'slices');
    assert.ok(light === code || light === 'node_content_doubtful', `${light}`);
  });
}

test('the float next to the amount is never read', () => {
  const bytes = twisted((result) => {
    for (const { meta } of result.transactions) {
      for (const { uiTokenAmount } of [...meta.preTokenBalances, ...meta.postTokenBalances]) {
        uiTokenAmount.uiAmount = 1e9;
        uiTokenAmount.uiAmountString = '1000000000';
      }
    }
  });
  for (const kind of kinds) assert.equal(read(bytes, kind).map(withoutIndex), truth.transfers);
});

// ── Any block ────────────────────────────────────────────────────────────────────────────────────────────────────────

const addresses = [
  ...JSON.parse(sample.toString()).result.transactions[3].transaction.accountKeys.map(
    ({ pubkey }: { pubkey: string }) => pubkey,
  ),
];
const [usdt, usdc] = truth.tokens.map(({ address }: { address: string }) => address);
const signatures: string[] = JSON.parse(sample.toString()).result.transactions.map(
  ({ transaction }: { transaction: { signatures: string[] } }) => transaction.signatures[0],
);

/** A token balance of any mint, owner and program, the wanted ones among them. */
const balance = fc.record({
  mint: fc.constantFrom(usdt, usdc, addresses[0]),
  owner: fc.constantFrom(...addresses.slice(0, 3)),
  programId: fc.constantFrom(TOKEN_PROGRAM, TOKEN_PROGRAM, addresses[1]),
  amount: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
});
const balances = fc
  .uniqueArray(fc.tuple(fc.nat(5), balance), { selector: ([account]) => account, maxLength: 4 })
  .map((rows) =>
    rows.map(([accountIndex, { amount, ...row }]) => ({
      accountIndex,
      ...row,
      uiTokenAmount: { amount: String(amount), decimals: 6, uiAmount: null, uiAmountString: '' },
    })),
  );
/** Texts that look like borders between transactions. */
const nasty = fc.oneof(fc.constantFrom('"},{"meta":', '},{', '\\', '\\"', usdt, '"transactions":['), fc.string());
const transaction = fc
  .record({
    err: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.record({ Custom: nasty }) }),
    pre: balances,
    post: balances,
    signature: fc.constantFrom(...signatures),
    names: fc.array(nasty, { maxLength: 3 }),
  })
  .map(({ err, pre, post, signature, names }) => ({
    meta: { err, postTokenBalances: post, preTokenBalances: pre, status: names },
    transaction: { accountKeys: names.map((pubkey) => ({ pubkey })), signatures: [signature] },
    version: 0,
  }));

test('for any block, parsing slices gives the same as parsing all of it, or reports doubt', () => {
  let same = 0;
  fc.assert(
    fc.property(fc.array(transaction, { maxLength: 6 }), (transactions) => {
      const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', result: { ...header, transactions }, id: 1 }));
      const watched = () => true;
      const content = (kind: string): RawContent => ({ block: truth.block, kind, bytes, context: { host: 'any' } });
      const whole = solanaWire.decode(content('whole'), truth.tokens, watched);
      assert.ok(whole.every(({ units }) => units > 0n));
      try {
        assert.equal(solanaWire.decode(content('slices'), truth.tokens, watched), whole);
        same += 1;
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== 'node_content_doubtful') throw error;
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(same > 300, `slices were used ${same} times`);
});

test.run();
