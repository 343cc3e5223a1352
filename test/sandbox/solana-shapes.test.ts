/**
 * The simulated Solana node's answers have the shape of the samples that the decoder is held to: the same members, of
 * the same types.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { solanaAccountKey, startSolanaNode } from '../support/solana-node.ts';

const sample = (name: string) => JSON.parse(readFileSync(`test/vectors/solana-${name}.json`, 'utf8'));

/** Returns every path to a value and the value's type, lists as one item. Errors and their names differ by case. */
function shapeOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => shapeOf(item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [`${path} ${value === null ? 'null' : typeof value}`];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'err' || name === 'Err' ? [`${path}.${name}`] : shapeOf(inner, `${path}.${name}`),
  );
}
const shapes = (value: unknown): string[] => [...new Set(shapeOf(value))].sort();

test('a block, with and without its transactions, and the announcement of a slot', async () => {
  const node = await startSolanaNode({ seed: 'shapes' });
  const socket = new WebSocket(node.url);
  try {
    await new Promise((resolve) => socket.once('open', resolve));
    const announced = new Promise((resolve) => {
      socket.on('message', (data) => {
        const message = JSON.parse(data.toString());
        if (message.method) resolve(message);
        else node.world.mine();
      });
    });
    for (let n = 0; n < 30; n++) node.pay(solanaAccountKey(`payee ${n}`), 5n, n % 5 ? 'direct' : 'failed');
    const { number } = node.world.mine();
    const ask = async (transactionDetails: string) =>
      (
        await node.ask('getBlock', [
          number,
          { transactionDetails, maxSupportedTransactionVersion: 1, commitment: 'confirmed' },
        ])
      ).result;
    const [block, header] = [await ask('accounts'), await ask('none')];
    assert.equal(shapes(header), shapes(sample('header').result));
    // An empty account has no float, which the sample's accounts all have.
    const own = shapes(block).filter((shape) => !shape.endsWith('uiAmount null'));
    assert.equal(
      own,
      shapes(sample('block').result).filter((shape) => !shape.endsWith('uiAmount null')),
    );
    socket.send('{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}');
    assert.equal(shapes(await announced), shapes(sample('slot')));
  } finally {
    socket.terminate();
    await node.close();
  }
});

test.run();
