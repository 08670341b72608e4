import { RefusedItem } from './refused-item.ts';

const PLAIN = /^[ !#-[\]-~]*$/;

const canonicalText = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

interface Shape {
  readonly names: readonly string[];
  readonly members: readonly { readonly name: string; readonly written: string }[];
}

const shapeOf = (names: readonly string[]): Shape => ({
  names,
  members: names.toSorted().map((name) => ({ name, written: `${canonicalText(name)}:` })),
});

const hasNames = (shape: Shape, names: readonly string[]): boolean => {
  if (shape.names.length !== names.length) return false;
  for (let at = 0; at < names.length; at += 1) if (shape.names[at] !== names[at]) return false;
  return true;
};

/** The items of a long list mostly have the same members in the same order. */
let last: Shape = shapeOf([]);

const canonicalObject = (value: Readonly<Record<string, unknown>>): string => {
  const names = Object.keys(value);
  if (!hasNames(last, names)) last = shapeOf(names);
  const { members } = last;
  let text = '{';
  for (let at = 0; at < members.length; at += 1) {
    const member = members[at] as Shape['members'][number];
    text += (at === 0 ? '' : ',') + member.written + canonicalJson(value[member.name]);
  }
  return `${text}}`;
};

const canonicalArray = (items: readonly unknown[]): string => {
  let text = '[';
  for (let at = 0; at < items.length; at += 1) text += (at === 0 ? '' : ',') + canonicalJson(items[at]);
  return `${text}]`;
};

/** RFC 8785, for a value that passed the ingress rules. A `RefusedItem` is `!` and its text. */
export const canonicalJson = (value: unknown): string => {
  if (typeof value === 'string') return canonicalText(value);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  if (Array.isArray(value)) return canonicalArray(value);
  if (value instanceof RefusedItem) return `!${value.text}`;
  return canonicalObject(value as Record<string, unknown>);
};
