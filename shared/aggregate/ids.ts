import { v5 } from 'uuid';

/** Separate namespaces, so that ids of different origins never collide. */
const IDEMPOTENCY_NAMESPACE = '6f7b0f38-2f5e-5d9b-9a51-0f6a0a4f7c11';
const RESOURCE_NAMESPACE = '0c4b9f0e-6c0b-5b5e-8f0a-3f1d7f0f6a52';

/**
 * The command id of a write with an idempotency key.
 * @param scope owner of the key, e.g. the account's id
 * @param day UTC date of the first claim, `YYYYMMDD`: after 24 h a reused key is a new command
 */
export const commandIdOfKey = (scope: string, idempotencyKey: string, day: string): string =>
  v5(`${scope}:${idempotencyKey}:${day}`, IDEMPOTENCY_NAMESPACE);

/** The id of the `ordinal`-th event of a command, the same in every run. */
export const eventIdOf = (commandId: string, ordinal: number): string => v5(String(ordinal), commandId);

/** The id of something that a command creates, the same in every run. */
export const derivedId = (commandId: string, name: string): string => v5(name, commandId);

/**
 * The id of a resource that the client names. Concurrent creations append to one stream, so the second finds the
 * first.
 */
export const resourceIdOf = (kind: string, customerId: number, parentId: number, key: string): string =>
  v5(`${kind}:${customerId}:${parentId}:${key}`, RESOURCE_NAMESPACE);
