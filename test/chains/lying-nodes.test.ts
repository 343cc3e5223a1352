/**
 * Nodes of every family that answer nonsense, lag, lie or say nothing: always a named fault, and never a false block, a
 * wrong token or an attested transaction that the chain has not confirmed.
 */
import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import type { Family, NodeOptions } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { Fault } from '../../src/core/fault.ts';
import { tokenFaultOf } from '../conformance/chain.ts';
import { has } from '../support/fields.ts';
import { Failure, type Lie } from '../support/liar.ts';
import type { Json } from '../support/recordings.ts';
import { faultOf } from '../support/refusal.ts';
import { type LyingBench, lyingSuiteOf } from './lying-bench.ts';

/** Lies about one call. @param told the answer, or what makes it of the node's answer and what was asked */
const about =
  (call: string, told: unknown): Lie =>
  (method, asked, honest) => {
    if (method !== call) return undefined;
    return typeof told === 'function' ? told(honest, asked) : told;
  };

/** Answers of a family's node, and how each is read. */
type Rules = Readonly<{
  /** The first call for the newest block, and what is said of its silence. */
  head: readonly [call: string, advice: RegExp];
  /** Answers that are errors, with the codes and advice of the faults. */
  errors?: readonly [call: string, rows: readonly (readonly [number, string, code: string, advice?: RegExp])[]];
  /** The newest block has another parent. */
  unlinked(bench: LyingBench): Lie;
  /** Other blocks than those that are asked for. */
  otherBlock(bench: LyingBench): Lie | Promise<Lie>;
  chain: Readonly<{ call: string; shown: unknown; id: string; nonsense: readonly unknown[] }>;
  notFinal: readonly Lie[];
  /** The decimals of a token, or the code of the fault. */
  token: readonly (readonly [Lie, number | string])[];
  syncing: readonly Lie[];
  /** Indexes that do not know what their block holds, and a node that has lost what the block holds too. */
  unknowing: readonly Lie[];
  lost: Lie;
  attested: readonly (readonly [what: string, told: (bench: LyingBench) => Lie, expected: string])[];
  urls: readonly Pick<NodeOptions, 'url' | 'rpcUrl'>[];
}>;

// ── EVM ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

const RECEIPT = 'eth_getTransactionReceipt';
const receipt = (what: string, change: object, expected: string) =>
  [what, () => about(RECEIPT, (honest: Json) => ({ ...honest, ...change })), expected] as const;
const notAToken: Lie = about('eth_getCode', '0x');
/** An index that does not know a transaction, and no receipts of the block. */
const withoutReceipts = (told: Failure) => (): Lie => (call) =>
  call === RECEIPT ? null : call === 'eth_getBlockReceipts' ? told : undefined;

const evm: Rules = {
  head: ['eth_getBlockByNumber', /./],
  errors: [
    'eth_getLogs',
    [
      [-32000, 'unknown block', 'node_block_unknown'],
      [-39001, 'Unknown block', 'node_block_unknown'],
      [-32000, 'header not found', 'node_block_unknown'],
      [-32005, 'limit exceeded', 'node_rate_limited'],
      [429, 'Too Many Requests', 'node_rate_limited'],
      [-32601, 'the method eth_getLogs does not exist/is not available', 'node_method_missing'],
      [-32003, 'response too large', 'node_response_too_large'],
      [-32000, 'missing trie node 0ab1', 'node_history_pruned'],
      [4444, 'pruned history unavailable', 'node_history_pruned'],
      [-32603, 'Internal error', 'node_error'],
    ],
  ],
  unlinked: ({ block }) =>
    about('eth_getBlockByNumber', (honest: Json) =>
      Number(honest.number) === block.number ? { ...honest, parentHash: block.hash } : honest,
    ),
  otherBlock:
    ({ sibling }) =>
    (call, _, honest) =>
      /^eth_getBlockBy/.test(call) ? { ...honest, hash: sibling.hash, number: '0x1' } : undefined,
  chain: { call: 'eth_chainId', shown: '0x1', id: '1', nonsense: ['one'] },
  notFinal: [
    null,
    new Failure(-32000, 'finalized block not found'),
    new Failure(-39001, 'Unknown block'),
    new Failure(-32602, 'invalid argument 0: hex string without 0x prefix'),
  ].map((told) => about('eth_getBlockByNumber', told)),
  token: [
    [about('eth_call', `0x${'0'.repeat(63)}9`), 9],
    [notAToken, 'token_not_a_contract'],
    [about('eth_call', '0x'), 'token_not_a_contract'],
    [about('eth_call', `0x${'f'.repeat(64)}`), 'token_not_a_contract'],
    [about('eth_call', new Failure(3, 'execution reverted')), 'token_not_a_contract'],
    [about('eth_call', new Failure(-32603, 'Internal error')), 'node_error'],
  ],
  syncing: [
    (...call) => about('eth_syncing', { currentBlock: '0x0', highestBlock: '0x9' })(...call) ?? notAToken(...call),
    // A node without peers yet says that it is not syncing.
    (call, asked, honest) =>
      call === 'eth_getBlockByNumber' ? { ...honest, timestamp: '0x5' } : notAToken(call, asked, honest),
  ],
  unknowing: [about(RECEIPT, null), about(RECEIPT, new Failure(-32000, 'transaction indexing is in progress'))],
  lost: (call) => (/Receipt/.test(call) ? null : undefined),
  attested: [
    receipt('a receipt without a status', { status: undefined }, 'node_nonsense'),
    receipt('a failure', { status: '0x0' }, 'gone'),
    ['a receipt of another block', ({ sibling }) => receipt('', { blockHash: sibling.hash }, '')[1](), 'gone'],
    ['an error', () => about(RECEIPT, new Failure(-32000, 'an internal error')), 'node_error'],
    ['no block either', withoutReceipts(new Failure(-32603, 'Internal error')), 'node_error'],
    // Then the index has the last word.
    ['no such method', withoutReceipts(new Failure(-32601, 'the method does not exist')), 'gone'],
  ],
  urls: ['', 'node', 'ftp://127.0.0.1', '127.0.0.1:8545'].map((url) => ({ url })),
};

