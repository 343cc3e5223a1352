/**
 * A signer that is killed at each step of signing: a repeated request gets the same bytes, and there is one signature.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SignedSpend } from '../../src/chains/spend.ts';
import { Fault } from '../../src/core/fault.ts';
import { openSigner } from '../../src/signer/client.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { openJournal } from '../../src/signer/journal.ts';
import type { SignRequest } from '../../src/signer/protocol.ts';
import { handClock } from '../support/hand-clock.ts';
import { endAll } from '../support/processes.ts';
import { startSigner } from '../support/signer-process.ts';
import { firstOf, makeSignerFolder, openSigningServiceIn, refundOf, terms, usdt } from '../support/temp-signer.ts';

const folders: { remove(): void }[] = [];
test.after(async () => {
  await endAll('SIGKILL');
  for (const folder of folders) folder.remove();
});

function newFolder(): string {
  const folder = makeSignerFolder(undefined, false);
  folders.push(folder);
  return folder.dir;
}

const request = firstOf(refundOf('rf_1', usdt(5)), 1, { fence: 3 });

/** Signatures of a signer that is not killed. */
function undisturbed() {
  const { service, close } = openSigningServiceIn(newFolder(), handClock());
  try {
    return service.sign(request);
  } finally {
    close();
  }
}

/** Sends requests to a signer that is killed at a moment, or never. @returns for each what it signs, or its refusal */
async function ask(dir: string, moment: string, ...requests: readonly SignRequest[]) {
  const signer = startSigner([dir, moment], {}, new URL('./dying-signer.ts', import.meta.url));
  assert.ok(await signer.ready, signer.output());
  const client = openSigner({ socket: signerFiles(dir).socket, timeoutMs: 30_000 });
  const answers: (SignedSpend | string)[] = [];
  for (const asked of requests) {
    const answer = client.sign(asked).catch((error) => {
      if (error instanceof Fault) return error.code;
      throw error;
    });
    answers.push(await answer);
  }
  await client.close();
  signer.kill('SIGKILL');
  assert.is((await signer.ended).signal, 'SIGKILL', signer.output());
  return answers;
}

const moments = [
  ['before the commit', 0],
  ['within the commit', 0],
  ['after the commit', 1],
] as const;

for (const [moment, signatures] of moments) {
  test(`killed ${moment}: a later request gets the same bytes`, async () => {
    const dir = newFolder();
    assert.equal(await ask(dir, moment, request), ['signer_unreachable']);
    const journal = openJournal(signerFiles(dir).journal);
    assert.is(journal.entries('test:one', 0, 10).length, signatures);
    assert.is(journal.fence('test:one'), signatures * 3);
    journal.close();
    const expected = undisturbed();
    // After the signature was recorded, other terms change nothing; before, they would.
    const later = await ask(dir, 'never', request, { ...request, terms: terms(9) }, { ...request, fence: 2 });
    assert.equal(later, [expected, expected, 'signer_refused_fence']);
  });
}

test.run();
