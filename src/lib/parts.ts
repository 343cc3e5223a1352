/**
 * Answers that are written part by part, no faster than they are read.
 */
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';

/**
 * Writes text to a client. A reader that leaves ends it without an error, and one that stalls is disconnected.
 * @throws what `parts` throws; the connection is cut then
 */
export async function writeParts(
  response: ServerResponse,
  parts: AsyncIterable<string>,
  stalledMsMax: number,
): Promise<void> {
  response.setTimeout(stalledMsMax, () => response.destroy());
  try {
    await pipeline(parts, response);
  } catch (error) {
    const isReaderGone = error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
    if (!isReaderGone) throw error;
  }
}
