/** Faults that work throws. */
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';

/** Returns the fault that `work` must throw. Other errors are rethrown. */
export function faultIn(work: () => unknown): Fault {
  try {
    work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('expected a fault');
}

/** Returns the fault with which `work` must end. Other errors are rethrown. */
export async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const error = await work.then(
    () => new Error('expected a fault'),
    (reason: unknown) => reason,
  );
  if (error instanceof Fault) return error;
  throw error;
}

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

/** Asserts that `work` throws the fault of this code. */
export const refuses = (code: string, work: () => unknown): void => assert.is(refusalOf(work), code);
