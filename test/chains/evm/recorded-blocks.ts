/**
 * Readers of the recordings that concern blocks: headers, logs, receipts, announcements.
 */
import * as assert from 'uvu/assert';
import type { RawContent } from '../../../src/chains/chain.ts';
import { isNotification } from '../../../src/chains/evm/node/rpc-socket.ts';
import { evmWire, type Header, readHeader, readReceipt } from '../../../src/chains/evm/wire.ts';
import { peekId } from '../../../src/chains/json-rpc.ts';
import type { BlockRef } from '../../../src/core/block.ts';
import { has } from '../../support/fields.ts';
import type { Json, Recording } from '../../support/recordings.ts';
import { until } from '../../support/until.ts';
import {
  bytesOf,
  type Claim,
  expectFault,
  following,
  origin,
  PAYEE,
  type Recorded,
  recordedTokens,
  resultOf,
} from './recorded-claims.ts';

/** The block of an answer, by hand. */
const refOf = ({ hash, parentHash, number, timestamp }: Json): BlockRef => ({
  hash,
  parent: parentHash,
  number: Number(number),
  timeS: Number(timestamp),
});

const headerIn = (recording: Recording): Header => readHeader(resultOf(recording), origin);

function readsHeader(recording: Recording): void {
  const { result } = recording.response;
  const header = headerIn(recording);
  assert.equal(header.ref, refOf(result));
  has(header, { bloom: result.logsBloom, txCount: result.transactions.length });
}

/** Asks the client for the recorded header, by number, tag or hash. */
async function asksHeader(recording: Recording, recorded: Recorded): Promise<void> {
  recorded.played.play(recording);
  const [which] = recording.request.params;
  const expected = refOf(recording.response.result);
  const found = await following(recorded, async (node) => {
    if (which === 'latest') return node.head();
    if (which === 'finalized') return node.finalized();
    if (recording.request.method === 'eth_getBlockByHash') return node.header(which);
    return (await node.range(Number(which), Number(which)))[0];
  });
  assert.equal(found, expected);
}

/** A log by hand, where it is a transfer of the first token to the payee. */
const transferOf = (log: Json) => ({
  tx: log.transactionHash,
  index: Number(log.logIndex),
  currency: 'USDT',
  from: log.topics[1].slice(26),
  to: PAYEE,
  units: BigInt(log.data),
});

const decode = (content: RawContent) => evmWire.decode(content, recordedTokens, (key) => key === PAYEE);

/** Reads the content of the block whose header is in the file `header`. */
const readsContent =
  (kind: 'logs' | 'receipts', header: string) =>
  (recording: Recording, { the }: Recorded): void => {
    const { ref, bloom, txCount } = headerIn(the(header));
    const context = { host: 'here', bloom, txCount };
    const found = decode({ block: ref, kind, bytes: bytesOf(recording), context });
    const logs: Json[] =
      kind === 'logs' ? recording.response.result : recording.response.result.flatMap((one: Json) => one.logs);
    const token = recordedTokens[0]?.address.toLowerCase();
    assert.equal(found, logs.filter(({ address }) => address === token).map(transferOf));
    assert.ok(found.length > 0 || ref.number !== 13, 'the block with payments has some');
  };

/** Content that the node does not have is a fault, never an empty block. */
async function asksUnknownContent(recording: Recording, recorded: Recorded): Promise<void> {
  recorded.played.play(recorded.the('eth_getBlockByHash.known'), recording);
  const { ref } = headerIn(recorded.the('eth_getBlockByHash.known'));
  const thorough = recording.request.method === 'eth_getBlockReceipts';
  await following(recorded, (node) =>
    expectFault(async () => decode(await node.content(ref, thorough)), 'node_block_unknown', recording.name),
  );
}

/** Attests the receipt's transaction in the receipt's block. */
const attests =
  (expected: 'holds' | 'gone') =>
  async (recording: Recording, recorded: Recorded): Promise<void> => {
    const block = recorded.the('eth_getBlockByNumber.number.hashes');
    recorded.played.play(recording, block);
    const { ref } = headerIn(block);
    const tx = recording.request.params[0];
    assert.is(await following(recorded, (node) => node.attest(ref, [tx])), expected);
    const { result } = recording.response;
    if (result !== null) {
      assert.equal(readReceipt(result, origin), { blockHash: result.blockHash, success: result.status === '0x1' });
    }
  };

