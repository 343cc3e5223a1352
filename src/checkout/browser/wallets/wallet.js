// @ts-check
/**
 * What a wallet inside the browser is to the payment page, whatever its family.
 * @module
 */

/**
 * Each step may throw what the wallet throws (EIP-1193: an error with a code), or a `problem`.
 * @typedef {object} Wallet
 * @property {string} id unique among the family's wallets, and the same at the next visit
 * @property {string} name
 * @property {string} icon an image as a data URI, or anything else, which is not shown
 * @property {() => Promise<string | undefined>} connect the payer's address there
 * @property {(transfer: any) => Promise<void>} ready brings the wallet to the transfer's network, or throws
 * @property {(transfer: any, leave: () => void) => Promise<string>} send returns the transaction's id; calls `leave` right before the
 *   step after which the money may go
 */

/** @typedef {Readonly<{ found: (wallet: Wallet) => void, lost: (id: string) => void }>} Discovery */

/**
 * A reason why nothing was sent, as one of the page's own words.
 * @param {string} word
 */
export const problem = (word) => Object.assign(new Error(word), { word });

/**
 * The code of an error of EIP-1193 and its like; some wallets put the true one inside.
 * @param {any} error
 * @returns {unknown}
 */
export const codeOf = (error) => error?.data?.originalError?.code ?? error?.code;
