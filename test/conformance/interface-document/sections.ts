/** The document's sections, in its order. */
import type { Section } from './row.ts';
import { authenticationSections } from './rows/authentication.ts';
import { refundEndpointSections } from './rows/endpoints-refunds.ts';
import { sessionEndpointSections } from './rows/endpoints-sessions.ts';
import { errorSections } from './rows/errors.ts';
import { eventSections } from './rows/events.ts';
import { resourceSections } from './rows/resources.ts';
import { serviceSections } from './rows/service.ts';
import { stateSections } from './rows/states.ts';
import { variantSections } from './rows/variants.ts';

export const sections: readonly Section[] = [
  ...serviceSections,
  ...resourceSections,
  ...stateSections,
  ...sessionEndpointSections,
  ...refundEndpointSections,
  ...variantSections,
  ...authenticationSections,
  ...eventSections,
  ...errorSections,
];