// ── TRON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const BLOCK = '/wallet/getblock';
const CONSTANT = '/wallet/triggerconstantcontract';
const answers: Json = JSON.parse(readFileSync('test/vectors/tron-answers.json', 'utf8'));
const info = (what: string, change: object, expected: string) =>
  [what, () => about('/wallet/gettransactioninfobyid', (one: Json) => ({ ...one, ...change })), expected] as const;
const withoutInfo: Lie = about('/wallet/gettransactioninfobyid', {});
const withRaw = (block: Json, change: object): Json => {
  const { block_header: header } = block;
  return { ...block, block_header: { ...header, raw_data: { ...header.raw_data, ...change } } };
};

const tron: Rules = {
  head: [BLOCK, /rate\.limiter in the node.s configuration/],
  unlinked: ({ block }) =>
    about(BLOCK, (honest: Json) =>
      honest.blockID === block.hash ? withRaw(honest, { parentHash: block.hash }) : honest,
    ),
  async otherBlock({ own }) {
    return about(BLOCK, JSON.parse(await own.post(BLOCK, { id_or_num: '1' })));
  },
  chain: { call: BLOCK, shown: answers.firstBlock, id: '728126428', nonsense: [{}] },
  notFinal: [about('/walletsolidity/getblock', {})],
  token: answers.constantCalls.map(({ answer, code }: Json) => [about(CONSTANT, answer), code ?? 6]),
  syncing: [
    (call, { id_or_num: asked }, honest) => {
      if (call === CONSTANT) return { result: { message: 'Smart contract is not exist.' } };
      return call === BLOCK && asked === undefined ? withRaw(honest, { timestamp: 1_600_000_000_000 }) : undefined;
    },
  ],
  unknowing: [withoutInfo],
  lost: (call, ...asked) => (call.endsWith('blocknum') ? [] : withoutInfo(call, ...asked)),
  attested: [
    info('a result', { result: 'FAILED' }, 'gone'),
    info('a receipt', { receipt: { result: 'OUT_OF_TIME' } }, 'gone'),
    info('another block', { blockNumber: 3 }, 'gone'),
    info('another transaction', { id: 'ab'.repeat(32) }, 'node_nonsense'),
    ['no such height', () => about(BLOCK, {}), 'unsure'],
  ],
  urls: [{ url: 'ftp://node' }],
};

// ── Solana ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const STATUSES = 'getSignatureStatuses';
/** Of each signature, or null for those that the index does not know. */
const statuses = (change: object | null): Lie =>
  about(STATUSES, (_: Json, [asked]: Json) => ({
    context: { slot: 1 },
    value: asked.map(() => change && { confirmations: 0, err: null, status: { Ok: null }, ...change }),
  }));
const status = (what: string, change: object, expected: string) =>
  [what, ({ block }: LyingBench) => statuses({ slot: block.number, ...change }), expected] as const;
const failing = (code: number) => () => about('getBlock', new Failure(code, 'not now'));
const accounts = (change: (rows: Json[]) => unknown): Lie =>
  about('getMultipleAccounts', ({ value, ...rest }: Json) => ({ ...rest, value: change(value) }));

