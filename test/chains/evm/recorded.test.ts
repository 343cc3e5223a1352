/** Answers of real nodes, read by the code that reads nodes. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { blockClaims } from './recorded-blocks.ts';
import { openRecorded } from './recorded-claims.ts';
import { payoutClaims } from './recorded-payouts.ts';

const claims = [...blockClaims, ...payoutClaims];
const word = (value: number | bigint) => `0x${value.toString(16).padStart(64, '0')}`;

/** Calls that Quayside does not make. */
const unasked =
  /^(net_version|web3_|eth_blockNumber|eth_getFinalized|eth_getTransaction(sBy|ReceiptsBy|DataAnd)|finality-lag)/;
const chainIds = { 'geth-1.16.9': 777_001, 'bsc-1.7.3': 7_714 };

for (const [version, chainId] of Object.entries(chainIds)) {
  const recorded = await openRecorded(version, String(chainId), {
    // Requests that clients make besides those that a recording is about.
    eth_chainId: () => `0x${chainId.toString(16)}`,
    eth_syncing: () => false,
    eth_getCode: () => '0x60',
    eth_getBalance: () => '0xde0b6b3a7640000',
    eth_estimateGas: () => '0xea60',
    eth_getTransactionCount: () => '0x7',
    eth_call: ([{ data }]) => word(data.startsWith('0x70a08231') ? 10n ** 12n : data === '0x313ce567' ? 6 : 0),
  });
  test.after(() => recorded.played.close());

  for (const recording of recorded.recordings.values()) {
    if (unasked.test(recording.name)) continue;
    test(`${version}: ${recording.name} is read`, async () => {
      const readers = claims.filter(([files]) => files.test(recording.name));
      assert.ok(readers.length > 0, `no reader claims test/fixtures/evm/${version}/${recording.name}.json: add one`);
      for (const [, read] of readers) await read(recording, recorded);
    });
  }
}

test.run();
