/** The real node clients against nodes that fail in every way that heals: whatever they accept is the truth. */
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

for (const road of ['wsUrl', 'httpUrl'] as const) {
  test(`through every fault, an EVM node’s ${road} gives exactly the true transfers`, async () => {
    const sandbox = await startSandboxNode({ seed: `node test ${road}` });
    const node = openNode({ url: sandbox[road], tokens: sandboxTokens, ...limits });
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

for (const road of ['java-tron', 'the bridge'] as const) {
  test(`through every fault, ${road} gives exactly the true transfers`, async () => {
    const sandbox = await startTronNode({ seed: `node test ${road}` });
    const bridge = await startTronBridge(sandbox.url, { requestTimeoutMs: limits.requestTimeoutMs });
    const url = road === 'java-tron' ? sandbox.url : bridge.url;
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

for (const road of ['url', 'httpUrl'] as const) {
  test(`through every fault, a Solana node’s ${road === 'url' ? 'RPC and PubSub' : 'RPC'} gives exactly the true transfers`, async () => {
    const sandbox = await startSolanaNode({
      seed: `node test ${road}`,
      isSkipped: (slot) => slot > 0 && slot % 4 === 0,
    });
    const place = road === 'url' ? { url: sandbox.url, rpcUrl: sandbox.rpcUrl } : { url: sandbox.rpcUrl };
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
