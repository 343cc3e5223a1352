/** Asks for 10.50 USD and prints where the customer pays: `node example.ts` (Node 24, or compiled). */
import { createClient } from './quayside.ts';

const { QUAYSIDE_URL = '', QUAYSIDE_KEY = '', QUAYSIDE_SECRET = '' } = process.env;
const client = createClient({ apiKey: QUAYSIDE_KEY, apiSecret: QUAYSIDE_SECRET, baseUrl: QUAYSIDE_URL });

const session = await client.sessions.create({ amount: 1050, currency: 'USD', order_id: 'example-typescript' });
process.stdout.write(`${session.id} is ${session.payment_status}: ${session.payer_url}\n`);
for await (const one of client.sessions.list({ order_id: 'example-typescript' })) {
  process.stdout.write(`${one.id} has ${one.payments?.length ?? 0} payments\n`);
}
