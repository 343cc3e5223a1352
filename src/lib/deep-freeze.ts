/**
 * Values that nobody changes any more.
 * @module
 */

/** Freezes an object and everything in it that is an object too; maps and sets keep their contents changeable. @returns the same object */
export function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) deepFreeze(inner);
  }
  return Object.freeze(value);
}
