/** The commands of `quayside`. */
import { acknowledgeAlarm } from '../../src/acts/alarms.ts';
import { addDoor } from '../../src/acts/doors.ts';
import { acceptHeld, returnHeld } from '../../src/acts/held.ts';
import { createKey, revokeKey } from '../../src/acts/keys.ts';
import { thawMoneyOut } from '../../src/acts/money-out.ts';
import { linkPerson, removePerson } from '../../src/acts/people.ts';
import { approveRefund, redirectRefund, rejectRefund } from '../../src/acts/refunds.ts';
import { addStore } from '../../src/acts/store-add.ts';
import { decideStore } from '../../src/acts/store-decisions.ts';
import { setStore } from '../../src/acts/stores.ts';
import { testEndpoint } from '../../src/acts/webhook-test.ts';
import { addEndpoint, removeEndpoint, resendWebhooks, rotateSecret, setEndpoint } from '../../src/acts/webhooks.ts';
import { RESEND_PACE_MS } from '../../src/database/events.ts';
import { commandOf } from './act-command.ts';
import { addressPoolDerive, addressPoolImport } from './address-pool.ts';
import { backup, restore } from './backup.ts';
import { type Tool, toolOf } from './command.ts';
import { databaseMove } from './database.ts';
import { doctor } from './doctor.ts';
import { exportBooks } from './export.ts';
import { alarmList, auditList, heldList, keyList, payoutsList, refundsList, webhooksList } from './lists.ts';
import { networksReread } from './networks.ts';
import { nodeCheck, nodeSync } from './nodes.ts';
import { pay } from './pay.ts';
import { payoutsFreeze, payoutsReconcile, payoutsResolve } from './payouts.ts';
import { secretKeyRotate } from './secret-key.ts';
import { show } from './show.ts';
import { status } from './status.ts';
import { sweep } from './sweep.ts';
import { tronWs } from './tron-ws.ts';

/** The commands by how often each subject is needed, in the order of the overview. */
const sections: Tool['sections'] = [
  [
    'Every day',
    [
      status,
      show,
      alarmList,
      commandOf(acknowledgeAlarm),
      refundsList,
      commandOf(approveRefund, {
        notes: [
          'What the signer does not pay by itself needs an approver’s signature, whose key is never used on this machine:',
          '1. here: quayside show <refund> --request > refund.json',
          '2. on the approver’s machine: quayside-signer approve refund.json --key anna.key > anna.json',
          '3. here: quayside refund approve <refund> --approval anna.json',
        ],
        confirms: true,
      }),
      commandOf(rejectRefund),
      commandOf(redirectRefund, {
        notes: ['The cancel window begins again. A refund that was approved has to be approved again.'],
      }),
      heldList,
      commandOf(acceptHeld, { notes: ['--dry-run shows what accepting does to the session.'] }),
      commandOf(returnHeld, {
        notes: [
          'Whole cents of one coin on one network are returned at a time; --network and --currency choose among several.',
          'The signer’s caps apply: `quayside refund approve` approves a return above them.',
          '`quayside refund reject` takes it back while nothing that was signed for it can pay. It is paid once the money is ' +
            'final.',
        ],
      }),
      commandOf(addDoor, {
        notes: ['`quayside webhook set ID --state off` closes the door, and `quayside webhook remove` ends its key.'],
      }),
      webhooksList,
      commandOf(addEndpoint),
      commandOf(setEndpoint),
      commandOf(removeEndpoint),
      commandOf(resendWebhooks, {
        notes: [
          'A delivery (`dlv_…`) is sent whatever its state; of an event (`evt_…`), every delivery.',
          '--since: every delivery since then that failed for good or waits after a failure starts a new schedule, oldest event ' +
            `first, one every ${RESEND_PACE_MS} ms. Without an endpoint: of all endpoints. Delivered events are not sent again.`,
          'An endpoint gets the events from its addition on; the API has earlier ones (GET /api/v1/events).',
        ],
      }),
      commandOf(testEndpoint, {
        notes: [
          'The event has the type `webhook.test`, the mode of the endpoint and no payment. It is sent once, also to an ' +
            'endpoint that is disabled, and is not kept. The exit code is 1 unless the answer is 2xx.',
        ],
      }),
      commandOf(rotateSecret, {
        notes: [
          'Until a rotation is finished, `X-Service-Signature` is made with the old secret, and `webhook-signature` holds one ' +
            'signature with each. Instead of an endpoint, a store can be named: its secrets sign for the `webhook_url` of single ' +
            'sessions.',
        ],
      }),
      payoutsList,
      payoutsResolve,
      payoutsReconcile,
      payoutsFreeze,
      commandOf(thawMoneyOut, {
        notes: [
          'A network with a freeze of its own stays frozen until that is ended by its name. `payout reconcile` ends a ' +
            'freeze that the program set by itself, and shows its cause.',
        ],
      }),
      sweep,
      exportBooks,
    ],
  ],
  [
    'Setting up',
    [
      commandOf(addStore, { createsInstallation: true }),
      commandOf(setStore),
      commandOf(decideStore),
      commandOf(createKey, {
        notes: [
          'A live key is made only with --scopes. refunds:write makes refunds: a key with it can send money out.',
        ],
      }),
      keyList,
      commandOf(revokeKey),
      commandOf(linkPerson),
      commandOf(removePerson),
      networksReread,
      nodeCheck,
      nodeSync,
      addressPoolDerive,
      addressPoolImport,
    ],
  ],
  ['Now and then', [doctor, backup, restore, databaseMove, auditList, secretKeyRotate, pay, tronWs]],
];

export const quaysideTool = toolOf('quayside', 'Operate a Quayside installation', sections);
