import { v5 } from 'uuid';

/** Command ids are namespaced by what they are derived from, so that no two derivations can meet. */
const IDEMPOTENCY_NAMESPACE = '6f7b0f38-2f5e-5d9b-9a51-0f6a0a4f7c11';
const RESOURCE_NAMESPACE = '0c4b9f0e-6c0b-5b5e-8f0a-3f1d7f0f6a52';

/**
 * The command id of a keyed write: the same account and key give the same command for as long
 * as the key is honored.
 * @param scope whose key it is, e.g. the account's id
 * @param day UTC date of the first claim, `YYYYMMDD`: a key is free again after 24 h, and then it names another
 *   command
 */
export const commandIdOfKey = (scope: string, idempotencyKey: string, day: string): string =>
  v5(`${scope}:${idempotencyKey}:${day}`, IDEMPOTENCY_NAMESPACE);

/** The id of the `ordinal`-th event of a command: repeating a command repeats its event ids. */
export const eventIdOf = (commandId: string, ordinal: number): string => v5(String(ordinal), commandId);

/** The id of a thing that a command creates, e.g. a frequency cap: stable when the command is repeated. */
export const derivedId = (commandId: string, name: string): string => v5(name, commandId);

/**
 * The id of a resource that its client names: its stream is known without a look-up, and two requests that create it at
 * the same time append to the same stream.
 * @param kind of resource, part of the id
 * @param key the client's name for it, unique within the parent resource
 */
export const resourceIdOf = (kind: string, customerId: number, parentId: number, key: string): string =>
  v5(`${kind}:${customerId}:${parentId}:${key}`, RESOURCE_NAMESPACE);
