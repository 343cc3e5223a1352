/**
 * Description of a backup, in `manifest.json` within the encrypted part.
 */
import * as z from 'zod';
import { names } from './archive.ts';

export const manifestSchema = z.strictObject({
  version: z.literal(1),
  program_version: z.string(),
  /** When the database was copied. */
  made_at_ms: z.int().nonnegative(),
  schema_version: z.int().nonnegative(),
  /** It follows simulated chains, which are not in the backup. */
  sandbox: z.boolean().default(false),
  files: z.array(z.strictObject({ name: z.enum(names), bytes: z.int().nonnegative() })),
  /** Rows of each table. */
  counts: z.record(z.string(), z.int().nonnegative()),
  /** `limits.pool_target`. */
  pool_target: z.int().positive(),
  pools: z.array(
    z.strictObject({
      family: z.string(),
      mode: z.enum(['live', 'test']),
      source: z.string(),
      /** Addresses with a lower index were given out or retired. */
      through: z.int().nonnegative(),
      /** Addresses given out on the busiest of the last days. */
      daily_max: z.int().nonnegative(),
    }),
  ),
});
export type Manifest = z.infer<typeof manifestSchema>;
