/** The client with a java-tron that reorganises while it is read, or is configured differently than expected. */
import * as assert from 'uvu/assert';
import { solidUrlOf } from '../../../../src/chains/tron/node/http.ts';
import { column } from '../../../support/fields.ts';
import { type Lie, startLiar } from '../../../support/liar.ts';
import { faultOf } from '../../../support/refusal.ts';
import { lyingSuiteOf } from '../../lying-bench.ts';

const BLOCK = '/wallet/getblock';
const INFOS = '/wallet/gettransactioninfobyblocknum';

const { test, both } = lyingSuiteOf('TRON node', 'tron');

both('content is requested in an order that leaves no gap: block, infos, header', async (node, bench) => {
  const { liar, block, read } = bench;
  liar.asked.length = 0;
  assert.equal(column(await read(node, false), 'units'), [2n, 3n]);
  assert.equal(liar.asked, [
    [BLOCK, { id_or_num: String(block.number), detail: true }],
    [INFOS, { num: block.number }],
    [BLOCK, { id_or_num: String(block.number), detail: false }],
  ]);
});

both('late infos are first doubtful, then missing, and read once they exist', async (node, { liar, read }) => {
  liar.tell((call) => (call === INFOS ? [] : undefined));
  assert.is((await faultOf(read(node, false))).code, 'node_content_doubtful');
  assert.is((await faultOf(read(node, true))).code, 'node_infos_missing');
  liar.heal();
  assert.is((await read(node, true)).length, 2);
});

both('a block that was reorganised away while it was read is not used', async (node, { tell, block, read }) => {
  const blockID = `${block.hash.slice(0, -1)}${block.hash.endsWith('f') ? 'e' : 'f'}`;
  const lies: readonly Lie[] = [
    (call, { detail }, honest) => (call === BLOCK && detail ? { ...honest, blockID } : undefined),
    (call, { detail }, honest) => (call === BLOCK && !detail ? { ...honest, blockID } : undefined),
    (call, { detail }) => (call === BLOCK && !detail ? {} : undefined),
  ];
  for (const [at, lie] of lies.entries()) {
    tell(lie);
    assert.is((await faultOf(read(node, false))).code, 'node_block_unknown', ['before', 'after', 'gone'][at]);
  }
});

both('the solidified chain is read next to the full node, at solid_url, or not at all', async (node, bench) => {
  const { own, open, block } = bench;
  assert.is(solidUrlOf(new URL('http://10.0.0.5:8090')).href, 'http://10.0.0.5:8091/');
  assert.is(solidUrlOf(new URL('https://gate.example/tron?key=1')).href, 'https://gate.example/tron?key=1');
  const final = own.world.finalized().number;
  assert.is((await node.finalized())?.number, final);
  const other = await startLiar(own);
  const elsewhere = open({ finalityUrl: other.httpUrl });
  assert.is((await elsewhere.finalized())?.number, final);
  assert.equal(other.asked, [['/walletsolidity/getblock', { detail: false }]]);
  const nowhere = open({ finalityUrl: null });
  assert.is(await nowhere.finalized(), null);
  const fault = await faultOf(nowhere.holdings(['71'.repeat(20)], await nowhere.head()));
  assert.match(fault.message, /configured \(solid_url\)/);
  const closed = open({ finalityUrl: 'http://127.0.0.1:1' });
  const unreachable = await faultOf(closed.finalized());
  assert.is(unreachable.code, 'node_unreachable');
  assert.match(unreachable.message, /^\/walletsolidity\/getblock at 127\.0\.0\.1:1: .* at the network's solid_url\. /);
  assert.equal(await closed.head(), block, 'the rest is still read');
  for (const { close } of [elsewhere, nowhere, closed, other]) await close();
});

both('a path prefix and a key in the query are kept; credentials never appear in messages', async (_, bench) => {
  const { liar, open } = bench;
  const url = new URL(liar.httpUrl);
  url.username = 'operator';
  url.password = 'hunter2';
  const gateway = open({ url: `${url.href}gate/?key=abc` });
  liar.lies.text = () => '{"Error":"no"}';
  liar.asked.length = 0;
  const fault = await faultOf(gateway.head());
  assert.is(liar.asked[0]?.[0], '/gate/wallet/getblock?key=abc');
  assert.not.match(fault.message, /hunter2|abc/);
  await gateway.close();
});

test.run();
