/** Messages as each service receives them: local stand-ins with the services' own HTTP, and a real mail server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { signStandard } from '../../src/core/delivery.ts';
import type { ChannelKind } from '../../src/database/column-values.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { deliver, type Message } from '../../src/notifications/channels.ts';
import { type MailSettings, sendMail } from '../../src/notifications/email.ts';
import { createSend, type Outgoing } from '../../src/notifications/post.ts';
import { makeCertificates } from '../support/certificates.ts';
import { closing } from '../support/closing.ts';
import { startMailServer } from '../support/mail-server.ts';
import { type Answer, merchantServer } from '../support/merchant-server.ts';

const toLocal = createSend(createUrlGuard(['127.0.0.0/8']), systemClock);
/** Ways out, with a local server in the place of Telegram's. */
const by = (origin: string, mail: MailSettings | null = null) => ({
  mail,
  send: (one: Outgoing) => toLocal({ ...one, url: one.url.replace('https://api.telegram.org', origin) }),
});
const message: Message = {
  id: 'A-7-1-0',
  title: 'pay.example: payment reversed (A-7)',
  text: 'order <b>*7*</b> & @everyone\n\nsee',
  severity: 'page',
  atS: 1_800_000_000,
  nonce: 'n1',
};

/** Sends the message to a service that answers so. @returns its answer as we read it, and the request */
async function sendTo(kind: ChannelKind, address: (origin: string) => object, answer: Answer) {
  const server = await merchantServer(answer);
  const delivered = await deliver(by(server.origin), kind, JSON.stringify(address(server.origin)), message);
  const [request] = server.received;
  return { delivered, request, json: request?.body ? JSON.parse(request.body) : null };
}

const ok: Answer = (response) => response.end('{"ok":true}');

test('Telegram gets plain text by sendMessage, and its wait after too many messages is kept', async () => {
  const to = () => ({ token: '12:ab-C_d', to: '-100200' });
  const { request, json, delivered } = await sendTo('telegram', to, ok);
  assert.is(request?.path, '/bot12:ab-C_d/sendMessage');
  assert.is(json.chat_id, '-100200');
  assert.is(json.text, `${message.title}\n\n${message.text}`);
  assert.is(json.parse_mode, undefined);
  assert.is(json.disable_notification, false);
  assert.ok(delivered.ok);
  const busy = await sendTo('telegram', to, (response) => {
    const description = 'Too Many Requests: retry after 35';
    response.writeHead(429).end(JSON.stringify({ ok: false, description, parameters: { retry_after: 35 } }));
  });
  assert.is(busy.delivered.status, 429);
  assert.is(busy.delivered.retryAfterMs, 35_000);
  assert.not.match(busy.delivered.text, /ab-C_d/);
});

test('ntfy gets its JSON with topic, priority and token', async () => {
  const { request, json } = await sendTo('ntfy', (server) => ({ url: `${server}/shop_7`, token: 'tk_1' }), ok);
  assert.is(request?.path, '/');
  assert.is(request?.headers.authorization, 'Bearer tk_1');
  assert.equal(json, { topic: 'shop_7', title: message.title, message: message.text, priority: 5, tags: ['page'] });
});

test('long messages are cut where each service would refuse them or make a file of them', async () => {
  const long = { ...message, text: 'ä😀'.repeat(3_000) };
  const sent = async (kind: ChannelKind, address: (origin: string) => object) => {
    const server = await merchantServer(ok);
    await deliver(by(server.origin), kind, JSON.stringify(address(server.origin)), long);
    return JSON.parse(server.received[0]?.body ?? '{}');
  };
  const ntfy = (await sent('ntfy', (server) => ({ url: `${server}/shop` }))).message;
  assert.ok(Buffer.byteLength(ntfy) <= 4_096 && Buffer.byteLength(ntfy) > 4_080);
  const { text } = await sent('telegram', () => ({ token: '12:ab', to: '1' }));
  assert.ok(text.length <= 4_096 && text.length > 4_080);
  const { content } = await sent('discord', (url) => ({ url }));
  assert.ok(content.length <= 2_000 && content.length > 1_980);
  for (const one of [ntfy, text, content]) {
    assert.match(one, /[ä😀]…$/u);
    assert.is(Buffer.from(one).toString(), one, 'no half of a character');
  }
});

test('a service that repeats the URL, the token or the topic does not put it into a log', async () => {
  const repeat: Answer = (response, { path, body, headers }) =>
    void response.writeHead(400).end(`no ${headers.authorization} for ${path}: ${body}`);
  const secrets: readonly (readonly [ChannelKind, (origin: string) => object])[] = [
    ['slack', (origin) => ({ url: `${origin}/services/T0/B0/hidden` })],
    ['telegram', () => ({ token: '12:hidden', to: '-100' })],
    ['ntfy', (server) => ({ url: `${server}/hidden_topic`, token: 'tk_hidden' })],
  ];
  for (const [kind, address] of secrets) {
    const { delivered } = await sendTo(kind, address, repeat);
    assert.match(delivered.text, /^no /);
    assert.not.match(delivered.text, /hidden/, kind);
  }
});

