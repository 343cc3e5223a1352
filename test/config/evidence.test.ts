/**
 * The settings of certificates.
 * @module
 */
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openConfigs } from '../support/operator-config.ts';

const { load, problems, close } = openConfigs();
test.after(close);

const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/60'/0'/0");
const networks = { bsc: { url: 'ws://127.0.0.1:8546', xpub: account.publicExtendedKey } };

test('certificates are made at night by default; a time, never, and networks without any can be set', () => {
  assert.equal(load({ networks }).evidence, { nightly: '02:15', except: [] });
  assert.equal(load({ networks, evidence: { nightly: null } }).evidence, { nightly: null, except: [] });
  const evidence = { nightly: '23:59', except: ['bsc'] };
  assert.equal(load({ networks, evidence }).evidence, evidence);
  const variables = { QUAYSIDE_EVIDENCE__NIGHTLY: '04:00', QUAYSIDE_EVIDENCE__EXCEPT: 'live:bsc' };
  assert.equal(load({ networks }, variables).evidence, { nightly: '04:00', except: ['live:bsc'] });
});

test('a time that does not exist and a network that is not configured are named', () => {
  for (const nightly of ['24:00', '2:15', '02:60', true]) {
    assert.equal(problems({ networks, evidence: { nightly } }), [
      `evidence.nightly: ${JSON.stringify(nightly)}, expected a time of day in UTC such as "02:15", or null`,
    ]);
  }
  assert.equal(problems({ networks, evidence: { except: ['solana'] } }), [
    'evidence.except[0]: "solana", expected one of bsc, live:bsc',
  ]);
});

test.run();
