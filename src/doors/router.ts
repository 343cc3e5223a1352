/**
 * The routes of all doors, which the server mounts before those of the payment page: they share `/pay`.
 */
import express, { type Router } from 'express';
import { serveEpay } from './epay/router.ts';
import { serveEpusdt } from './epusdt/router.ts';
import type { DoorDeps } from './orders.ts';

export function createDoors(deps: DoorDeps): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  serveEpay(router, deps);
  serveEpusdt(router, deps);
  return router;
}
