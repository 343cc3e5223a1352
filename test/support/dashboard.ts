/**
 * The real dashboard over real HTTP beside the real API, and browsers without scripts that use it.
 */
import { dirname } from 'node:path';
import { createPayment } from '../../src/api/session-service.ts';
import { backupsOf, readBackupReport } from '../../src/app/backup/report.ts';
import { listen } from '../../src/app/http-server.ts';
import { issueEndpoint, issueKey, issueUsualStore } from '../../src/app/new-credentials.ts';
import type { Membership } from '../../src/core/access.ts';
import { createDashboard } from '../../src/dashboard/app.ts';
import type { DashboardDeps } from '../../src/dashboard/deps.ts';
import { createPasskeys } from '../../src/dashboard/passkeys.ts';
import { createPasswords } from '../../src/dashboard/passwords.ts';
import { languages } from '../../src/dashboard/texts.ts';
import type { Endpoint } from '../../src/database/endpoints.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { hashOf, newToken, sortableId } from '../../src/lib/id.ts';
import { openLog } from '../../src/lib/log.ts';
import { createSender } from '../../src/lib/sender.ts';
import { createSend } from '../../src/notifications/post.ts';
import { createTargetMaker } from '../../src/notifications/targets.ts';
import { createDestinationCheck } from '../../src/payments/destination.ts';
import { sendTestEvent } from '../../src/webhooks/test-event.ts';
import { type ApiServer, type ApiServerOptions, network, startApi, token } from './api-server.ts';
import { codeAt, linkSecretIn } from './link-secret.ts';
import { fieldsOf } from './read-page.ts';

export const PASSWORD = 'correct horse battery staple';

/** A fraction of a millisecond instead of half a second. */
const CHEAP = { ln: 4, r: 1, p: 1 };

export type Answer = Readonly<{ status: number; text: string; headers: Headers }>;

/** A browser without scripts: keeps its cookie, and sends what browsers send with a form of the same origin. */
export type Visitor = ReturnType<typeof openVisitor>;

export type Dashboard = Awaited<ReturnType<typeof startDashboard>>;

const act = (atMs: number) => ({ atMs, operator: 'root', command: 'user create', reason: null });

export async function startDashboard(options: ApiServerOptions = {}) {
  const api = await startApi({ addresses: 20, ...options });
  const { clock } = api;
  let url = '';
  const database = new Proxy({} as ReturnType<ApiServer['database']>, {
    get: (_, name) => Reflect.get(api.database(), name),
  });
  const networks = options.networks ?? [plainNetwork];
  const checkDestination = await createDestinationCheck({ networks });
  const guard = createUrlGuard(['127.0.0.0/8']);
  const sender = createSender(guard, { timeoutMs: 5_000, responseBytesMax: 10_000 }, clock);
  const server = await listen({ host: '127.0.0.1', port: 0, setting: 'QUAYSIDE_DASHBOARD_PORT' }, (port) => {
    url = `http://localhost:${port}`;
    const limits = { pagesPerSecondPerAddress: 100_000 } as never;
    const urls = { baseUrl: api.baseUrl, checkoutUrl: options.checkoutUrl ?? api.baseUrl };
    const config = {
      networks,
      limits,
      signer: { dir: 'signer', unlock: { kind: 'external' } } as const,
      trustedProxies: ['127.0.0.0/8'],
      ...urls,
    };
    const log = openLog('dashboard', 'silent');
    const [passwords, issue] = [
      createPasswords(CHEAP),
      { key: issueKey, endpoint: issueEndpoint, store: issueUsualStore },
    ];
    const webhooks = {
      checkWebhookUrl: guard.check,
      createPayment: (...order: Parameters<DashboardDeps['createPayment']>) => createPayment(api.creating, ...order),
      sendTestEvent: (endpoint: Endpoint) => sendTestEvent({ database, sender, clock }, endpoint),
      newNotices: createTargetMaker({ ways: { send: createSend(guard, clock), mail: options.mail ?? null }, clock }),
      readBackups: () => backupsOf(readBackupReport(dirname(api.file))),
    };
    const passkeys = createPasskeys(url, clock, database.people);
    const parts = {
      database,
      config,
      url,
      // Exports pause for real between their slices.
      clock: { ...clock, sleep: systemClock.sleep },
      log,
      languages,
      passwords,
      passkeys,
      issue,
      checkDestination,
      ...webhooks,
    };
    return createDashboard(parts);
  });
  /** Makes a link as the operator's tool does. */
  const invite = async (name: string, membership: Membership) => {
    const id = `usr_${sortableId(clock.nowMs())}`;
    const linkToken = newToken();
    await database.people.add({ id, name, membership, createdAtMs: clock.nowMs() }, act(clock.nowMs()));
    const link = { hash: hashOf(linkToken), salt: newToken(), expiresAtMs: clock.nowMs() + 3_600_000 };
    await database.people.addLink(id, link, act(clock.nowMs()));
    return { id, token: linkToken };
  };
  const secrets = new Map<string, string>();
  /** Returns the secret of the app of somebody who was invited with this link. */
  const secret = (linkToken: string): string => {
    const known = secrets.get(linkToken) ?? linkSecretIn(api.file, linkToken);
    secrets.set(linkToken, known);
    return known;
  };
  /** Returns the code that this app shows now. */
  const code = (linkToken: string) => codeAt(secret(linkToken), clock.nowMs());
  return {
    api,
    url,
    visitor: () => openVisitor(url),
    invite,
    code,
    secret,
    /** Signs a new person in by a link. */
    async person(name: string, membership: Membership) {
      const invited = await invite(name, membership);
      const visitor = openVisitor(url);
      await visitor.post(`/link/${invited.token}`, { password: PASSWORD, code: code(invited.token) });
      return { ...visitor, ...invited };
    },
    async close() {
      sender.abort();
      await server.close(0);
      await api.close();
    },
  };
}

