/** A parsed answer. Rows look into answers freely and assert what the document says of them. */
// biome-ignore lint/suspicious/noExplicitAny: every field that is read is asserted
export type Json = any;
