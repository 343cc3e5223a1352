/**
 * V8's memory settings for an indexer's process.
 */
import { setFlagsFromString } from 'node:v8';

/**
 * Node answers are megabytes of short-lived buffers. V8 counts them as growth of the heap, which is small, and would
 * mark all of it every few blocks. That takes a third of the processor time of catching up. With room to grow, the
 * short collections find the buffers dead first.
 */
export function makeRoomForAnswers(): void {
  // In percent of the heap after a full collection. V8's own choice is at most 100 for a heap of this size.
  setFlagsFromString('--heap-growing-percent=200');
}
