/** The credit policy as settings say it: presets, what an operator's file makes of them, and what is refused. */
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { minorToPar } from '../../src/core/money.ts';
import { openConfigs } from './operator-config.ts';

const { load, problems, close } = openConfigs();
test.after(close);

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/60'/0'/0").publicExtendedKey;
const node = { url: 'ws://127.0.0.1:8546', xpub };

test('TRON credits what is deep and final, or as the settings say', () => {
  const policyOf = (settings: object) =>
    load({ networks: { tron: { ...node, ...settings } } }).networks[0]?.confirmations;
  assert.equal(policyOf({}), [{ blocks: 19, finality: 'finalized' }]);
  assert.equal(policyOf({ confirmations: { blocks: 30 } }), [{ blocks: 30, finality: 'finalized' }]);
  assert.equal(policyOf({ confirmations: { finality: null } }), [{ blocks: 19 }]);
  const finalized = { blocks: null, usual: 21 };
  assert.equal(policyOf({ confirmations: finalized }), [{ finality: 'finalized', usual: 21 }]);
  assert.equal(policyOf({ solid_url: null, confirmations: { finality: null } }), [{ blocks: 19 }]);
});

test('small amounts need not be final where a tier says so; all money waits by default', () => {
  const policyOf = (settings: object) =>
    load({ networks: { solana: { url: 'ws://10.0.0.8:8900', ...settings } } }).networks[0]?.confirmations;
  const tiers = [{ from: '50.5', finality: 'finalized', usual: 32 }];
  assert.equal(policyOf({ confirmations: { finality: 'confirmed', usual: null, tiers } }), [
    { finality: 'confirmed' },
    { fromPar: 50_500_000_000_000_000_000n, finality: 'finalized', usual: 32 },
  ]);
  assert.equal(policyOf({}), [{ finality: 'finalized', usual: 32 }]);
});

test('a policy has tiers by amount; what an operator names joins the preset’s, and null removes', () => {
  const policyOf = (preset: string, confirmations: unknown, more = {}) =>
    load({ networks: { [preset]: { ...node, confirmations, ...more } } }).networks[0]?.confirmations;
  const large = { fromPar: minorToPar(1_000_000n), finality: 'finalized', usual: 64 };
  assert.equal(policyOf('ethereum', {}), [{ blocks: 12 }, large]);
  assert.equal(policyOf('ethereum', { blocks: 20 }), [{ blocks: 20 }, large]);
  assert.equal(policyOf('ethereum', { finality: 'finalized' }), [{ blocks: 12, finality: 'finalized' }, large]);
  assert.equal(policyOf('ethereum', { tiers: null }), [{ blocks: 12 }]);
  assert.equal(policyOf('ethereum', { blocks: 30, tiers: null }), [{ blocks: 30 }]);
  assert.equal(policyOf('bsc', {}), [{ finality: 'finalized', usual: 3 }]);
  assert.equal(policyOf('bsc', { blocks: 15 }), [{ blocks: 15, finality: 'finalized' }], 'both must hold');
  assert.equal(policyOf('bsc', { blocks: 15, finality: null }), [{ blocks: 15 }]);
  const rollup = {
    finality: 'sequencer',
    blocks: null,
    tiers: [
      { from: '100.00', finality: 'safe', usual: 60 },
      { from: '10000.00', finality: 'finalized', usual: 100 },
    ],
  };
  assert.equal(policyOf('ethereum', rollup), [
    { finality: 'sequencer' },
    { fromPar: minorToPar(10_000n), finality: 'safe', usual: 60 },
    { fromPar: minorToPar(1_000_000n), finality: 'finalized', usual: 100 },
  ]);
  const two = { two_node_amount: '500', witness_url: 'http://10.0.0.6:8545' };
  const twoNodes = { fromPar: minorToPar(50_000n), secondNode: true };
  assert.equal(policyOf('ethereum', {}, two), [{ blocks: 12 }, twoNodes, large]);
  assert.equal(policyOf('tron', {}, two), [{ blocks: 19, finality: 'finalized' }, twoNodes]);
});

const refused: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  [
    'deeper than reorg_depth_max',
    { ethereum: { ...node, confirmations: { blocks: 200 } } },
    /^networks\.ethereum\.confirmations\.blocks: 200, expected at most reorg_depth_max \(128\)/,
  ],
  [
    'an unknown policy',
    { ethereum: { ...node, confirmations: 'hope' } },
    /^networks\.ethereum\.confirmations: expected \{"blocks"/,
  ],
  [
    'finality that the node does not show',
    { tron: { ...node, solid_url: null } },
    /^networks\.tron\.solid_url: null, expected an address: "finality" waits/,
  ],
  ...['0', '1.001', 50].map(
    (amount) =>
      [
        `a small amount of ${JSON.stringify(amount)}`,
        { bsc: { ...node, two_node_amount: amount } },
        /^networks\.bsc\.two_node_amount: .*expected an amount of stablecoins as text, such as "50\.00"$/,
      ] as const,
  ),
  [
    'tiers that do not rise',
    {
      ethereum: {
        ...node,
        confirmations: {
          tiers: [
            { from: '9.00', blocks: 20 },
            { from: '9', blocks: 30 },
          ],
        },
      },
    },
    /^networks\.ethereum\.confirmations\.tiers\[1\]\.from: expected more than in the tier before/,
  ],
  [
    'a tier of finality without its usual depth',
    { ethereum: { ...node, confirmations: { tiers: [{ from: '9.00', finality: 'safe' }] } } },
    /^networks\.ethereum\.confirmations\.tiers\[0\]\.usual: missing, expected a whole number/,
  ],
  [
    'a finality that nobody knows',
    { ethereum: { ...node, confirmations: { finality: 'soon' } } },
    /^networks\.ethereum\.confirmations\.finality: "soon", expected one of "sequencer", "confirmed", "safe", "finalized"$/,
  ],
  [
    'a finality that the family’s nodes do not show',
    { tron: { ...node, confirmations: { tiers: [{ from: '9.00', finality: 'safe', usual: 9 }] } } },
    /^networks\.tron\.confirmations: "safe" is nothing that tron nodes say of a block, expected finality finalized/,
  ],
  [
    'an amount from which two nodes must agree, and no second node',
    { bsc: { ...node, two_node_amount: '1000.00' } },
    /^networks\.bsc\.witness_url: missing, expected a second node of the same chain: two_node_amount/,
  ],
];

for (const [what, networks, line] of refused) {
  test(`refused with one line: ${what}`, () => {
    const lines = problems({ networks });
    assert.is(lines.length, 1);
    assert.match(lines[0] ?? '', line);
  });
}

test.run();
