/**
 * An operator's acts on the signer's own folder, of which no database knows: the engine sees them at the signer's
 * socket.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSignerFreezer } from '../../../indexers/payouts/signer-freeze.ts';
import { openLog } from '../../../src/lib/log.ts';
import { approverOf, signApproval } from '../../../src/signer/approval.ts';
import { openSigner } from '../../../src/signer/client.ts';
import { signerFiles } from '../../../src/signer/files.ts';
import { thawText } from '../../../src/signer/freeze.ts';
import type { PolicySettings } from '../../../src/signer/policy.ts';
import { serveSigningService } from '../../../src/signer/server.ts';
import { handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { makeSignerFolder, openSigningServiceIn, policySettings } from '../../support/temp-signer.ts';

const anna = new Uint8Array(32).fill(1);
const log = openLog('test', 'silent');

async function open() {
  const clock = handClock(1_800_000_000_000);
  const folder = makeSignerFolder({ ...policySettings, approvers: [{ name: 'Anna', key: approverOf(anna) }] }, false);
  const files = signerFiles(folder.dir);
  const temp = openTempDatabase();
  const { database } = temp;
  const signer = openSigner({ socket: files.socket, timeoutMs: 10_000 });
  const start = async () => {
    const opened = openSigningServiceIn(folder.dir, clock);
    const service = { socket: files.socket, service: opened.service, log, prepareToSign: () => Promise.resolve() };
    const served = await serveSigningService(service);
    return async () => {
      await served.close();
      opened.close();
    };
  };
  let stop = await start();
  const engines = (['test:one', 'test:two'] as const).map((network) =>
    createSignerFreezer({ network, signer, database, clock, log }),
  );
  return {
    clock,
    signer,
    database,
    /** Edits the policy by hand, and restarts the signer. */
    async edit(change: (policy: PolicySettings) => void) {
      const policy = JSON.parse(readFileSync(files.policy, 'utf8')) as PolicySettings;
      change(policy);
      writeFileSync(files.policy, JSON.stringify(policy));
      await stop();
      stop = await start();
    },
    async look() {
      clock.advance(30_000);
      for (const engine of engines) await engine.renew();
    },
    alarms: async () => (await database.listAlarms(9)).map(({ code }) => code),
    entries: async () => (await database.listAudit(9)).map(({ operator, command }) => `${operator}: ${command}`),
    async close() {
      await signer.close();
      await stop();
      temp.close();
      folder.remove();
    },
  };
}

const scene = (name: string, work: (place: Awaited<ReturnType<typeof open>>) => Promise<void>): void =>
  void test(name, async () => {
    const place = await open();
    await work(place).finally(place.close);
  });

scene('a cap and an approver that are changed in policy.json are seen after the restart', async (place) => {
  await place.look();
  await place.look();
  assert.equal([await place.entries(), await place.alarms()], [[], []]);
  const eve = approverOf(new Uint8Array(32).fill(2));
  await place.edit((policy) => {
    policy.approvers.push({ name: 'Eve', key: eve });
    const { USDT } = policy.networks['test:one']?.caps ?? {};
    assert.ok(USDT);
    USDT.day = '90000';
  });
  await place.look();
  await place.look();
  assert.equal([await place.entries(), await place.alarms()], [['quayside: signer policy'], ['signer_policy_changed']]);
  const [entry] = await place.database.listAudit(1);
  assert.equal(
    [entry?.before, entry?.after],
    [
      { [`approver ${eve}`]: null, 'test:one caps.USDT.day': '600' },
      { [`approver ${eve}`]: 'Eve', 'test:one caps.USDT.day': '90000' },
    ],
  );
});

scene('a freeze at the signer’s socket, and its end by an approver, are entered with who did it', async (place) => {
  await place.look();
  const { fingerprint, freeze } = await place.signer.freeze('a laptop was stolen', 'root');
  assert.ok(freeze);
  await place.look();
  assert.equal(await place.entries(), ['root: signer freeze']);
  const untilS = Math.floor(place.clock.nowMs() / 1000) + 600;
  await place.signer.thaw(signApproval(anna, thawText(fingerprint, freeze), untilS));
  await place.look();
  assert.equal(await place.entries(), ['Anna: signer thaw', 'root: signer freeze']);
  assert.equal(await place.alarms(), []);
});

test.run();