test('Slack’s and Discord’s markup and mentions are only text', async () => {
  const slack = await sendTo('slack', (origin) => ({ url: `${origin}/services/T/B/x` }), ok);
  assert.match(slack.json.text, /order &lt;b&gt;\*7\*&lt;\/b&gt; &amp; @everyone/);
  assert.is(slack.json.mrkdwn, false);
  const discord = await sendTo(
    'discord',
    (origin) => ({ url: `${origin}/api/webhooks/1/t` }),
    (response) => response.writeHead(204).end(),
  );
  assert.equal(discord.json.allowed_mentions, { parse: [] });
  assert.match(discord.json.content, /order \\<b\\>\\\*7\\\*\\<\/b\\>/);
  assert.is(discord.delivered.status, 204);
});

test('a webhook is signed as every webhook is', async () => {
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const { request, json } = await sendTo('webhook', (origin) => ({ url: `${origin}/hook`, secret }), ok);
  assert.is(request?.headers['x-service-event-id'], message.id);
  assert.is(request?.headers['webhook-signature'], signStandard(secret, message.id, message.atS, request?.body ?? ''));
  const { title, text } = message;
  assert.equal(json, {
    id: message.id,
    type: 'operator.notice',
    created_at: message.atS,
    data: { object: { severity: 'page', title, text } },
  });
});

test('a dead-man URL is called, without a body', async () => {
  const { request } = await sendTo('dead-man', (origin) => ({ url: `${origin}/ping/abc?x=1` }), ok);
  assert.equal([request?.method, request?.path, request?.body], ['GET', '/ping/abc?x=1', '']);
});

test('redirects, dead ports, private hosts and endless answers are failures, in words without the URL', async () => {
  const url = (origin: string) => ({ url: `${origin}/secret` });
  const moved = await sendTo('slack', url, (response) => response.writeHead(302, { Location: '/other' }).end());
  assert.equal({ ok: moved.delivered.ok, status: moved.delivered.status }, { ok: false, status: 302 });
  const endless = await sendTo('slack', url, (response) => void response.writeHead(500).write('x'.repeat(100_000)));
  assert.ok(endless.delivered.text.length < 300);
  const dead = await deliver(by(''), 'slack', JSON.stringify({ url: 'http://127.0.0.1:1025/secret' }), message);
  assert.equal({ ok: dead.ok, status: dead.status }, { ok: false, status: null });
  const strict = createSend(createUrlGuard([]), systemClock);
  const blocked = await deliver(
    { send: strict, mail: null },
    'slack',
    JSON.stringify({ url: 'https://127.0.0.1:8443/secret' }),
    message,
  );
  assert.match(blocked.text, /may not be called; add it to webhooks\.allow_cidrs/);
  for (const { text } of [dead, blocked]) assert.not.match(text, /secret/);
});

const mail = { from: 'shop@shop.example', to: 'ann@shop.example', subject: 'Hi', text: 'One\nTwo', messageId: '<a@b>' };

test('a mail arrives through a server of this machine, as one plain text to one person', async () => {
  const server = closing(await startMailServer({}));
  const url = `smtp://127.0.0.1:${server.port}`;
  const hostile = { ...message, title: 'x\r\nBcc: eve@evil.example', text: '.\r\nRCPT TO:<eve@evil.example>\r\n.' };
  const address = JSON.stringify({ to: mail.to });
  const sent = await deliver(by('', { url, from: mail.from }), 'email', address, hostile);
  assert.equal({ ok: sent.ok, status: sent.status }, { ok: true, status: 250 });
  const [one, ...others] = server.received;
  assert.equal(others, []);
  assert.equal({ from: one?.from, to: one?.to }, { from: mail.from, to: [mail.to] });
  assert.match(one?.text ?? '', /^Message-ID: <A-7-1-0@shop\.example>\r$/m);
  assert.match(one?.text ?? '', /^Auto-Submitted: auto-generated\r$/m);
  assert.not.match(one?.text ?? '', /^Bcc:/m);
  assert.match(one?.text ?? '', /Content-Type: text\/plain/);
});

test('with a password it goes by TLS only, and to a server that proves its name', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'quayside-smtp-'));
  const { server: pair } = makeCertificates(dir, 'IP:127.0.0.1');
  const plain = closing(await startMailServer({}));
  const self = closing(await startMailServer({ tls: pair, auth: 'right' }));
  try {
    // Leads to this machine, and is not one of its loopback addresses.
    const to = (port: number) => `smtp://ann:right@0.0.0.0:${port}`;
    const stripped = await sendMail(to(plain.port), mail);
    assert.not(stripped.ok, 'a server without STARTTLS gets no password');
    const unknown = await sendMail(to(self.port), mail);
    assert.not(unknown.ok, 'nobody known has signed its certificate');
    assert.match(unknown.text, /certificate/i);
    assert.equal([plain.received, self.received], [[], []]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('a mail server that refuses says why', async () => {
  const server = closing(await startMailServer({ auth: 'right' }));
  const at = (port: number) => `smtp://ann:wr%6fng@127.0.0.1:${port}`;
  const refused = await sendMail(at(server.port), mail);
  assert.equal({ ok: refused.ok, status: refused.status }, { ok: false, status: 535 });
  assert.not.match(refused.text, /wrong\b/);
  const gone = await sendMail(at(1025), mail);
  assert.equal({ ok: gone.ok, status: gone.status }, { ok: false, status: null });
});

test.run();
