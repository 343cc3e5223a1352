/**
 * What a refused call is refused with.
 * @module
 */
import { Fault } from '../../src/core/fault.ts';

/** The code of the fault that `work` throws; `none` when it throws nothing. Other errors are passed on. */
export function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
  return 'none';
}
