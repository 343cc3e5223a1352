/** The second readings of what real nodes answered: they agree with the production readers of the same blocks. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compareTransfers } from '../../../scripts/shadow/difference.ts';
import { openSecondReading } from '../../../scripts/shadow/second-reading.ts';
import type { Family, NodeOptions } from '../../../src/chains/chain.ts';
import { chains } from '../../../src/chains/index.ts';
import type { BlockRef } from '../../../src/core/block.ts';
import type { Token } from '../../../src/core/transfer.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openRecorded, recordedTokens } from '../../chains/evm/recorded-claims.ts';
import { startRecordedNode as startAgave } from '../../support/agave-recordings.ts';
import {
  readRecording,
  recordingNames,
  startRecordedNode as startJavaTron,
} from '../../support/java-tron-recordings.ts';

const limits = { requestTimeoutMs: 10_000, responseBytesMax: 8_000_000, idleMsMax: 10_000, concurrencyMax: 4 };

/** Reads a block both ways. @returns how many transfers it has */
async function readTwice(family: Family, url: string, tokens: readonly Token[], block: BlockRef): Promise<number> {
  const options: NodeOptions = { url, tokens, ...limits };
  const node = (await chains[family].node()).openNode(options);
  const reading = openSecondReading[family](options, systemClock);
  try {
    const wire = await chains[family].wire();
    const follower = wire.decode(await node.content(block, false), tokens, () => true);
    assert.equal(compareTransfers('decoded', follower, await reading.read(block)), []);
    return follower.length;
  } finally {
    await Promise.all([node.close(), reading.close()]);
  }
}

for (const version of ['geth-1.16.9', 'bsc-1.7.3']) {
  test(`${version}: receipts and logs`, async () => {
    const { the, played } = await openRecorded(version, '1', {});
    const header = the('eth_getBlockByHash.known');
    played.play(header, the('eth_getLogs.blockHash'), the('eth_getBlockReceipts.transfers'));
    const { hash, parentHash: parent, number, timestamp } = header.response.result;
    try {
      const block = { hash, parent, number: Number(number), timeS: Number(timestamp) };
      assert.ok((await readTwice('evm', played.httpUrl, recordedTokens, block)) > 0);
    } finally {
      await played.close();
    }
  });
}

test('java-tron: a block of every kind of transaction, its infos at once and one by one', async () => {
  const node = await startJavaTron();
  const infos = recordingNames.filter((name) => name.startsWith('gettransactioninfobyid.')).map(readRecording);
  const block = readRecording('getblock.many.detail-true');
  node.answers.set('/wallet/getblock', () => block);
  node.answers.set('/wallet/gettransactioninfobyblocknum', () => readRecording('gettransactioninfobyblocknum.many'));
  node.answers.set('/wallet/gettransactioninfobyid', ({ value }) => {
    const found = infos.find(({ response }) => response.id === value);
    return found ?? readRecording('gettransactioninfobyid.missing');
  });
  const usdt: Token = { symbol: 'USDT', address: 'TZ1u2fNFhEuUfpZ9tw4zUV84G1TMLMoL1E', decimals: 6 };
  const { parentHash: parent, number, timestamp } = block.response.block_header.raw_data;
  try {
    const ref = { hash: block.response.blockID, parent, number, timeS: Math.floor(timestamp / 1000) };
    assert.is(await readTwice('tron', node.url, [usdt], ref), 11);
  } finally {
    await node.close();
  }
});

test('Agave: a block with all details and with accounts only', async () => {
  const node = await startAgave();
  node.play('getBlock.accounts', 'getBlock.full');
  const usdc: Token = { symbol: 'USDC', address: '5NR8o7PSqYbvC2VJkNnvb8mPdUXE8hQDUMzJbdVboCpf', decimals: 6 };
  const block = {
    hash: '4tq8qb7ZY6gFhLCyTCWnFK3SCSnb5rH5BXN3Ar7NJ6Xg',
    parent: 'DW5AHZQevw6oeqFtAHSaKVkvCkJHfY1LwmGBNUwhnHHg',
    number: 6,
    timeS: 1_795_338_739,
  };
  try {
    assert.ok((await readTwice('solana', node.httpUrl, [usdc], block)) > 0);
  } finally {
    await node.close();
  }
});

test.run();
