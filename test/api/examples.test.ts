/** Every request example of the OpenAPI document is accepted, and is answered with what the document says. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { apiEndpoints } from '../../src/api/app.ts';
import type { OpenApiDocument } from '../../src/api/openapi.ts';
import { startApi } from '../support/api-server.ts';
import { walkExamples } from './example-calls.ts';

const api = await startApi({ simulate: async () => [`0x${'5e'.repeat(32)}`] });
test.after(() => api.close());

test('every request example is answered as the document says', async () => {
  // Only the schemas of the endpoints are used.
  const endpoints = apiEndpoints({ clock: api.clock, simulate: async () => [] } as unknown as Parameters<
    typeof apiEndpoints
  >[0]);
  const document = (await (await fetch(`${api.baseUrl}/openapi.json`)).json()) as OpenApiDocument;
  const count = await walkExamples({
    document,
    suffix: 'a',
    async make({ anchor }, { method, path, body }) {
      const endpoint = endpoints.find(({ doc }) => doc.operationId === anchor);
      const answer = await api.send(method, path, body as object | undefined);
      assert.is(answer.status, endpoint?.status ?? 200, `${anchor}: ${answer.text}`);
      const read = endpoint?.doc.answer.schema.safeParse(answer.json);
      assert.ok(read?.success, `${anchor}: ${answer.text} ${read?.error}`);
      assert.equal(read?.data, answer.json, `${anchor} answers no more than what is documented`);
    },
    async read(path) {
      await api.database().refunds.advance(api.clock.nowMs(), 10);
      return (await api.send('GET', path)).json;
    },
    async pay(id) {
      const session = await api.database().sessions.find(id);
      const option = session?.options.find(({ network, currency }) => network === 'ethereum' && currency === 'USDT');
      assert.ok(session && option);
      const chain = api.chain('ethereum');
      const { currency, units } = option;
      await chain.confirm(await chain.mine([{ to: session.addresses.evm ?? '', currency, units }]));
    },
  });
  assert.is(count, endpoints.length);
});

test.run();
