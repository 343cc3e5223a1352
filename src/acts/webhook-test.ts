/** A signed test event, sent to an endpoint at once and not kept. */
import type { SendError, TestAnswer } from '../core/delivery.ts';
import type { Endpoint } from '../database/endpoints.ts';
import { defineAct, isRefusal, type Refusal, refuse, type Sentence, say } from './act.ts';
import { endpointField, endpointOf, unknownEndpoint } from './webhooks.ts';

type TestPlan = Readonly<{ endpoint: Endpoint; sent: TestAnswer | null }>;

const title = say('Send a test event');

export const testEndpoint = defineAct({
  name: 'webhook test',
  summary: 'Send a signed test event to an endpoint now and show its answer.',
  needs: 'webhooks:resend',
  asks: 'nothing',
  fields: { endpoint: endpointField },
  async plan(context, { endpoint: id }): Promise<TestPlan | Refusal> {
    const endpoint = await endpointOf(context, id);
    if (isRefusal(endpoint)) return endpoint;
    if (endpoint.dialect === null) return { endpoint, sent: null };
    return refuse('refused', say('A door gets no test event. Make a small order in the panel, and pay it.'));
  },
  review: ({ endpoint: { id, url } }) => ({
    title,
    target: id,
    facts: [[say('URL'), url]],
    button: title,
  }),
  async before({ sendTestEvent }, { endpoint }) {
    const sent = await sendTestEvent(endpoint);
    return sent ? { endpoint, sent } : unknownEndpoint(endpoint.id);
  },
  async run({ database, act }, { endpoint: { id, url }, sent }) {
    if (!sent) return unknownEndpoint(id);
    const { eventId: event, isDelivered, status, error, detail, answer, durationMs } = sent;
    const entry = { target: id, before: null, after: { answer: status ?? error ?? 'none' } };
    await database.audit.record(act, entry);
    return {
      made: say('Test event'),
      said: adviceOn(sent),
      isBad: !isDelivered,
      json: { event, delivered: isDelivered, status, error, duration_ms: durationMs, answer },
      facts: [
        [say('State'), say(isDelivered ? 'delivered' : 'not delivered')],
        [say('URL'), url],
        [say('Answer'), status ?? say('none')],
        [say('Took'), `${durationMs} ms`],
        ...(detail === null ? [] : [[say('What happened'), plain(detail)] as const]),
        ...(answer === null ? [] : [[say('It said'), plain(answer)] as const]),
      ],
    };
  },
});

const plain = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ');

const advice: Readonly<Record<SendError, Sentence>> = {
  dns: say('The host name of the URL is not found: check how it is spelled, and its DNS record.'),
  tls: say('The certificate of the host is not valid: renew it, or install the whole chain.'),
  connect: say(
    'Nothing accepts connections at that host and port: check that your shop runs, and that its firewall lets this server in.',
  ),
  timeout: say('The endpoint took too long: let it answer 200 first, and do the work afterwards.'),
  blocked_address: say(
    'The host has a private address: the operator of this installation can allow it in `webhooks.allow_cidrs`.',
  ),
  too_large: say('The headers of the answer are too large: answer 200 with few headers.'),
  http: say('The server there does not speak HTTP: check the scheme and the port of the URL.'),
};

/** Says what an answer means, and what to do next. */
function adviceOn({ isDelivered, status, error }: TestAnswer): Sentence {
  if (isDelivered) return say('delivered');
  if (status !== null) {
    return say(
      'The endpoint answered {status}, not 2xx: your shop’s log says why. Let it answer 200 once the signature is right.',
      { status: String(status) },
    );
  }
  return error === null || error === 'stopped' ? say('not delivered') : advice[error];
}
