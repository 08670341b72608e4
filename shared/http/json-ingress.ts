import { isAscii } from 'node:buffer';
import { RefusedItem } from '../json/refused-item.ts';
import { elementTexts } from '../json/element-texts.ts';
import { ApiError } from './errors.ts';

/** See docs/guides/requests.md. An event with a value that cannot be serialized could not be read. */
const DEPTH_MAX = 32;
/** Above the largest valid call, which has 800,000 values. */
const VALUES_MAX = 1_000_000;
/** Assigning it would replace the object's prototype. */
const REFUSED_MEMBER = '__proto__';

type Key = string | number;

interface Container {
  readonly value: Record<Key, unknown>;
  readonly depth: number;
  readonly key: Key;
  readonly parent: Container | undefined;
}

interface Problem {
  readonly container: Container;
  /** Undefined for the container itself. */
  readonly key: Key | undefined;
  readonly fault: string;
  readonly isOfBody?: boolean;
}

interface Check {
  /** Only escapes can produce U+0000 or half a surrogate pair from valid UTF-8. */
  readonly hasEscapes: boolean;
  readonly itemsMember: string | undefined;
  readonly open: Container[];
  values: number;
  items: Container | undefined;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Three times as fast for megabytes of ASCII, which are then no work for the garbage collector either. */
const textOf = (bytes: Buffer): string => (isAscii(bytes) ? bytes.toString('latin1') : utf8.decode(bytes));

/** No byte order mark (RFC 8259, 8.1); `-0` becomes 0. @throws ApiError BAD_REQUEST, VALIDATION_ERROR */
export const parseJsonBody = (bytes: Buffer, itemsMember?: string): unknown => {
  let text: string;
  let value: unknown;
  try {
    text = textOf(bytes);
    value = JSON.parse(text);
  } catch {
    throw new ApiError({
      code: 'BAD_REQUEST',
      message: 'The body is not JSON in UTF-8. Send one JSON value, encoded as UTF-8.',
    });
  }
  const root: Container = { value: { body: value }, depth: 0, key: '', parent: undefined };
  const check: Check = {
    hasEscapes: text.includes('\\u'),
    itemsMember,
    open: [],
    values: 0,
    items: undefined,
  };
  const problem = problemAt(root, 'body', check) ?? refuseItems(check, text);
  if (problem !== undefined) throw refusalOf(problem);
  return root.value['body'];
};

const refuseItems = (check: Check, text: string): Problem | undefined => {
  const { items } = check;
  if (items === undefined) return undefined;
  const list = items.value as unknown as unknown[];
  let texts: readonly string[] | undefined;
  for (let at = 0; at < list.length; at += 1) {
    const problem = problemAt(items, at, check);
    if (problem?.isOfBody === true) return problem;
    if (problem === undefined) continue;
    texts ??= elementTexts(text, String(items.key));
    list[at] = new RefusedItem(problem.fault, memberOf(problem, items), texts[at] ?? '');
  }
  return undefined;
};

/** Without recursion: the depth of the input must not become the depth of the stack. */
const problemAt = (container: Container, key: Key, check: Check): Problem | undefined => {
  let problem = problemOfValue(container.value[key], key, container, check);
  for (let next = check.open.pop(); next !== undefined && problem === undefined; next = check.open.pop()) {
    problem = problemIn(next, check);
  }
  // Emptying a list frees its memory, so that is done only for a list with values.
  if (problem !== undefined) check.open.length = 0;
  return problem;
};

const problemIn = (container: Container, check: Check): Problem | undefined => {
  const { value, depth } = container;
  if (depth > DEPTH_MAX)
    return { container, key: undefined, fault: `values nested deeper than ${DEPTH_MAX} levels` };
  if (Array.isArray(value)) {
    check.values += value.length;
    if (isOfItems(container, check)) check.items = container;
    else {
      for (let at = 0; at < value.length; at += 1) {
        const problem = problemOfValue(value[at], at, container, check);
        if (problem !== undefined) return problem;
      }
    }
  } else {
    for (const name in value) {
      check.values += 1;
      if (name === REFUSED_MEMBER) return { container, key: name, fault: `a member named ${REFUSED_MEMBER}` };
      const problem =
        (check.hasEscapes ? problemOfText(name, container, name) : undefined) ??
        problemOfValue(value[name], name, container, check);
      if (problem !== undefined) return problem;
    }
  }
  if (check.values <= VALUES_MAX) return undefined;
  return { container, key: undefined, fault: `more than ${VALUES_MAX} values`, isOfBody: true };
};

const isOfItems = ({ key, depth }: Container, { itemsMember }: Check): boolean =>
  depth === 2 && itemsMember !== undefined && key === itemsMember;

const problemOfValue = (
  value: unknown,
  key: Key,
  container: Container,
  check: Check,
): Problem | undefined => {
  if (typeof value === 'string') return check.hasEscapes ? problemOfText(value, container, key) : undefined;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return { container, key, fault: 'a number that is too large' };
    if (Object.is(value, -0)) container.value[key] = 0;
  } else if (typeof value === 'object' && value !== null) {
    const { depth } = container;
    check.open.push({ value: value as Record<Key, unknown>, depth: depth + 1, key, parent: container });
  }
  return undefined;
};

const problemOfText = (text: string, container: Container, key: Key): Problem | undefined => {
  if (text.includes('\0')) return { container, key, fault: 'text with U+0000' };
  return text.isWellFormed() ? undefined : { container, key, fault: 'text with half of a surrogate pair' };
};

const refusalOf = (problem: Problem): ApiError => {
  const path = pathOf(problem);
  return new ApiError({
    code: 'VALIDATION_ERROR',
    message: `The body holds ${problem.fault}. Remove it and send the request again.`,
    ...(path === '' ? {} : { field: path }),
  });
};

const FIELD_LENGTH_MAX = 200;

const pathOf = ({ container, key }: Problem): string => {
  const keys = key === undefined ? [] : [key];
  for (let at = container; at.parent !== undefined; at = at.parent) keys.push(at.key);
  // The first key is the body's.
  return keys.toReversed().slice(1).join('.').replaceAll('\0', '').slice(0, FIELD_LENGTH_MAX).toWellFormed();
};

const memberOf = ({ container, key }: Problem, items: Container): string | undefined => {
  let at = container;
  if (at === items) return undefined;
  if (at.parent === items) return key === undefined ? undefined : String(key);
  while (at.parent?.parent !== undefined && at.parent.parent !== items) at = at.parent;
  return String(at.key);
};
