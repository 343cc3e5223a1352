import * as assert from 'uvu/assert';
import { faultOf } from '../../../conformance/chain.ts';
import { lyingSuite } from '../lying-bench.ts';

const { test, over } = lyingSuite('EVM node over HTTP that goes wrong');

over('http', 'each refusal by status has a code and quotes the server', async (node, { proxy, block }) => {
  proxy.lies.text = () => '<h1>Bad\nday</h1>';
  for (const [status, code] of [
    [429, 'node_rate_limited'],
    [401, 'node_refused'],
    [403, 'node_refused'],
    [404, 'node_error'],
    [500, 'node_error'],
    [503, 'node_error'],
    [302, 'node_error'],
  ] as const) {
    proxy.lies.status = status;
    const fault = await faultOf(node.head());
    assert.is(fault.code, code, `${status}`);
    assert.is(fault.kind, 'transient');
    assert.match(fault.message, `HTTP status ${status} "<h1>Bad day</h1>"`);
  }
  delete proxy.lies.status;
  assert.is((await faultOf(node.head())).code, 'node_nonsense', 'a page with status 200');
  delete proxy.lies.text;
  assert.equal(await node.header(block.hash), block);
  assert.is(node.health().connected, true);
});

over('http', 'credentials in the URL are sent as a header, and appear in no message', async (_, { proxy, open }) => {
  const port = new URL(proxy.httpUrl).port;
  const node = open({ url: `http://me:hunter%212@127.0.0.1:${port}/v3/c0ffee` });
  await node.head();
  assert.is(proxy.authorizations.at(-1), `Basic ${Buffer.from('me:hunter!2').toString('base64')}`);
  proxy.lies.status = 401;
  const { message } = await faultOf(node.head());
  for (const secret of ['hunter', 'c0ffee']) assert.not.ok(message.includes(secret), message);
  await node.close();
});

test.run();
