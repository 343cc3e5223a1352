/**
 * An attempt to send a webhook as a command for a shell: the same request, as it was signed. There is no secret in it.
 */
import { stampedHeaders, type WebhookStamp } from '../core/delivery.ts';
import type { Mode } from '../core/transfer.ts';
import { shellWord } from '../lib/shell-word.ts';

/** Returns the command, which needs curl. @param event `body`: the bytes that were sent */
export function webhookCall(
  url: string,
  event: Readonly<{ mode: Mode; id: string; type: string; body: string }>,
  stamp: WebhookStamp,
): string {
  const headers = stampedHeaders({ mode: event.mode, eventId: event.id, eventType: event.type }, stamp);
  const lines = [
    // Brackets and braces in a URL are not patterns.
    `curl -sS -i --globoff ${shellWord(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    `--data-raw ${shellWord(event.body)}`,
  ];
  return `${lines.join(' \\\n  ')}\n`;
}
