/** Warnings about settings that make it easier to take money from a live installation. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { safetyWarnings } from '../../src/app/startup-banner.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-warnings-'));
test.after(() => rmSync(dir, { recursive: true, force: true }));

const alone = { key: 'live:one', mode: 'live', sandbox: false } as const;
const watched = { ...alone, key: 'live:two', witnessUrl: 'http://second.example' } as const;
const trial = { ...alone, key: 'test:one', mode: 'test' } as const;
const child = { dir, unlock: { kind: 'prompt' } } as const;
const service = { dir, unlock: { kind: 'external' } } as const;
const codes = (input: Parameters<typeof safetyWarnings>[0], uid?: number) =>
  safetyWarnings(input, uid).map(({ code }) => code);

test('a signer of the server’s user, and live networks with one node, are named', () => {
  assert.equal(codes({ signer: child, networks: [watched] }), ['signer_same_user']);
  assert.equal(codes({ signer: service, networks: [watched] }), []);
  const [warning, ...others] = safetyWarnings({ signer: service, networks: [alone, watched, trial] });
  assert.equal({ code: warning?.code, others }, { code: 'no_second_node', others: [] });
  assert.match(warning?.message ?? '', /on live:one are credited/);
});

test('a separate service that has the server’s user is named too', () => {
  writeFileSync(join(dir, 'signer.sock'), '');
  const uid = process.getuid?.() ?? 0;
  assert.equal(codes({ signer: service, networks: [watched] }, uid), ['signer_same_user']);
  assert.equal(codes({ signer: service, networks: [watched] }, uid + 1), []);
});

test('test networks and sandboxes need no warning; what only receives needs a second node', () => {
  assert.equal(codes({ signer: child, networks: [trial, { ...alone, sandbox: true }] }), []);
  assert.equal(codes({ signer: null, networks: [alone, watched] }), ['no_second_node'], 'it only receives');
  assert.equal(codes({ signer: null, networks: [watched] }), []);
});

test.run();
