import type { Process } from './settings.ts';

export const CONFIG_MAP = 'exchange-settings';
export const SECRET = 'exchange-secrets';
const NAME = 'buyer-exchange';

/** What the image listens on (`Dockerfile`), and the default of `OPERATOR_PORT` after it. */
export const PORT = 3_000;
export const OPERATOR_PORT = 3_001;

type Labels = Readonly<Record<string, string>>;

export const nameOf = (process: Process): string => `exchange-${process}`;

/** Labels of a process, by which it is selected. */
export const labelsOf = (process: Process): Record<string, string> => ({
  'app.kubernetes.io/name': NAME,
  'app.kubernetes.io/component': process,
});

/** The label of every pod of the service. */
export const everyPod: Labels = { 'app.kubernetes.io/name': NAME };
