#!/usr/bin/env node
// Runs the TypeScript program without a build: registers the loader, then hands over.
import { register } from 'tsx/esm/api';

register();
await import('./quayside.ts');
