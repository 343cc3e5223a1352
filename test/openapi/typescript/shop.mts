/** A shop that was written against the types that openapi-typescript made. It prints what it read, one value a line. */
import { createHmac, randomUUID } from 'node:crypto';
import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './quayside.ts';

const { BASE_URL: baseUrl = '', API_KEY: apiKey = '', API_SECRET: apiSecret = '' } = process.env;

const signing: Middleware = {
  async onRequest({ request }) {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const nonce = randomUUID();
    const text = `${timestamp}.${nonce}.${await request.clone().text()}`;
    request.headers.set('Authorization', `Bearer ${apiKey}`);
    request.headers.set('X-Service-Timestamp', timestamp);
    request.headers.set('X-Service-Nonce', nonce);
    request.headers.set('X-Service-Signature', createHmac('sha256', apiSecret).update(text).digest('hex'));
    return request;
  },
};

const client = createClient<paths>({ baseUrl });
client.use(signing);

const order: components['schemas']['CreateSession'] = {
  amount: 1050,
  currency: 'EUR',
  order_id: 'typescript-1',
  line_items: [
    { price_data: { currency: 'EUR', unit_amount: 525, product_data: { name: 'Coffee, 1 kg' } }, quantity: 2 },
  ],
};
const created = await client.POST('/api/v1/checkout/sessions/create', { body: order });
if (!created.data) throw new Error(created.error.error.message);
const read = await client.GET('/api/v1/checkout/sessions/{session_id}', {
  params: { path: { session_id: created.data.id } },
});
if (!read.data) throw new Error(read.error.error.message);
const session = read.data;
const isPending: boolean = session.payment_status === 'pending';
process.stdout.write(`${session.id}\n${session.amount_total} ${session.currency} ${isPending}\n`);
const [item] = session.line_items ?? [];
const [option] = session.payment_options ?? [];
process.stdout.write(`${item?.price_data.product_data.name} ${option?.currency}\n`);

const refused = await client.POST('/api/v1/checkout/sessions/create', { body: { ...order, amount: 1051 } });
process.stdout.write(`${refused.error?.error.code} ${refused.error?.error.param}\n`);
