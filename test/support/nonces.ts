/** A wallet whose transactions are all final, as a node counts them. */
export const counted = (nonce: number) => ({ final: nonce, head: nonce, pending: nonce });
