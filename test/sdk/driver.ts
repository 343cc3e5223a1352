/** Makes the calls that it reads, a line of JSON each, with the TypeScript client, and answers each with a line. */
import { createInterface } from 'node:readline';
import { type Client, createClient, QuaysideError } from '../../sdk/typescript/quayside.ts';

const { BASE_URL = '', API_KEY = '', API_SECRET = '', NOW } = process.env;
const at = NOW === undefined ? {} : { nowMs: () => Number(NOW) * 1000 };
const client = createClient({ apiKey: API_KEY, apiSecret: API_SECRET, baseUrl: BASE_URL, timeoutMs: 5000, ...at });

const all = async (rows: AsyncIterable<unknown>) => {
  const read: unknown[] = [];
  for await (const row of rows) read.push(row);
  return read;
};

// biome-ignore lint/suspicious/noExplicitAny: arguments as the test sends them
const calls: Readonly<Record<string, (client: Client, ...args: any[]) => unknown>> = {
  createSession: ({ sessions }, body) => sessions.create(body),
  session: ({ sessions }, id) => sessions.get(id),
  cancelSession: ({ sessions }, id) => sessions.cancel(id),
  sessions: ({ sessions }, filter) => all(sessions.list(filter)),
  createRefund: ({ refunds }, body) => refunds.create(body),
  refund: ({ refunds }, id) => refunds.get(id),
  cancelRefund: ({ refunds }, id) => refunds.cancel(id),
  refunds: ({ refunds }, filter) => all(refunds.list(filter)),
  event: ({ events }, id) => events.get(id),
  events: ({ events }, filter) => all(events.list(filter)),
  request: ({ request }, method, path) => request(method, path),
  verify: ({ webhooks }, body, headers, secrets) => webhooks.verify(body, headers, secrets),
  show: (one) => `${one} ${JSON.stringify(one)}`,
};

const kindOf = (error: unknown) =>
  error instanceof QuaysideError ? error.name.replace(/Error$/, '') : error instanceof TypeError ? 'Refused' : 'Bug';

for await (const line of createInterface({ input: process.stdin })) {
  const { call, args } = JSON.parse(line);
  let answer: unknown;
  try {
    answer = { result: await calls[call]?.(client, ...args) };
  } catch (error) {
    answer = { error: { ...(error as object), kind: kindOf(error), message: String(error) } };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
