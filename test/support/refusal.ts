/**
 * The code of a refusal.
 */
import { Fault } from '../../src/core/fault.ts';

/** Returns the code of the fault that `work` throws; `none` if it throws nothing. Other errors are rethrown. */
export function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
  return 'none';
}
