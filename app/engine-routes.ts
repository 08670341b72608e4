import { askSandboxEngine } from '../command/engines/sandbox-engine.ts';
import { engineWriteRoutes } from '../command/engines/routes.ts';
import { slotIdOf, type ConnectionStores } from '../command/engines/run-on-connection.ts';
import { createVerifyKey } from '../command/engines/verify-key.ts';
import { SANDBOX_ENGINE } from '../domain/engines/engine-resource.ts';
import { findAdvertiserNames } from '../query/engines/find-advertiser-names.ts';
import { engineReadRoutes, type EngineReads } from '../query/engines/routes.ts';
import type { Clock } from '../shared/async/clock.ts';
import type { Route } from '../shared/http/route.ts';
import type { Logger } from 'pino';
import type { SecretStore } from '../shared/secrets/secret-store.ts';

export interface EngineParts extends ConnectionStores, Pick<EngineReads, 'database' | 'progress'> {
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly log: Logger;
}

/** Well within the time that a request has for its answer. */
const VERIFY_MS_MAX = 2_000;

/** So long a write that is done waits for a read model; then it reads the streams. */
const NAMES_MS_MAX = 200;

/** Engines that can say whether they take a key. */
const verifiers = new Map([[SANDBOX_ENGINE, askSandboxEngine]]);

/** Creative engines, and the connections to them. */
export const engineRoutes = (parts: EngineParts): readonly Route[] => [
  ...engineWriteRoutes({
    ...parts,
    verifyKey: createVerifyKey({ engines: verifiers, timeoutMs: VERIFY_MS_MAX }),
    findAdvertiserNames: (customerId, ids) => findAdvertiserNames(parts, customerId, ids, NAMES_MS_MAX),
  }),
  ...engineReadRoutes({ ...parts, slotIdOf }),
];
