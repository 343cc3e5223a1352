/**
 * Asks questions at the terminal; without one, reads lines from a pipe. Hidden answers stay bytes, which can be wiped.
 * Only printable characters are shown, because a terminal would obey control characters in nodes' answers.
 */
import type { ReadStream } from 'node:tty';
import { printable } from '../core/excerpt.ts';
import { permanent } from '../core/fault.ts';

const LINE_BYTES_MAX = 4096;
const CTRL_C = 0x03;
const CTRL_D = 0x04;
const BACKSPACE = 0x08;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const CTRL_U = 0x15;
const SPACE = 0x20;
const DELETE = 0x7f;
const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

export interface Terminal {
  /** Whether a person answers. If not, answers are lines from a pipe. */
  readonly isInteractive: boolean;
  /** Asks without echo. @returns the typed bytes, which the caller wipes */
  askHidden(question: string): Promise<Buffer>;
  ask(question: string): Promise<string>;
  /** Shows one line on standard error. */
  say(line: string): void;
  /** Clears the screen and its scrollback. */
  clear(): void;
  close(): void;
}

/** Opens the terminal on standard input and standard error. */
export function openTerminal(): Terminal {
  const input = process.stdin as typeof process.stdin & Partial<Pick<ReadStream, 'setRawMode'>>;
  const isInteractive = input.isTTY === true && process.stderr.isTTY === true;
  const show = (text: string) => void process.stderr.write(printable(text));
  const chunks = input.iterator({ destroyOnReturn: false });
  let rest: Buffer = Buffer.alloc(0);

  async function nextByte(): Promise<number | null> {
    while (rest.length === 0) {
      const next = await chunks.next();
      if (next.done) return null;
      rest = next.value as Buffer;
    }
    const byte = rest[0] ?? 0;
    rest[0] = 0;
    rest = rest.subarray(1);
    return byte;
  }

  /** @throws Fault permanent `input_ended`, `interrupted` */
  async function readLine(): Promise<Buffer> {
    const line = Buffer.alloc(LINE_BYTES_MAX);
    let length = 0;
    for (;;) {
      const byte = await nextByte();
      if (byte === null && length === 0)
        throw permanent('input_ended', 'the input ended before the answer: run this at a terminal');
      if (byte === null || byte === LINE_FEED || byte === RETURN) break;
      if (byte === CTRL_C || byte === CTRL_D) throw permanent('interrupted', 'stopped; nothing was changed');
      if (byte === CTRL_U) length = 0;
      else if (byte === BACKSPACE || byte === DELETE) length = lastCharacterAt(line, length);
      else if (byte >= SPACE && length < LINE_BYTES_MAX) line[length++] = byte;
    }
    line.fill(0, length);
    return line.subarray(0, length);
  }

  return {
    isInteractive,
    async askHidden(question) {
      // Turns echo off before the question, so that text pasted ahead is not shown, even if questions go to a file.
      if (input.isTTY) input.setRawMode?.(true);
      show(question);
      try {
        return await readLine();
      } finally {
        if (input.isTTY) input.setRawMode?.(false);
        process.stderr.write('\n');
      }
    },
    async ask(question) {
      show(question);
      return (await readLine()).toString('utf8').trim();
    },
    say(line) {
      show(line);
      process.stderr.write('\n');
    },
    clear: () => void process.stderr.write(CLEAR),
    close() {
      rest.fill(0);
      // If a question is still open, restore the echo and stop reading.
      if (input.isTTY) input.setRawMode?.(false);
      input.pause();
      input.unref?.();
    },
  };
}

/** Returns where the last character of UTF-8 text begins. */
function lastCharacterAt(line: Buffer, length: number): number {
  let at = Math.max(0, length - 1);
  while (at > 0 && ((line[at] ?? 0) & 0xc0) === 0x80) at--;
  return at;
}
