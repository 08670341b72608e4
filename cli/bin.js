#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';

/** `npx exchange` in a clone: bundles what has changed, then runs the bundle in this process. */
process.chdir(dirname(import.meta.dirname));
const { status } = spawnSync(process.execPath, ['bundle.js'], { stdio: 'inherit' });
if (status === 0) await import('../dist/bundle/exchange.js');
else process.exitCode = status ?? 1;
