/**
 * One Chromium in a process of its own, which any number of test files share.
 */

import { fork } from 'node:child_process';
import { loaderOptions, ownProgram } from './own-program.ts';

export type BrowserProcess = Readonly<{
  /** Where Playwright connects to it. */
  address: string;
  stop(): void;
}>;

/**
 * Starts Chromium; it ends with the process that started it, at the latest. The first start unpacks it, which takes a
 * while.
 * @param report told how far the unpacking is, a line at a time
 * @throws Error when it does not start; the reason is on standard error
 */
export function startBrowserProcess(report: (line: string) => void): Promise<BrowserProcess> {
  const child = fork(ownProgram(new URL('./browser-server.ts', import.meta.url)), {
    execArgv: [...loaderOptions],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.on('message', (message: { progress: string } | { address: string }) => {
      if ('progress' in message) return report(message.progress);
      resolve({
        address: message.address,
        stop() {
          if (child.connected) child.disconnect();
        },
      });
    });
    child.once('exit', (code) => reject(new Error(`Chromium did not start: its process ended with ${code}`)));
  });
}
