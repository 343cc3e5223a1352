/** Which numbers of our wallets are used by what is not known here. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createUnknownNumbers } from '../../../indexers/payouts/unknown-numbers.ts';

const refund = 'aa'.repeat(20);
const gas = 'bb'.repeat(20);

/** One transaction of the refund wallet is final, on a node whose answers name its final state or not. */
function openScene() {
  const scene = { known: 0, final: 1 as number | null };
  const find = createUnknownNumbers({
    network: { key: 'test:one', family: 'evm' },
    node: {
      sequence: async (key) => (key === gas ? { final: 0, head: 0, pending: 0 } : { ...scene, head: 1, pending: 1 }),
      pending: async (key) => (key === gas ? 0 : 1),
      balance: async () => ({ native: 0n, tokens: {} }),
    },
    database: {
      nextNonce: async (_, key) => {
        const nonce = key === gas ? 0 : scene.known;
        return { nonce, unsignedNonce: nonce, lastTx: null };
      },
    },
    wallets: { own: async () => ({ refund, gas, treasury: 'cc'.repeat(20), former: [], feeUnitsMax: 1n }) },
  });
  return { scene, find };
}

test('a number that is final and was not given out here is unknown until the watch over the wallets has judged it', async () => {
  const { scene, find } = openScene();
  assert.match(String(await find()), /has used number 0 in what is not final yet and not known here/);
  // The wallet is halted at the number after it, or what used it was learned.
  scene.known = 1;
  assert.is(await find(), null);
});

test('it is unknown, too, while the node does not name its final state', async () => {
  const { scene, find } = openScene();
  scene.final = null;
  assert.match(String(await find()), /has used number 0/);
  scene.known = 1;
  assert.is(await find(), null);
});

test.run();
