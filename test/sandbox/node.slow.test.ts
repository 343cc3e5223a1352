/** The real node clients against nodes with every kind of temporary fault: whatever they accept is true. */
import { test } from 'uvu';
import { openNode } from '../../src/chains/evm/node/node.ts';
import { evmWire } from '../../src/chains/evm/wire.ts';
import { openNode as openSolanaNode } from '../../src/chains/solana/node/node.ts';
import { solanaWire } from '../../src/chains/solana/wire.ts';
import { openNode as openTronNode } from '../../src/chains/tron/node/node.ts';
import { tronWire } from '../../src/chains/tron/wire.ts';
import { readThroughFaults } from '../support/careful-reader.ts';
import { sandboxTokens, startSandboxNode } from '../support/sandbox-node.ts';
import { solanaTokens, startSolanaNode } from '../support/solana-node.ts';
import { startTronBridge } from '../support/tron-bridge.ts';
import { startTronNode, tronTokens } from '../support/tron-node.ts';

const limits = { requestTimeoutMs: 250, responseBytesMax: 1_000_000, idleMsMax: 400, concurrencyMax: 4 };

for (const way of ['wsUrl', 'httpUrl'] as const) {
  test(`through every fault, an EVM node’s ${way} gives exactly the true transfers`, async () => {
    const sandbox = await startSandboxNode({ seed: `node test ${way}` });
    const node = openNode({ url: sandbox[way], tokens: sandboxTokens, ...limits });
    try {
      await readThroughFaults({ sandbox, node, wire: evmWire, tokens: sandboxTokens }, [
        'empty_content',
        'sibling_content',
        'unlinked',
        'unknown_block',
        'cut',
        'rpc_error',
      ]);
    } finally {
      await node.close();
      await sandbox.close();
    }
  });
}

for (const way of ['java-tron', 'the bridge'] as const) {
  test(`through every fault, ${way} gives exactly the true transfers`, async () => {
    const sandbox = await startTronNode({ seed: `node test ${way}` });
    const bridge = await startTronBridge(sandbox.url, { requestTimeoutMs: limits.requestTimeoutMs });
    const url = way === 'java-tron' ? sandbox.url : bridge.url;
    const node = openTronNode({ url, tokens: tronTokens, ...limits });
    try {
      await readThroughFaults({ sandbox, node, wire: tronWire, tokens: tronTokens }, [
        'empty_content',
        'sibling_content',
        'unlinked',
        'unknown_block',
        'history_closed',
        'cut',
        'rpc_error',
      ]);
    } finally {
      await node.close();
      await bridge.stop();
      await sandbox.close();
    }
  });
}

for (const way of ['url', 'httpUrl'] as const) {
  test(`through every fault, a Solana node’s ${way === 'url' ? 'RPC and PubSub' : 'RPC'} gives exactly the true transfers`, async () => {
    const sandbox = await startSolanaNode({
      seed: `node test ${way}`,
      isSkipped: (slot) => slot > 0 && slot % 4 === 0,
    });
    const place = way === 'url' ? { url: sandbox.url, rpcUrl: sandbox.rpcUrl } : { url: sandbox.rpcUrl };
    const node = openSolanaNode({ ...place, tokens: solanaTokens, ...limits });
    try {
      await readThroughFaults({ sandbox, node, wire: solanaWire, tokens: solanaTokens }, [
        'empty_content',
        'sibling_content',
        'unlinked',
        'unknown_block',
        'cut',
        'rpc_error',
      ]);
    } finally {
      await node.close();
      await sandbox.close();
    }
  });
}

test.run();
