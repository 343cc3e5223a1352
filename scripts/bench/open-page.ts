/**
 * An open payment page as the server sees it: its stream of events.
 * @module
 */
import { get, type IncomingMessage } from 'node:http';

export type OpenPage = Readonly<{
  sessionId: string;
  /** Calls `listener` at each event that reports a change of the page. */
  onChange(listener: () => void): void;
  close(): void;
}>;

/** What a page contains about its stream. */
export type LivePage = Readonly<{ sessionId: string; events: string; version: string }>;

/** Reads a payment page like its script. @throws Error if the page has no stream */
export function livePageOf(sessionId: string, pageUrl: string, text: string): LivePage {
  const dataOf = (name: string) => new RegExp(`\\bdata-${name}="([^"]*)"`).exec(text)?.[1];
  const [events, version] = [dataOf('events'), dataOf('version')];
  if (events === undefined || version === undefined) throw new Error(`the page of ${sessionId} is not live`);
  return { sessionId, events: new URL(events, pageUrl).href, version };
}

/**
 * Opens the stream on its own connection, and resolves when the server has answered.
 * @param from the payer's IP address, as a proxy reports it
 */
export function openPage({ sessionId, events, version }: LivePage, from: string): Promise<OpenPage> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', 'x-forwarded-for': from };
    const request = get(`${events}?after=${version}`, { agent: false, headers }, (response: IncomingMessage) => {
      if (response.statusCode !== 200) return reject(new Error(`${events} answered ${response.statusCode}`));
      const listeners: (() => void)[] = [];
      response.setEncoding('utf8').on('data', (text: string) => {
        if (text.includes('event: version')) for (const listener of listeners) listener();
      });
      resolve({ sessionId, onChange: (listener) => void listeners.push(listener), close: () => request.destroy() });
    });
    request.on('error', reject);
  });
}
