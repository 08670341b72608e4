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

/** The text so far. A `write` receives it in pieces: the parts of a text of megabytes are expensive to join. */
interface Output {
  text: string;
  readonly write?: (piece: string) => void;
}

const PIECE_LENGTH = 4_096;

const putObject = (value: Readonly<Record<string, unknown>>, out: Output): void => {
  const names = Object.keys(value);
  if (!hasNames(last, names)) last = shapeOf(names);
  const { members } = last;
  out.text += '{';
  for (let at = 0; at < members.length; at += 1) {
    const member = members[at] as Shape['members'][number];
    out.text += at === 0 ? member.written : `,${member.written}`;
    putValue(value[member.name], out);
  }
  out.text += '}';
};

const putArray = (items: readonly unknown[], out: Output): void => {
  out.text += '[';
  for (let at = 0; at < items.length; at += 1) {
    if (at > 0) out.text += ',';
    putValue(items[at], out);
    if (out.write === undefined || out.text.length < PIECE_LENGTH) continue;
    out.write(out.text);
    out.text = '';
  }
  out.text += ']';
};

const putValue = (value: unknown, out: Output): void => {
  if (typeof value === 'string') out.text += canonicalText(value);
  else if (typeof value === 'number' && Number.isFinite(value)) out.text += String(value);
  else if (typeof value !== 'object' || value === null) out.text += JSON.stringify(value) ?? 'undefined';
  else if (Array.isArray(value)) putArray(value, out);
  else if (value instanceof RefusedItem) out.text += `!${value.text}`;
  else putObject(value as Record<string, unknown>, out);
};

/** RFC 8785, for a value that passed the ingress rules. A `RefusedItem` is `!` and its text. */
export const canonicalJson = (value: unknown): string => {
  const out: Output = { text: '' };
  putValue(value, out);
  return out.text;
};

/** The pieces of `canonicalJson`, in order. */
export const writeCanonicalJson = (value: unknown, write: (piece: string) => void): void => {
  const out: Output = { text: '', write };
  putValue(value, out);
  write(out.text);
};
