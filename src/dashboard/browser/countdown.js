/**
 * Counts down the time that is left for something, and then takes away what can no longer be done. Without this script
 * the page shows what was left when it was loaded.
 */
{
  const timer = /** @type {HTMLElement | null} */ (document.querySelector('[data-left][role="timer"]'));
  const endsAt = Date.now() + Number(timer?.dataset.left);

  // The time is looked at, not counted: a machine that slept has let it pass.
  function look() {
    const left = Math.max(0, Math.ceil((endsAt - Date.now()) / 1000));
    const parts = [left / 60, left].map((part) => String(Math.floor(part) % 60).padStart(2, '0'));
    if (timer) timer.textContent = [Math.floor(left / 3600), ...parts].join(':');
    if (left > 0) return;
    clearInterval(looking);
    const over = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-while-counting]'));
    for (const element of over) element.hidden = true;
  }

  const looking = timer === null ? undefined : setInterval(look, 1_000);
}
