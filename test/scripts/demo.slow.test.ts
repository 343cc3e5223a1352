/**
 * `npm run demo` beside an installation that is not quite ready; `test/e2e/boot.slow.test.ts` runs it against a whole
 * one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runProgram } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-demo-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('a session is created only when the wanted network is followed', async () => {
  const unfollowed = ['test:tron', 'test:solana'];
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const left = asked.length === 3 ? unfollowed.slice(1) : unfollowed;
    const networks = left.map((network) => ({ network, reason: 'starting' }));
    response.end(JSON.stringify({ status: 'ok', networks_not_followed: networks }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const own = { merchant_id: 'm', api_key: 'k', api_secret: 's', webhook_secret: 'w' };
  const credentials = { base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...own };
  writeFileSync(join(folder, 'sandbox-credentials.json'), JSON.stringify(credentials), { mode: 0o600 });
  const { code, stderr } = await runProgram(['scripts/demo.ts', '--network', 'tron'], { QUAYSIDE_DATA_DIR: folder });
  server.close();
  // It goes on then, to a database that this folder lacks.
  assert.is(code, 1);
  assert.not.match(stderr, /demo_timeout|demo_not_ready/);
  assert.equal(asked, ['/readyz', '/readyz', '/readyz'], stderr);
});

test.run();
