// @ts-check
/**
 * The interface of a wallet in the browser, whatever its family.
 */

/**
 * Each step throws what the wallet throws (EIP-1193: an error with a code), or a `problem`.
 * @typedef {object} Wallet
 * @property {string} id unique among the family's wallets, and the same in the next visit
 * @property {string} name
 * @property {string} icon an image as a data URI; anything else is not shown
 * @property {() => Promise<string | undefined>} connect returns the payer's address
 * @property {(transfer: any) => Promise<void>} ready switches the wallet to the transfer's network, or throws
 * @property {(transfer: any, leave: () => void) => Promise<string>} send returns the transaction id; calls `leave`
 *   right before the step after which the money may be sent
 */

/** @typedef {Readonly<{ found: (wallet: Wallet) => void, lost: (id: string) => void }>} Discovery */

/**
 * Creates an error that says why nothing was sent, by the key of a text of the page.
 * @param {string} word
 */
export const problem = (word) => Object.assign(new Error(word), { word });

/**
 * Returns the code of an error as in EIP-1193. Some wallets wrap the original error.
 * @param {any} error
 * @returns {unknown}
 */
export const codeOf = (error) => error?.data?.originalError?.code ?? error?.code;
