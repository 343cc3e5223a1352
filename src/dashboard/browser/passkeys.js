/**
 * Buttons that ask for a passkey: their data says what the browser is asked for, and the answer goes into the field
 * beside them and with its form. Without this script they stay hidden.
 */

/** @param {string} text */
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0));

/** @param {ArrayBuffer | null} bytes */
const textOf = (bytes) =>
  bytes &&
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');

/** @param {{ id: string }[]} list */
const known = (list) => list.map((one) => ({ ...one, id: bytesOf(one.id) }));

/**
 * @param {string} text
 * @returns {Promise<object>}
 */
async function ask(text) {
  const options = JSON.parse(text);
  options.challenge = bytesOf(options.challenge);
  if (options.user) {
    options.user.id = bytesOf(options.user.id);
    options.excludeCredentials = known(options.excludeCredentials);
  } else options.allowCredentials = known(options.allowCredentials);
  const made = options.user
    ? await navigator.credentials.create({ publicKey: options })
    : await navigator.credentials.get({ publicKey: options });
  const { id, rawId, type, response } = /** @type {any} */ (made);
  /** @type {Record<string, ArrayBuffer | null>} */
  const parts = options.user
    ? { clientDataJSON: response.clientDataJSON, attestationObject: response.attestationObject }
    : {
        clientDataJSON: response.clientDataJSON,
        authenticatorData: response.authenticatorData,
        signature: response.signature,
        userHandle: response.userHandle,
      };
  const written = Object.entries(parts).flatMap(([name, bytes]) => (bytes ? [[name, textOf(bytes)]] : []));
  return { id, rawId: textOf(rawId), type, response: Object.fromEntries(written), clientExtensionResults: {} };
}

for (const element of window.PublicKeyCredential ? document.querySelectorAll('[data-passkey]') : []) {
  const part = /** @type {HTMLElement} */ (element);
  const button = part.querySelector('button');
  const field = part.querySelector('input');
  const said = part.querySelector('[role=status]');
  part.hidden = false;
  button?.addEventListener('click', async () => {
    if (!field || !said) return;
    said.textContent = '';
    button.disabled = true;
    try {
      field.value = JSON.stringify(await ask(part.dataset.passkey ?? ''));
      field.form?.submit();
    } catch {
      said.textContent = part.dataset.failed ?? '';
      button.disabled = false;
    }
  });
}
