import { JsonMembers } from '../../../domain/syndication/resource.ts';

/** JSON characters per item. */
const LENGTH_MAX = 16_384;
const DEPTH_MAX = 16;

/** Too long an answer is dropped as a whole, because a part could mean something else. */
export const storableJson = (answer: unknown): JsonMembers => {
  const parsed = JsonMembers.safeParse(clean(answer, 0));
  if (!parsed.success) return {};
  return JSON.stringify(parsed.data).length <= LENGTH_MAX
    ? parsed.data
    : { omitted: 'The answer is too long.' };
};

const clean = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return null;
  if (Array.isArray(value)) return value.map((one) => clean(one, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([name, one]) => [cleanText(name), clean(one, depth + 1)]),
  );
};

const cleanText = (text: string): string => text.toWellFormed().replaceAll('\u0000', '\uFFFD');
