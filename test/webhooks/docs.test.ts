import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { installationFolder } from '../../src/lib/installation.ts';

type Vector = Readonly<
  Record<'name' | 'secret' | 'nonce' | 'body' | 'serviceSignature', string> & { timestampS: number }
>;
type IsGenuine = (headers: Record<string, string>, body: string | Buffer, secret: string, nowS?: number) => boolean;

const read = (path: string) => readFileSync(join(installationFolder, path), 'utf8');
const page = read('docs/integrate.md');
const vectors: Vector[] = JSON.parse(read('test/vectors/webhook-signature.json'));

/** Returns the only block of the page in that language which contains this. */
function block(language: string, part: string): string {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, text = '']) => text,
  );
  const [only, ...others] = blocks.filter((text) => text.includes(part));
  assert.ok(only);
  assert.is(others.length, 0);
  return only;
}

const folder = mkdtempSync(join(tmpdir(), 'quayside-readme-'));
test.after(() => rmSync(folder, { recursive: true }));

test("the page's function accepts genuine webhooks and nothing else", async () => {
  const file = join(folder, 'verify.mjs');
  writeFileSync(file, block('js', 'isGenuine'));
  const { isGenuine }: { isGenuine: IsGenuine } = await import(file);
  for (const { name, secret, timestampS, nonce, body, serviceSignature } of vectors) {
    const headers = {
      'x-service-timestamp': String(timestampS),
      'x-service-nonce': nonce,
      'x-service-signature': serviceSignature,
    };
    assert.ok(isGenuine(headers, body, secret, timestampS), name);
    assert.ok(isGenuine(headers, Buffer.from(body), secret, timestampS + 300), name);
    assert.not.ok(isGenuine(headers, body, secret, timestampS + 301), name);
    assert.not.ok(isGenuine(headers, body, secret, timestampS - 301), name);
    assert.not.ok(isGenuine(headers, `${body} `, secret, timestampS), name);
    assert.not.ok(isGenuine(headers, body, `${secret}=`, timestampS), name);
    assert.not.ok(isGenuine({ ...headers, 'x-service-nonce': 'other' }, body, secret, timestampS), name);
    assert.not.ok(isGenuine({ ...headers, 'x-service-signature': '' }, body, secret, timestampS), name);
  }
  assert.not.ok(isGenuine({}, '', 'whsec_'));
});

test.run();
