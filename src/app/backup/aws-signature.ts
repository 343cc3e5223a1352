/**
 * Signs requests to an S3-compatible store: AWS Signature Version 4
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
 * @module
 */
import { createHash, createHmac } from 'node:crypto';

export type AwsKey = Readonly<{ accessKeyId: string; secretAccessKey: string }>;

export type AwsRequest = Readonly<{
  method: string;
  /** Its path is what is asked for, encoded as it is sent. */
  url: URL;
  /** Each of them is signed; `host` and `x-amz-date` are added. */
  headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hex. */
  bodySha256: string;
}>;

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Returns the headers to send, with `authorization` and `x-amz-date`. */
export function signAws(
  { method, url, headers, bodySha256 }: AwsRequest,
  { key, region, service, nowMs }: Readonly<{ key: AwsKey; region: string; service: string; nowMs: number }>,
): Record<string, string> {
  // 20130524T000000Z
  const time = `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
  const signed: Record<string, string> = { host: url.host, 'x-amz-date': time };
  for (const [name, value] of Object.entries(headers)) signed[name.toLowerCase()] = value.trim().replaceAll(/ +/g, ' ');
  const names = Object.keys(signed).sort();
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url),
    ...names.map((name) => `${name}:${signed[name]}`),
    '',
    names.join(';'),
    bodySha256,
  ].join('\n');
  const scope = [time.slice(0, 8), region, service, 'aws4_request'];
  const text = [ALGORITHM, time, scope.join('/'), createHash('sha256').update(canonical).digest('hex')].join('\n');
  const signingKey = scope.reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${key.secretAccessKey}`);
  const credential = `Credential=${key.accessKeyId}/${scope.join('/')}`;
  const authorization = `${ALGORITHM} ${credential}, SignedHeaders=${names.join(';')}, Signature=${hmac(signingKey, text).toString('hex')}`;
  return { ...signed, authorization };
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Every character but these is encoded (RFC 3986). */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

const canonicalQuery = ({ searchParams }: URL): string =>
  [...searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
