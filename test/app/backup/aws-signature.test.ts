/** The examples that AWS publishes, with the signatures printed there. */
import { createHash } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { signAws } from '../../../src/app/backup/aws-signature.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const signatureOf = (headers: Record<string, string>) =>
  /Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '')?.[1];

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
const example = {
  key: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
  region: 'us-east-1',
  service: 's3',
  nowMs: Date.UTC(2013, 4, 24),
};

/** Signs an example of that page. */
function signed(method: string, path: string, more: Readonly<Record<string, string>>, body = '') {
  const url = new URL(`https://examplebucket.s3.amazonaws.com${path}`);
  const headers = { ...more, 'x-amz-content-sha256': sha256(body) };
  return signAws({ method, url, headers, bodySha256: sha256(body) }, example);
}

test('an upload is signed as AWS shows it', () => {
  const headers = { Date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' };
  const answer = signed('PUT', '/test%24file.text', headers, 'Welcome to Amazon S3.');
  assert.is(signatureOf(answer), '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd');
  assert.match(
    answer.authorization ?? '',
    /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/20130524\/us-east-1\/s3\/aws4_request, SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, /,
  );
  assert.is(answer['x-amz-date'], '20130524T000000Z');
});

test('so are a download and requests with a query', () => {
  const answers = {
    f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41: signed('GET', '/test.txt', {
      Range: 'bytes=0-9',
    }),
    fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543: signed('GET', '/?lifecycle', {}),
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7': signed('GET', '/?max-keys=2&prefix=J', {}),
  };
  for (const [expected, answer] of Object.entries(answers)) assert.is(signatureOf(answer), expected);
});

test('the general example of the signature’s test suite (get-vanilla) has its signature', () => {
  const key = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
  const request = {
    method: 'GET',
    url: new URL('https://example.amazonaws.com/'),
    headers: {},
    bodySha256: sha256(''),
  };
  const at = { key, region: 'us-east-1', service: 'service', nowMs: Date.UTC(2015, 7, 30, 12, 36) };
  assert.is(signatureOf(signAws(request, at)), '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31');
});

test.run();
