/** The policy of a network without sweep settings. */
import type { SweepPolicy } from '../../src/core/sweep.ts';

export const plainSweepPolicy: SweepPolicy = {
  auto: false,
  minPar: 20n * 10n ** 18n,
  ageMsMax: 30 * 86_400_000,
  costSharePpmMax: 20_000n,
  nativePricePar: null,
};