const solana: Rules = {
  head: ['getSlot', /./],
  errors: [
    'getBlock',
    [
      [-32001, 'Block 5 cleaned up, does not exist on node.', 'node_history_pruned', /--limit-ledger-size/],
      [-32004, 'Block not available for slot 5', 'node_block_pending', /requested again/],
      [-32005, 'Node is behind by 42 slots', 'node_unhealthy', /wait for it/],
      [-32007, 'Slot 5 was skipped, or missing due to ledger jump', 'node_block_missing', /skipped only if/],
      [-32009, 'Slot 5 was skipped, or missing in long-term storage', 'node_block_missing', /skipped only if/],
      [-32011, 'Transaction history is not available from this node', 'node_history_disabled', /--enable-rpc/],
      [-32014, 'Block status not yet available for slot 5', 'node_status_pending', /requested again/],
      [-32015, 'Transaction version (2) is not supported', 'node_version_unsupported', /update it/],
      [-32016, 'Minimum context slot has not been reached', 'node_unhealthy', /wait for it/],
      [-32429, 'Too many requests for a specific RPC call', 'node_rate_limited', /raise its limit/],
      [-32601, 'Method not found', 'node_method_missing', /--full-rpc-api/],
      [-32603, 'Internal error', 'node_error', /look at the node's log/],
    ],
  ],
  unlinked: ({ block }) =>
    about('getBlock', (honest: Json, [slot]: Json) =>
      slot === block.number ? { ...honest, previousBlockhash: block.hash } : honest,
    ),
  otherBlock: ({ sibling }) => about('getBlock', (honest: Json) => ({ ...honest, blockhash: sibling.hash })),
  chain: {
    call: 'getGenesisHash',
    shown: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
    id: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
    nonsense: [null, 7, {}],
  },
  notFinal: [about('getBlock', null)],
  token: [
    ...[null, [Buffer.alloc(82).toString('base64'), 'base64']].map(
      (data) => [accounts((rows) => rows.with(0, { ...rows[0], data })), 'token_not_a_contract'] as const,
    ),
    ...[null, {}, { value: [] }, { value: 'none' }, { value: [null, null] }].map(
      (answer) => [about('getMultipleAccounts', answer), 'node_nonsense'] as const,
    ),
  ],
  syncing: [],
  unknowing: [statuses(null)],
  // The header is asked for without transactions.
  lost: (call, asked, honest) =>
    call === 'getBlock' && asked[1].transactionDetails !== 'none' ? null : statuses(null)(call, asked, honest),
  attested: [
    status('confirmed', { confirmationStatus: 'confirmed' }, 'holds'),
    status('final', { confirmationStatus: 'finalized' }, 'holds'),
    status('only processed by this node', { confirmationStatus: 'processed' }, 'unsure'),
    status('of a status that the node does not name', { confirmationStatus: null }, 'unsure'),
    status('failed', { confirmationStatus: 'confirmed', err: { InstructionError: [0, { Custom: 1 }] } }, 'gone'),
    status('in another slot', { confirmationStatus: 'confirmed', slot: 999 }, 'gone'),
    ...[null, [], [null, null], {}].map(
      (value) => [`statuses ${JSON.stringify(value)}`, () => about(STATUSES, { value }), 'node_nonsense'] as const,
    ),
    ['not confirmed any more', failing(-32004), 'unsure'],
    ['without results yet', failing(-32014), 'unsure'],
    ['skipped or missing', failing(-32007), 'unsure'],
    ['skipped or missing in long-term storage', failing(-32009), 'unsure'],
  ],
  urls: [
    { url: 'ftp://node' },
    { url: 'nonsense' },
    { url: 'ws://node:8900', rpcUrl: 'ws://node:8899' },
    { url: 'http://node:8899', rpcUrl: 'http://node:8899' },
  ],
};

// ── Rules of every family ────────────────────────────────────────────────────────────────────────────────────────────

const families: Readonly<Record<Family, Rules>> = { evm, tron, solana };

/** Returns what work resolves to, or the code of the fault that passes. */
const toldBy = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error) => (error instanceof Fault && error.kind === 'transient' ? error.code : Promise.reject(error)));

