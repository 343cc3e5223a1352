/**
 * A payment page in a browser that stays open, as far as the server sees it: its stream of events.
 * @module
 */
import { get, type IncomingMessage } from 'node:http';

export type OpenPage = Readonly<{
  sessionId: string;
  /** Calls `ring` at each event that says that the page changed. */
  onChange(ring: () => void): void;
  close(): void;
}>;

/** What a page says of its stream. */
export type LivePage = Readonly<{ sessionId: string; events: string; version: string }>;

/** Reads a payment page as its script would. @throws Error when the page has no stream */
export function livePageOf(sessionId: string, pageUrl: string, text: string): LivePage {
  const dataOf = (name: string) => new RegExp(`\\bdata-${name}="([^"]*)"`).exec(text)?.[1];
  const [events, version] = [dataOf('events'), dataOf('version')];
  if (events === undefined || version === undefined) throw new Error(`the page of ${sessionId} is not live`);
  return { sessionId, events: new URL(events, pageUrl).href, version };
}

/**
 * Opens the stream on a connection of its own, and resolves when the server has answered.
 * @param from the payer's address, as the proxy in front of the server tells it
 */
export function openPage({ sessionId, events, version }: LivePage, from: string): Promise<OpenPage> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', 'x-forwarded-for': from };
    const request = get(`${events}?after=${version}`, { agent: false, headers }, (response: IncomingMessage) => {
      if (response.statusCode !== 200) return reject(new Error(`${events} answered ${response.statusCode}`));
      const bells: (() => void)[] = [];
      response.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('event: version')) for (const ring of bells) ring();
      });
      resolve({ sessionId, onChange: (ring) => void bells.push(ring), close: () => request.destroy() });
    });
    request.on('error', reject);
  });
}
