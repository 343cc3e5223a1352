/**
 * The public id of a session: `cs_` and 26 time-sortable characters. `sess_<body>` and the bare body name the same
 * session.
 */
import { sortableId, sortableTime } from './id.ts';

const SESSION_ID = /^(?:cs_|sess_)?([0-9a-hjkmnp-tv-z]{26})$/;

export const newSessionId = (nowMs: number): string => `cs_${sortableId(nowMs)}`;

/** Returns what sorts before every session created at this time or later, and after all earlier ones. */
export const firstSessionId = (atMs: number): string => `cs_${sortableTime(atMs)}`;

/** @returns the id as it is stored, or null when this cannot be a session's id */
export function parseSessionId(text: string): string | null {
  const body = SESSION_ID.exec(text)?.[1];
  return body ? `cs_${body}` : null;
}