/** The network of a dashboard, unless others are given. */
export const plainNetwork = network('test', 'ethereum', '8401', [token('1', 'USDT', 6)]);

/** Opens a browser without scripts at a dashboard. */
export function openVisitor(url: string) {
  const cookies = new Map<string, string>();
  async function send(
    method: string,
    path: string,
    body: string | null,
    headers: Record<string, string>,
  ): Promise<Answer> {
    const response = await fetch(url + path, {
      method,
      body,
      redirect: 'manual',
      headers: {
        ...(cookies.size > 0 && { cookie: [...cookies.values()].join('; ') }),
        'user-agent': 'A browser',
        ...headers,
      },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';', 1);
      cookies.set(pair.split('=', 1)[0] ?? '', pair);
    }
    return { status: response.status, text: await response.text(), headers: response.headers };
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
  const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    send('POST', path, new URLSearchParams(fields).toString(), { ...form, ...headers });
  return {
    get: (path: string, headers: Record<string, string> = {}) => send('GET', path, null, headers),
    post,
    /** Posts the form of a page that has this action, with the page's own hidden fields. */
    async submit(page: string, action: string, fields: Record<string, string> = {}) {
      const { text } = await send('GET', page, null, {});
      const own = [...text.matchAll(/<form method="post"[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].find(
        ([, target]) => target === action,
      );
      if (!own) throw new Error(`${page} has no form for ${action}: ${text}`);
      const hidden = [...(own[2] ?? '').matchAll(/<input type="hidden" name="([^"]*)"[^>]* value="([^"]*)"/g)];
      const given = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
      return post(action, { ...given, ...fields });
    },
    /** The cookie of its session. */
    cookie: () => cookies.get('quayside') ?? '',
  };
}

/** Returns the token that all forms of a visitor's session carry. */
export const formTokenOf = async (visitor: Visitor): Promise<string> =>
  fieldsOf((await visitor.get('/account')).text, '/sign-out').form_token ?? '';

/** Sends the form of a page that confirms, with its own hidden fields. */
export const confirm = (
  visitor: Visitor,
  path: string,
  { text }: Pick<Answer, 'text'>,
  more: Record<string, string> = {},
): Promise<Answer> => visitor.post(path, { ...fieldsOf(text, path), ...more });

export async function withDashboard(
  work: (dashboard: Dashboard) => Promise<void>,
  options: ApiServerOptions = {},
): Promise<void> {
  const dashboard = await startDashboard(options);
  try {
    await work(dashboard);
  } finally {
    await dashboard.close();
  }
}
