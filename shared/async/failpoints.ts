import { appendFileSync } from 'node:fs';

/** Where a test can kill the process like a power cut. */
export const failpointNames = [
  'after-reserve',
  'after-claim',
  'before-append',
  'after-append',
  'before-complete',
  'after-complete',
  'before-release',
  'before-reply',
  'upload-before-keep',
  'upload-after-keep',
  'upload-after-event',
  'before-mail',
  'after-mail',
  'webhook-after-read',
  'webhook-before-send',
  'webhook-after-send',
  'webhook-after-outcome',
  'projection-before-rows',
  'projection-before-commit',
  'projection-after-commit',
  'copy-created',
  'copy-before-switch',
  'copy-in-switch',
] as const;

export type Failpoint = (typeof failpointNames)[number];

let armed: ReadonlyMap<string, number> | undefined;
let reportFile = '';

/** @param spec `name:probability,...` @param file gets the names of hits */
export const armFailpoints = (spec: string, file: string): void => {
  armed = new Map(
    spec.split(',').map((entry) => {
      const [name = '', probability = '0'] = entry.split(':');
      return [name, Number(probability)] as const;
    }),
  );
  reportFile = file;
};

export const failpoint = (name: Failpoint): void => {
  if (armed === undefined || Math.random() >= (armed.get(name) ?? 0)) return;
  if (reportFile !== '') appendFileSync(reportFile, `${name}\n`);
  process.kill(process.pid, 'SIGKILL');
};
