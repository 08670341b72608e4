import { ApiError } from './errors.ts';

/**
 * What JSON may come in. A value that can be parsed but not stored, or not written again, would become an
 * event that nothing can read. Stricter than the schemas, and in
 * front of them: free-form members meet no other rule.
 */
const DEPTH_MAX = 32;
const MEMBERS_MAX = 1_000;
const VALUES_MAX = 500_000;
const REFUSED_MEMBERS = new Set(['__proto__', 'constructor', 'prototype']);

type Key = string | number;

interface Container {
  readonly value: Record<Key, unknown>;
  readonly depth: number;
  readonly key: Key;
  readonly parent: Container | undefined;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a JSON body. A byte order mark is refused like any other character outside the value (RFC 8259, 8.1);
 * `-0` is read as 0, which is how it would be written again.
 * @param storableText false: text that cannot be stored is let through
 * @throws ApiError BAD_REQUEST when the bytes are not JSON in UTF-8; VALIDATION_ERROR when a rule above is broken
 */
export const parseJsonBody = (bytes: Uint8Array, storableText = true): unknown => {
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new ApiError({
      code: 'BAD_REQUEST',
      message: 'The body is not JSON in UTF-8. Send one JSON value, encoded as UTF-8.',
    });
  }
  // Only an escape can bring U+0000 or half a surrogate pair into a text that is valid UTF-8.
  const root = { body: value };
  checkJson(root, storableText && text.includes('\\u'));
  return root.body;
};

/** Applies the rules without recursion: the depth of the input must not become the depth of the stack. */
const checkJson = (root: { body: unknown }, escapes: boolean): void => {
  const open: Container[] = [];
  checkValue(root, 'body', undefined, escapes, open);
  let values = 0;
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    const { value, depth } = container;
    if (depth > DEPTH_MAX) refuse(container, undefined, `nested deeper than ${DEPTH_MAX} levels`);
    if (Array.isArray(value)) {
      values += value.length;
      if (values > VALUES_MAX) refuse(container, undefined, `more than ${VALUES_MAX} values`);
      for (let at = 0; at < value.length; at++) checkValue(value, at, container, escapes, open);
    } else {
      let members = 0;
      for (const name in value) {
        if (++members > MEMBERS_MAX) refuse(container, undefined, `more than ${MEMBERS_MAX} members`);
        if (REFUSED_MEMBERS.has(name)) refuse(container, name, 'a member name that is not allowed');
        if (escapes) checkText(name, container, name);
        checkValue(value, name, container, escapes, open);
      }
      values += members;
    }
  }
};

/** Checks one value where it stands, and puts it on the list when there is something in it. */
const checkValue = (
  holder: Record<Key, unknown>,
  key: Key,
  parent: Container | undefined,
  escapes: boolean,
  open: Container[],
): void => {
  const value = holder[key];
  if (typeof value === 'string') {
    if (escapes) checkText(value, parent, key);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) refuse(parent, key, 'a number that is too large');
    if (Object.is(value, -0)) holder[key] = 0;
  } else if (typeof value === 'object' && value !== null) {
    open.push({ value: value as Record<Key, unknown>, depth: (parent?.depth ?? 0) + 1, key, parent });
  }
};

const checkText = (text: string, parent: Container | undefined, key: Key): void => {
  if (text.includes('\0')) refuse(parent, key, 'text with U+0000');
  if (!text.isWellFormed()) refuse(parent, key, 'text with half of a surrogate pair');
};

/** @param key the member or element of `container` at fault; undefined when it is the container itself */
const refuse = (container: Container | undefined, key: Key | undefined, what: string): never => {
  const path = pathOf(container, key);
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `The body holds ${what}. Remove it and send the request again.`,
    ...(path === '' ? {} : { field: path }),
  });
};

const FIELD_LENGTH_MAX = 200;

const pathOf = (container: Container | undefined, key: Key | undefined): string => {
  const keys = container === undefined || key === undefined ? [] : [key];
  for (let at = container; at?.parent !== undefined; at = at.parent) keys.push(at.key);
  return keys.toReversed().join('.').replaceAll('\0', '').slice(0, FIELD_LENGTH_MAX).toWellFormed();
};
