/** Policies of a network without settings about sweeping and dust. */

import type { SweepPolicy } from '../../src/core/sweep.ts';

export const plainSweepPolicy: SweepPolicy = {
  auto: false,
  minPar: 20n * 10n ** 18n,
  costSharePpmMax: 20_000n,
  nativePricePar: null,
};

export const plainDustFloorPar = 10n ** 16n;
