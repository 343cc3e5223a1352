/**
 * Certificates: their canonical form and signature, and what verification refuses.
 * @module
 */
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Kept, listFileOf, openArchive } from '../../src/evidence/archive.ts';
import { type ListLine, openListWriter, readLine, writeLine } from '../../src/evidence/block-list.ts';
import {
  type Certificate,
  canonicalText,
  certificateText,
  FORMAT,
  readCertificate,
  signCertificate,
} from '../../src/evidence/certificate.ts';
import { openSigningKey, signingKey, signingKeyFile, verifySignature } from '../../src/evidence/signing-key.ts';
import { verifyEvidence } from '../../src/evidence/verify.ts';
import { refusalOf } from '../support/refusal.ts';

const NETWORK = 'live:bsc';
const SPKI_PREFIX = '302a300506032b6570032100';
const PKCS8_PREFIX = '302e020100300506032b657004220420';
const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`;

const privateKeyOf = (seed: string) =>
  createPrivateKey({ key: Buffer.from(PKCS8_PREFIX + seed, 'hex'), format: 'der', type: 'pkcs8' });

/** Test 1 and 2 of RFC 8032, 7.1. */
const vectors = [
  {
    seed: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    publicKey: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    text: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    seed: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    text: 'r',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
];

function inFolder(work: (folder: string) => void | Promise<void>): () => Promise<void> {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quayside-evidence-'));
    try {
      await work(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** Keeps a certificate of these blocks, with one transfer in each tenth. */
async function keep(
  folder: string,
  from: number,
  to: number,
  found: { code: string; message: string }[] = [],
): Promise<Kept> {
  const archive = openArchive(folder, NETWORK);
  const list = openListWriter(archive.draftFile);
  await list.write({ kind: 'balance', address: '0xA', currency: 'USDT', onChain: 7n, inLedger: 7n });
  await list.write({
    kind: 'payout',
    id: 're_1',
    what: 'refund',
    currency: 'USDT',
    units: 3n,
    tx: '0xtx',
    number: from,
  });
  for (let number = from; number <= to; number++) {
    await list.write({ kind: 'block', number, hash: hashOf(number), parent: hashOf(number - 1), timeS: number });
    if (number % 10 !== 0) continue;
    const own = { tx: `0x${number}`, index: 1, currency: 'USDT', units: 7n, address: '0xA' };
    await list.write({ kind: 'transfer', ...own, sessionId: 'cs_1', state: 'confirmed' });
  }
  const totals = await list.close();
  if (!totals.first || !totals.last) throw new Error('there are blocks');
  return archive.keep(
    {
      format: FORMAT,
      release: '1.2.3',
      network: NETWORK,
      chain_id: '56',
      node: '127.0.0.1:8545',
      made_at: '2026-11-22T02:15:00.000Z',
      range: { from, to, blocks: totals.blocks, first: totals.first, last: totals.last },
      stored_blocks: 3,
      transfers: totals.transfers,
      payouts: totals.payouts,
      balances: {
        state: 'read',
        from_block: to,
        to_block: to,
        swept_by: 'signer',
        addresses: 1,
        on_chain: totals.onChain,
        in_ledger: totals.inLedger,
      },
      list: totals.list,
      differences: { count: found.length, listed: found },
      result: found.length === 0 ? 'complete' : 'differences',
    },
    openSigningKey(folder),
  );
}

test('signatures are those of RFC 8032, and of Node’s own crypto', () => {
  for (const { seed, publicKey, text, signature } of vectors) {
    const key = signingKey(privateKeyOf(seed));
    assert.is(key.publicKey, publicKey);
    assert.is(key.sign(text), signature);
    assert.is(sign(null, Buffer.from(text), privateKeyOf(seed)).toString('hex'), signature);
    assert.ok(verifySignature(publicKey, text, signature));
    assert.not(verifySignature(publicKey, `${text}x`, signature));
    assert.not(verifySignature(`${'0'.repeat(63)}2`, text, signature), 'a key that is no point of the curve');
  }
});

test(
  'the key is made at its first use, is the owner’s only, and stays the same',
  inFolder((folder) => {
    const { publicKey } = openSigningKey(folder);
    assert.is(statSync(signingKeyFile(folder)).mode & 0o777, 0o600);
    assert.is(openSigningKey(folder).publicKey, publicKey);
    chmodSync(signingKeyFile(folder), 0o644);
    assert.is(
      refusalOf(() => openSigningKey(folder)),
      'evidence_key_invalid',
    );
    writeFileSync(signingKeyFile(folder), 'not a key', { mode: 0o600 });
    chmodSync(signingKeyFile(folder), 0o600);
    assert.is(
      refusalOf(() => openSigningKey(folder)),
      'evidence_key_invalid',
    );
  }),
);

test('canonical JSON sorts members at every depth and has no spaces', () => {
  const value = { b: [{ d: 1, c: 'ü"' }], a: null, B: true };
  assert.is(canonicalText(value), '{"B":true,"a":null,"b":[{"c":"ü\\"","d":1}]}');
});

test(
  'a certificate verifies with nothing but its files and Node’s crypto',
  inFolder(async (folder) => {
    const { file, text } = await keep(folder, 101, 200);
    const { signature, ...signed } = JSON.parse(text) as Certificate;
    const der = Buffer.from(SPKI_PREFIX + signed.public_key, 'hex');
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    assert.ok(verify(null, Buffer.from(canonicalText(signed)), key, Buffer.from(signature, 'hex')));
    const found = await verifyEvidence({ file, publicKey: signed.public_key });
    assert.equal(found.problems, []);
    assert.ok(found.proved.some((one) => one.includes('100')));
    const other = await verifyEvidence({ file, publicKey: 'ab'.repeat(32) });
    assert.is(other.problems.length, 1);
  }),
);

test(
  'a file that was changed in any member, or written in another way, is refused',
  inFolder(async (folder) => {
    const { file, text, certificate } = await keep(folder, 101, 200);
    const changed = (value: unknown): unknown => {
      if (typeof value === 'number') return value + 1;
      if (typeof value === 'string') return value.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
      if (value === null) return 'ab'.repeat(32);
      if (Array.isArray(value)) return [...value, { code: 'x', message: 'y' }];
      return Object.fromEntries(
        Object.entries(value as object).map(([name, inner], at) => [name, at === 0 ? changed(inner) : inner]),
      );
    };
    const names = Object.keys(certificate) as (keyof Certificate)[];
    for (const name of names) {
      const forged = certificateText({ ...certificate, [name]: changed(certificate[name]) } as Certificate);
      assert.is.not(forged, text, name);
      assert.is(
        refusalOf(() => readCertificate(forged, file)),
        'evidence_invalid',
        name,
      );
    }
    const spellings = [
      JSON.stringify(certificate),
      text.trimEnd(),
      ` ${text}`,
      text.replace('{', '{"format":"quayside-evidence/1",'),
      JSON.stringify(JSON.parse(text), null, 2),
      'not JSON\n',
    ];
    for (const spelling of spellings)
      assert.is(
        refusalOf(() => readCertificate(spelling, file)),
        'evidence_invalid',
      );
    const { signature: _, public_key: __, ...unsigned } = certificate;
    const lying = signCertificate({ ...unsigned, result: 'differences' }, openSigningKey(folder));
    assert.is(
      refusalOf(() => readCertificate(certificateText(lying), file)),
      'evidence_invalid',
    );
  }),
);

test(
  'a list that was changed, cut off or put in another order is refused',
  inFolder(async (folder) => {
    const { file } = await keep(folder, 101, 200);
    const list = listFileOf(file);
    const good = gunzipSync(readFileSync(list)).toString();
    const lines = good.trimEnd().split('\n');
    const bad: Readonly<Record<string, string | Buffer>> = {
      'a block without its parent': `${lines.filter((_, at) => at !== 50).join('\n')}\n`,
      'two blocks in the wrong order': `${[...lines.slice(0, 49), lines[50], lines[49], ...lines.slice(51)].join('\n')}\n`,
      'another amount': good.replace(' 7 0xA cs_1', ' 8 0xA cs_1'),
      'a transfer less': good.replace(/transfer .*\n/, ''),
      'no end': good.slice(0, -10),
      'a foreign line': `${good}hello\n`,
      'a hash': good.replaceAll(hashOf(150), hashOf(999)),
      'no gzip': Buffer.from('hello'),
      'half a gzip file': readFileSync(list).subarray(0, 500),
    };
    for (const [what, content] of Object.entries(bad)) {
      writeFileSync(list, typeof content === 'string' ? gzipSync(content) : content);
      const { problems } = await verifyEvidence({ file });
      assert.ok(problems.length > 0, what);
    }
    rmSync(list);
    const without = await verifyEvidence({ file });
    assert.equal(without.problems, []);
    assert.ok(without.unproved.some((one) => one.includes('is not here')));
  }),
);

test('a line is read exactly as it is written, and nothing else is', () => {
  const all: ListLine[] = [
    { kind: 'balance', address: '0xA', currency: 'USDT', onChain: 0n, inLedger: -5n },
    { kind: 'payout', id: 're_1', what: 'sweep', currency: 'native', units: 10n ** 30n, tx: 'x', number: 7 },
    { kind: 'block', number: 0, hash: 'h', parent: 'p', timeS: 1 },
    { kind: 'transfer', tx: 'x', index: 0, currency: 'USDC', units: 1n, address: 'a', sessionId: null, state: 'dust' },
  ];
  for (const line of all) assert.equal(readLine(writeLine(line)), line);
  const wrong = ['', 'block', 'block 1 h p', 'block 01 h p 1', 'block 1 h  p 1', 'block 1 h p 1 ', 'block -1 h p 1'];
  for (const text of wrong) assert.is(readLine(text), null, text);
  assert.is(readLine('balance a USDT 1 -0'), null);
  assert.is(readLine('transfer x 0 USDC 1 a - paid'), null);
});

test(
  'three certificates are a chain, in which a missing or foreign one shows',
  inFolder(async (folder) => {
    const first = await keep(folder, 101, 200);
    const second = await keep(folder, 201, 300);
    const third = await keep(folder, 311, 400);
    assert.equal(
      [first, second, third].map(({ certificate }) => certificate.sequence),
      [1, 2, 3],
    );
    for (const { file } of [first, second, third]) assert.equal((await verifyEvidence({ file })).problems, []);
    const gap = await verifyEvidence({ file: third.file });
    assert.ok(gap.proved.some((one) => one.startsWith('it continues number 2')));
    assert.ok(gap.unproved.some((one) => one.startsWith('blocks 301 to 310')));
    const skipped = await verifyEvidence({ file: third.file, previous: first.file });
    assert.is(skipped.problems.length, 1);
    // Somebody makes the second one again, with other contents.
    const other = mkdtempSync(join(folder, 'other-'));
    await keep(other, 101, 200);
    const forged = await keep(other, 201, 299);
    writeFileSync(second.file, readFileSync(forged.file));
    assert.ok((await verifyEvidence({ file: third.file })).problems.length > 0);
    rmSync(second.file);
    const missing = await verifyEvidence({ file: third.file });
    assert.equal(missing.problems, []);
    assert.ok(missing.unproved.some((one) => one.startsWith('that it continues number 2')));
    assert.is(openArchive(folder, NETWORK).latest()?.certificate.sequence, 3);
  }),
);

test(
  'differences are open until a later certificate of the range is complete',
  inFolder(async (folder) => {
    const open = () =>
      openArchive(folder, NETWORK)
        .open()
        .map(({ sequence }) => sequence);
    await keep(folder, 101, 200, [{ code: 'transfer_missing', message: 'x' }]);
    await keep(folder, 201, 300, [{ code: 'balance_high', message: 'x' }]);
    assert.equal(open(), [2, 1]);
    await keep(folder, 301, 400);
    assert.equal(open(), [1], 'balances that agree later are no difference any more');
    await keep(folder, 101, 150);
    assert.equal(open(), [1], 'a part of the range is not enough');
    await keep(folder, 90, 200);
    assert.equal(open(), []);
  }),
);

test.run();
