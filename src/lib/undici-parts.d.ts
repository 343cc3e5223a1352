/** Undici publishes no types for its single files; `undici.ts` gives each part its type. */
declare module 'undici/lib/*' {
  const part: never;
  export = part;
}