function registerAnswers(family: Family, rules: Rules): void {
  const { test, both } = lyingSuiteOf(`${family}: a node that answers badly`, family);
  const [headCall, advice] = rules.head;

  const [call = '', errors = []] = rules.errors ?? [];
  if (call)
    both("the node's own errors are distinguished, and name method and host", async (node, { tell, read }) => {
      for (const [code, message, expected, remedy = /./] of errors) {
        tell(about(call, new Failure(code, message)));
        const fault = await faultOf(read(node, false));
        has(fault, { kind: 'transient', code: expected }, message);
        assert.ok(fault.message.startsWith(`${call} at 127.0.0.1:`), fault.message);
        assert.match(fault.message, message);
        assert.match(fault.message, remedy);
      }
    });

  both(
    'silence is a timeout that names the call, and the next answer is read',
    async (node, { liar, block }) => {
      await node.head();
      liar.lies.text = () => null;
      const fault = await faultOf(node.head());
      assert.is(fault.code, 'node_timeout');
      assert.ok(fault.message.startsWith(`${headCall} at 127.`), fault.message);
      assert.match(fault.message, advice);
      liar.heal();
      assert.equal(await node.header(block.hash), block);
    },
    { requestTimeoutMs: 2_500 },
  );

  both('blocks that are not linked are refused', async (node, bench) => {
    const { block, sibling, tell } = bench;
    tell(rules.unlinked(bench));
    has(await faultOf(node.range(sibling.number, block.number)), { kind: 'transient', code: 'node_range_broken' });
  });

  both('a block other than the requested one is refused', async (node, bench) => {
    const { block, tell } = bench;
    await node.head();
    tell(await rules.otherBlock(bench));
    // On Solana, blocks are requested by slot: another one there is none of this hash.
    const isBySlot = family === 'solana';
    assert.is(await toldBy(node.header(block.hash)), isBySlot ? null : 'node_nonsense');
    if (!isBySlot) assert.is(await toldBy(node.range(block.number, block.number)), 'node_nonsense');
    else assert.is(await toldBy(node.content(block, false)), 'node_block_unknown');
    if (isBySlot) assert.is(await node.attest(block, []), 'gone');
  });

  both('the chain is the one that the node reports', async (node, { tell }) => {
    const { call: ofChain, shown, id, nonsense } = rules.chain;
    tell(about(ofChain, shown));
    assert.is((await node.identity()).chainId, id);
    for (const answer of nonsense) {
      tell(about(ofChain, answer));
      assert.is(await toldBy(node.identity()), 'node_nonsense');
    }
  });

  both('a node without finality has no final block', async (node, { tell }) => {
    assert.ok(await node.finalized());
    for (const lie of rules.notFinal) {
      tell(lie);
      assert.is(await node.finalized(), null);
    }
  });

  both('a token is what its contract says, and a node that fails is no answer about it', async (node, bench) => {
    const [{ address }] = bench.tokens;
    for (const [lie, expected] of rules.token) {
      bench.tell(lie);
      if (typeof expected === 'number') {
        assert.is((await node.identity()).decimals.get(address), expected);
        continue;
      }
      const fault = await tokenFaultOf(node);
      assert.is(fault.code, expected, fault.message);
      assert.is(fault.kind, expected === 'token_not_a_contract' ? 'permanent' : 'transient');
      if (fault.kind === 'permanent') assert.match(fault.message, address);
    }
  });

  if (rules.syncing.length > 0)
    both('a node that is still syncing does not make the configuration wrong', async (node, { tell }) => {
      for (const lie of rules.syncing) {
        tell(lie);
        has(await tokenFaultOf(node), { kind: 'transient', code: 'node_syncing' });
      }
    });

  test('a URL of another kind is refused at once', async () => {
    const { openNode } = await chains[family].node();
    const limits = { requestTimeoutMs: 5_000, responseBytesMax: 1_000, idleMsMax: 5_000, concurrencyMax: 1 };
    for (const place of rules.urls) {
      const fault = await faultOf((async () => openNode({ ...place, tokens: [], ...limits }))());
      has(fault, { kind: 'permanent', code: 'node_url_invalid' }, place.url);
    }
  });
  test.run();
}

/** The last check before a credit: what the node's index does not know the block itself tells. */
function registerAttestations(family: Family, { unknowing, lost, attested }: Rules): void {
  const { test, both } = lyingSuiteOf(`${family}: a node that attests`, family);

  both('an index that does not know a transaction is no contradiction', async (node, bench) => {
    const { block, paid, failed, other, tell } = bench;
    for (const lie of unknowing) {
      tell(lie);
      assert.is(await node.attest(block, [paid]), 'holds');
      assert.is(await node.attest(block, [paid, failed]), 'gone');
      assert.is(await node.attest(block, [other]), 'gone');
    }
    tell(lost);
    assert.is(await node.attest(block, [paid]), 'unsure', 'the block does not have it either: it is asked later');
  });

  both('a transaction is attested only as far as the chain has confirmed it', async (node, bench) => {
    for (const [what, lie, expected] of attested) {
      bench.tell(lie(bench));
      assert.is(await toldBy(node.attest(bench.block, [bench.paid])), expected, what);
    }
  });

  if (family === 'solana')
    both('the block is requested at the commitment that the credit needs', async (node, { block, paid, tell }) => {
      const commitments: unknown[] = [];
      tell((call, asked) => {
        if (call === 'getBlock') commitments.push(asked[1].commitment);
        return undefined;
      });
      assert.is(await node.attest(block, [paid]), 'holds');
      assert.equal(commitments, ['confirmed']);
    });
  test.run();
}

for (const family of ['evm', 'tron', 'solana'] as const) {
  registerAnswers(family, families[family]);
  registerAttestations(family, families[family]);
}
