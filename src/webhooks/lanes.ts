/**
 * Claimed deliveries by endpoint: a bounded number is sent at once, and the rest waits here.
 *
 * An endpoint that answers quickly is claimed ahead, so that the next POST does not wait for the database and many
 * results are recorded in one transaction.
 */

/** Deliveries that an endpoint is expected to take within this time are claimed ahead. */
const AHEAD_MS = 250;
/** Deliveries claimed ahead for one endpoint, at most. */
const AHEAD_MAX = 240;
/** A slower attempt counts in full; a quicker one lowers the expected time by this share of the difference. */
const QUICKER_SHARE = 0.2;

type Lanes<T> = Readonly<{
  add(endpointId: string, item: T): void;
  /** Returns how many wait here. */
  waiting(): number;
  /** Returns, for each endpoint that answers quickly, how many more may be claimed than are sent at once. */
  ahead(): ReadonlyMap<string, number>;
  /** Forgets endpoints to which nothing is sent. */
  sweep(): void;
  /** Takes out what waits for an endpoint, or for all of them. */
  takeBack(endpointId?: string): readonly T[];
}>;

type Lane<T> = { atOnce: number; readonly items: T[]; attemptMs: number | null };

/**
 * @param atOnceMax attempts under way to one endpoint
 * @param send sends one, and returns how long the endpoint took in ms; null if it was not tried
 */
export function createLanes<T>(atOnceMax: number, send: (item: T) => Promise<number | null>): Lanes<T> {
  const lanes = new Map<string, Lane<T>>();
  let waiting = 0;

  /** Sends what waits, one after the other, unless enough others do. */
  async function sendNext(lane: Lane<T>): Promise<void> {
    while (lane.atOnce < atOnceMax) {
      const item = lane.items.shift();
      if (item === undefined) return;
      waiting--;
      lane.atOnce++;
      const tookMs = await send(item);
      lane.atOnce--;
      if (tookMs === null) continue;
      const before = lane.attemptMs ?? tookMs;
      lane.attemptMs = Math.max(tookMs, before + QUICKER_SHARE * (tookMs - before));
    }
  }

  return {
    add(endpointId, item) {
      const lane = lanes.get(endpointId) ?? { atOnce: 0, items: [], attemptMs: null };
      lanes.set(endpointId, lane);
      lane.items.push(item);
      waiting++;
      void sendNext(lane);
    },
    waiting: () => waiting,
    ahead() {
      const ahead = new Map<string, number>();
      for (const [endpointId, { attemptMs }] of lanes) {
        const more = attemptMs === null ? 0 : Math.floor((AHEAD_MS * atOnceMax) / Math.max(1, attemptMs));
        if (more > 0) ahead.set(endpointId, Math.min(more, AHEAD_MAX));
      }
      return ahead;
    },
    sweep() {
      for (const [endpointId, { atOnce, items }] of lanes) {
        if (atOnce === 0 && items.length === 0) lanes.delete(endpointId);
      }
    },
    takeBack(only) {
      const taken = [...lanes].filter(([endpointId]) => endpointId === (only ?? endpointId));
      const items = taken.flatMap(([, lane]) => lane.items.splice(0));
      waiting -= items.length;
      return items;
    },
  };
}
