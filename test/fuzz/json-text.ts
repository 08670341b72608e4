/** JSON text that `JSON.stringify` cannot write: `1e309`, `-0`, ten thousand brackets. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** True for values without members to mutate. Bytes are sent unchanged. */
export const isLeaf = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || value instanceof RawJson || value instanceof Uint8Array;

/** A value as JSON, without members whose value is undefined. */
export const jsonText = (value: unknown): string => {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${jsonText(member)}`).join(',')}}`;
};
