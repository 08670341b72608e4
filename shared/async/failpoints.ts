import { appendFileSync } from 'node:fs';

/**
 * Places where a crash would hurt most. Inert unless a test armed them; then the
 * process kills itself there, as a power cut would: nothing is flushed, nothing is said.
 */
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

/**
 * Arms failpoints of this process.
 * @param spec `name:probability,...`, e.g. `after-append:0.01`
 * @param file each hit adds its name as a line to this file before the process dies
 */
export const armFailpoints = (spec: string, file: string): void => {
  armed = new Map(
    spec.split(',').map((entry) => {
      const [name = '', probability = '0'] = entry.split(':');
      return [name, Number(probability)] as const;
    }),
  );
  reportFile = file;
};

/** Marks a place to die at. Costs one comparison when nothing is armed. */
export const failpoint = (name: Failpoint): void => {
  if (armed === undefined || Math.random() >= (armed.get(name) ?? 0)) return;
  if (reportFile !== '') appendFileSync(reportFile, `${name}\n`);
  process.kill(process.pid, 'SIGKILL');
};
