/** Buttons that print the page. Without this script they are not there. */
for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-print]'))) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}
