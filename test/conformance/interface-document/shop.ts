/**
 * A merchant's shop, written from the interface document alone: it signs its calls, and keeps the webhooks that it
 * receives over HTTPS.
 */
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import PQueue from 'p-queue';
import * as assert from 'uvu/assert';
import type { KeyPair } from '../../support/certificates.ts';
import { startMerchantServer } from '../../support/merchant-server.ts';
import { type Bend, type HttpAnswer, signedClient } from '../../support/signed-client.ts';
import { until } from '../../support/until.ts';
import type { Installation, Json } from './installation.ts';

/** An API key allows 100 requests a second; a shop that asks for less is never slowed down. */
const CALLS = { concurrency: 8, intervalCap: 20, interval: 400 };
const POLL_MS = 400;
/** A webhook that has not come by then will not come: everything together takes less than two minutes. */
const WAIT_MS_MAX = 240_000;

export type Answer = Omit<HttpAnswer, 'json'> & Readonly<{ body: Json }>;

/** Differences from a usual call. `clockOffS` is how far its clock is off when it is sent, however long it waited. */
export type Bent = Bend & Readonly<{ clockOffS?: number }>;

/** A caller of the API: a merchant with a key. */
export type Merchant = Pick<Shop, 'merchantId' | 'apiKey' | 'call'>;

/** A webhook as it arrived. `event` is the parsed body. */
export type Hook = Readonly<{
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  raw: string;
  event: Json;
  /** When it was there, Unix milliseconds. */
  atMs: number;
}>;

/** Answers an attempt. `earlier` counts those before it on the same path. */
export type Reply = (response: ServerResponse, earlier: number) => void;

export type Receiver = Awaited<ReturnType<typeof openReceiver>>;
export type Shop = Awaited<ReturnType<typeof openShop>>;

type Credentials = Readonly<{ merchantId: string; apiKey: string; apiSecret: string }>;

/** Opens the demo store, whose credentials were printed, with an endpoint for its webhooks. */
export async function openShop(installation: Installation, receiver: Receiver, trouble: Receiver) {
  const calls = new PQueue(CALLS);
  const walked = new Map<string, Promise<unknown>>();
  const run = process.pid;
  let orders = 0;
  /** Returns a merchant's client for further credentials. */
  const merchant = ({ merchantId, apiKey, apiSecret }: Credentials) => {
    const client = signedClient({ baseUrl: installation.baseUrl, apiKey, apiSecret }, nowS);
    return {
      merchantId,
      apiKey,
      /** Makes one signed call. @param body an object is sent as JSON, a string as it is */
      async call(
        method: string,
        path: string,
        body?: object | string,
        { clockOffS = 0, ...bend }: Bent = {},
      ): Promise<Answer> {
        for (;;) {
          const { json, ...answer } = await calls.add(() => {
            const timestamp = String(nowS() + clockOffS);
            return client.send(method, path, body, { timestamp, ...bend });
          });
          if (!isBusy(json) || bend.nonce) return { ...answer, body: json };
          await new Promise((resolve) => setTimeout(resolve, 1000 * Number(answer.headers['retry-after'])));
        }
      },
    };
  };
  const endpoint = await installation.tool('webhook', 'add', receiver.url('/shop'), '--mode', 'test');
  return {
    ...merchant(installation),
    installation,
    receiver,
    /** A second server, for what goes wrong. */
    trouble,
    /** Signs what the shop's endpoint receives. */
    endpointSecret: endpoint.webhook_secret as string,
    /** Returns an order id that no other row has. */
    orderId: () => `order-${run}-${++orders}`,
    merchant,
    /** Walks a path that several rows look at once, and returns what was seen on it. */
    once<T>(name: string, walk: () => Promise<T>) {
      const known = walked.get(name) ?? walk();
      walked.set(name, known);
      return known as Promise<T>;
    },
  };
}

/** A database that waited too long for the disk of a busy machine asks for the same call again. */
const isBusy = (body: Json): boolean => body?.error?.code === 'storage_unavailable';

export const nowS = (): number => Math.floor(Date.now() / 1000);

/** Starts the server that receives webhooks over HTTPS. */
export async function openReceiver(tls: KeyPair) {
  const replies = new Map<string, Reply>();
  const hooks: Hook[] = [];
  const server = await startMerchantServer((response, { method, path, headers, body: raw }, earlier) => {
    hooks.push({ method, path, headers, raw, event: JSON.parse(raw), atMs: Date.now() });
    const reply = replies.get(path) ?? accept;
    reply(response, earlier);
  }, tls);
  return {
    /** Returns the URL of a path. */
    url: (path: string) => `${server.origin}${path}`,
    /** Says how attempts on a path are answered; without it they get 200 and `{"received":true}`. */
    reply: (path: string, reply: Reply) => void replies.set(path, reply),
    on: (path: string): readonly Hook[] => hooks.filter((hook) => hook.path === path),
    /** Waits for the first webhook that fits. */
    async first(what: string, fits: (hook: Hook) => boolean) {
      await until(`the webhook ${what} is there`, () => hooks.some(fits), WAIT_MS_MAX);
      return hooks.find(fits) as Hook;
    },
    /** Waits for so many webhooks on a path. */
    count: (path: string, count: number) =>
      until(`${path} was called ${count} times`, () => server.on(path).length >= count, WAIT_MS_MAX),
    close: server.close,
  };
}

/** The suggested answer. */
export const accept: Reply = (response) =>
  void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"received":true}');

/** Returns the signature that the document defines, over the raw bytes. */
export const signatureOf = (secret: string, { headers, raw }: Hook): string =>
  createHmac('sha256', secret)
    .update(`${headers['x-service-timestamp']}.${headers['x-service-nonce']}.`)
    .update(raw)
    .digest('hex');

/** Asserts that a call succeeded. @returns its body */
export function accepted({ status, body, text }: Answer, expected = 200): Json {
  assert.is(status, expected, text);
  return body;
}

/** Asserts that a call was refused with this status, and code and parameter where they are given. @returns the error */
export function refused({ status, body, text }: Answer, expected: number, code?: string, param?: string): Json {
  assert.is(status, expected, text);
  if (code !== undefined) assert.is(body.error.code, code, text);
  if (param !== undefined) assert.is(body.error.param, param, text);
  return body.error;
}

/** Reads again and again until what is read fits. @returns it */
export async function watch(merchant: Merchant, path: string, fits: (body: Json) => boolean): Promise<Json> {
  let body: Json;
  await until(
    `GET ${path} fits`,
    async () => {
      body = accepted(await merchant.call('GET', path));
      if (fits(body)) return true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      return false;
    },
    WAIT_MS_MAX,
  );
  return body;
}

const quickStartBody = (shop: Shop, fields: object = {}): Json => ({
  merchant_id: shop.merchantId,
  order_id: shop.orderId(),
  amount: { value: '10.50', currency: 'USDT' },
  ...fields,
});

/** Creates a session in the quick-start shape, of which `webhook_url` is a part. */
export const quickStart = Object.assign(
  async (shop: Shop, fields: object = {}): Promise<Json> =>
    accepted(await shop.call('POST', '/v1/payment/sessions', quickStartBody(shop, fields))),
  { body: quickStartBody },
);

/** Waits until a path has an event of a session. */
export const eventAt = (receiver: Receiver, path: string, id: string): Promise<Hook> =>
  receiver.first(`for ${id} on ${path}`, (hook) => hook.path === path && hook.event.data.object.session_id === id);
