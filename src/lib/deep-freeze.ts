/**
 * Immutable values.
 */

/** Freezes an object and all objects in it; maps and sets keep mutable contents. @returns the same object */
export function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) deepFreeze(inner);
  }
  return Object.freeze(value);
}
