import { v5 } from 'uuid';

/** Separate namespaces, so that ids of different origins never collide. */
const IDEMPOTENCY_NAMESPACE = '6f7b0f38-2f5e-5d9b-9a51-0f6a0a4f7c11';
const RESOURCE_NAMESPACE = '0c4b9f0e-6c0b-5b5e-8f0a-3f1d7f0f6a52';

/** @param day UTC date of the first claim, `YYYYMMDD`: after 24 h a reused key is a new command */
export const commandIdOfKey = (scope: string, idempotencyKey: string, day: string): string =>
  v5(`${scope}:${idempotencyKey}:${day}`, IDEMPOTENCY_NAMESPACE);

export const eventIdOf = (commandId: string, ordinal: number): string => v5(String(ordinal), commandId);

export const derivedId = (commandId: string, name: string): string => v5(name, commandId);

/** For a resource that the client names: concurrent creations meet in one stream. */
export const resourceIdOf = (kind: string, customerId: number, parentId: number, key: string): string =>
  v5(`${kind}:${customerId}:${parentId}:${key}`, RESOURCE_NAMESPACE);

/** Derived, so that the feed and all webhooks give a notification the same id. */
export const notificationIdOf = (eventId: string, idx: number): string => v5(`notification ${idx}`, eventId);
