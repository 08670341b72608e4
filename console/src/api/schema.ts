import type { components } from '../../../client/src/api.ts';

/** A type of the API, as its document names it. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];
