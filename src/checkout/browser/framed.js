// @ts-check
/**
 * The page inside a merchant's page: reports the state of the payment to that page. Messages go only to the origin that
 * the server has put into the page because the store allows it. They contain no secret.
 */

const main = () => /** @type {HTMLElement} */ (document.querySelector('#main'));

/** @param {Readonly<Record<string, unknown>>} message */
function post(message) {
  const { parent = '' } = main().dataset;
  if (parent !== '') window.parent.postMessage({ from: 'quayside', ...message }, parent);
}

/** Reports the state of the payment. */
export function reportToParent() {
  const { session, status, seen } = main().dataset;
  post({ session, status, seen: seen === 'yes' });
}

// Keys pressed in here do not reach the dialog around the frame.
document.addEventListener('keydown', ({ key, defaultPrevented }) => {
  if (key === 'Escape' && !defaultPrevented) post({ close: true });
});