/** A block whose header was not recorded: its only receipt says what the header has to. */
const readsOldBlock =
  (kind: 'logs' | 'receipts') =>
  (recording: Recording, { the }: Recorded): void => {
    const [receipt] = resultOf(the('pruned.eth_getBlockReceipts.old'));
    const block = { hash: receipt.blockHash, parent: '', number: Number(receipt.blockNumber), timeS: 0 };
    const context = { host: 'here', bloom: receipt.logsBloom, txCount: 1 };
    assert.equal(decode({ block, kind, bytes: bytesOf(recording), context }), receipt.logs.map(transferOf));
  };

/** Announcements end the wait and carry no data; an announced header is not taken for a block. */
async function hearsAnnouncements(recording: Recording, recorded: Recorded): Promise<void> {
  for (const message of recording.messages ?? []) {
    const bytes = Buffer.from(JSON.stringify(message));
    assert.is(isNotification(bytes), message.method === 'eth_subscription');
    assert.is(peekId(bytes), message.id ?? null);
    if (message.params?.result?.parentHash) {
      await expectFault(() => readHeader(message.params.result, origin), 'node_nonsense', recording.name);
    }
  }
  recorded.played.play(recording, recorded.the('eth_getBlockByNumber.latest'));
  await following(
    recorded,
    async (node) => {
      let heard = 0;
      node.onChange(() => {
        heard += 1;
      });
      await node.head();
      await until('every announcement is heard', () => heard >= 4);
    },
    'wsUrl',
  );
}

export const blockClaims: readonly Claim[] = [
  [/^eth_getBlockByHash\.(known|side)$/, asksHeader],
  [/^(postmerge\.)?eth_getBlockByNumber\.(earliest|latest|safe)$/, readsHeader],
  [/^eth_getBlockByNumber\.(finalized|latest|number.*|one)$/, asksHeader],
  [/^eth_getBlockByNumber\.pending$/, (file) => expectFault(() => headerIn(file), 'node_nonsense', file.name)],
  [
    /^eth_getBlockByHash\.unknown$/,
    async (file, recorded) => {
      recorded.played.play(file);
      assert.is(await following(recorded, (node) => node.header(file.request.params[0])), null);
    },
  ],
  [
    /^eth_getBlockByNumber\.above-head$/,
    async (file, recorded) => {
      recorded.played.play(file);
      const number = Number(file.request.params[0]);
      await following(recorded, async (node) => {
        await expectFault(() => node.range(number, number), 'node_range_broken', file.name);
        assert.is(await node.attest({ number, hash: `0x${'11'.repeat(32)}` }, []), 'unsure');
      });
    },
  ],
  [
    /^(postmerge\.)?eth_getBlockByNumber\.finalized(\.none)?$/,
    async (file, recorded) => {
      recorded.played.play(file);
      const expected = file.response.error ? null : refOf(file.response.result);
      assert.equal(await following(recorded, (node) => node.finalized()), expected);
    },
  ],
  [/^eth_getLogs\.(blockHash|range)$/, readsContent('logs', 'eth_getBlockByHash.known')],
  [/^eth_getLogs\.empty$/, readsContent('logs', 'eth_getBlockByNumber.latest')],
  [/^eth_getLogs\.side-blockHash$/, readsContent('logs', 'eth_getBlockByHash.side')],
  [/^eth_getLogs\.unknown-blockHash$/, asksUnknownContent],
  [/^eth_getBlockReceipts\.unknown$/, asksUnknownContent],
  [/^eth_getBlockReceipts\.transfers$/, readsContent('receipts', 'eth_getBlockByHash.known')],
  [/^eth_getBlockReceipts\.empty$/, readsContent('receipts', 'eth_getBlockByNumber.latest')],
  [/^eth_getBlockReceipts\.side$/, readsContent('receipts', 'eth_getBlockByHash.side')],
  // BSC's first block: seven system transactions and nothing else.
  [/^eth_getBlockReceipts\.one$/, readsContent('receipts', 'eth_getBlockByNumber.one')],
  [/^pruned\.eth_getBlockReceipts\.old$/, readsOldBlock('receipts')],
  [/^pruned\.eth_getLogs\..*$/, readsOldBlock('logs')],
  [/^eth_getTransactionReceipt\.(ok|inner-revert|system)$/, attests('holds')],
  [/^eth_getTransactionReceipt\.(failed|null|pending|after-reorg|creation)$/, attests('gone')],
  [/^restarted\.eth_getTransactionReceipt\.recent$/, attests('gone')],
  [/^eth_subscribe\./, hearsAnnouncements],
];
