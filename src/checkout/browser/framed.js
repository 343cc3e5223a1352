// @ts-check
/**
 * The page inside a merchant's page: tells that page how the payment stands. Only the one origin hears it that the store allows and the server
 * has put into the page; what it is told is also in the signed webhook, and of no secret.
 * @module
 */

const main = () => /** @type {HTMLElement} */ (document.querySelector('#main'));

/** @param {Readonly<Record<string, unknown>>} message */
function post(message) {
  const { parent = '' } = main().dataset;
  if (parent !== '') window.parent.postMessage({ from: 'quayside', ...message }, parent);
}

/** How the payment stands now. */
export function tellParent() {
  const { session, status, seen } = main().dataset;
  post({ session, status, seen: seen === 'yes' });
}

// A key pressed in here does not reach the dialog around the frame.
document.addEventListener('keydown', ({ key, defaultPrevented }) => {
  if (key === 'Escape' && !defaultPrevented) post({ close: true });
});
