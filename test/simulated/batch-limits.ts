/**
 * Batches on a node with tight limits, refused in go-ethereum's words.
 */
import type { Faults } from './faults.ts';

/** Limits of the faults `batch_limited` and `answers_limited`. */
const CALLS_MAX = 5;
const ANSWER_CHARACTERS_MAX = 5_000;

/** Answers a message; of a batch, only what the fault that hits it allows. */
export function answerBatch(message: string, answer: (message: string) => string, faults: Faults): string {
  const items = batchOf(message);
  const fault = items && faults.strike(['batch_limited', 'answers_limited'], 'batch', []);
  if (!items || !fault) return answer(message);
  if (fault.kind === 'answers_limited') return `[${answerInTurn(items, answer).join(',')}]`;
  return items.length > CALLS_MAX ? `[${refusal(items[0]?.id, -32600, 'batch too large')}]` : answer(message);
}

type Item = Readonly<{ id?: unknown }>;

/** Returns the calls of a batch; null if the message is none. */
function batchOf(message: string): Item[] | null {
  try {
    const items: unknown = JSON.parse(message);
    return Array.isArray(items) && items.length > 0 ? items : null;
  } catch {
    return null;
  }
}

function answerInTurn(items: readonly Item[], answer: (message: string) => string): string[] {
  const answers: string[] = [];
  let characters = 0;
  for (const item of items) {
    if (characters > ANSWER_CHARACTERS_MAX) {
      answers.push(refusal(item.id, -32003, 'response too large'));
      continue;
    }
    const text = answer(JSON.stringify(item));
    answers.push(text);
    characters += text.length;
  }
  return answers;
}

const refusal = (id: unknown, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
