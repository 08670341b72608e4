import { createHash } from 'node:crypto';
import type { VariantCopy } from '../../domain/creative-sessions/resource.ts';
import { formatLabelOf } from '../../domain/creatives/format-kinds.ts';
import { findLiveConnection } from '../engines/handler.ts';
import type { ConnectionStores } from '../engines/handler.ts';
import type { CreativeBrief, CreativeEngine, CreativeEngines } from './creative-engine.ts';

/** Fixed rules, without a model or a network. Equal input gives equal output. */
export const builtInEngine: CreativeEngine = {
  generate: async (brief) =>
    tones.map((tone) => (isSpoken(brief) ? spoken(brief, tone) : written(brief, tone))),
  refine: async (_brief, { copy, feedback }) => revised(copy, feedback),
  evaluate: async (_brief, { stage, copies }) =>
    copies.map((copy, index) => ({ index, score: scoreOf(copy, stage), notes: notesOf(copy) })),
};

interface Tone {
  readonly opening: (title: string) => string;
  readonly cta: string;
}

const tones: readonly Tone[] = [
  { opening: (title) => title, cta: 'Learn more' },
  { opening: (title) => `Ready for ${title}?`, cta: 'See how' },
  { opening: (title) => `${title}: made for you`, cta: 'Get started' },
];

const lengths = new Map([
  ['headline', 90],
  ['body', 300],
  ['script', 600],
  ['cta', 25],
]);
const LENGTH_MAX = 600;
const lengthOf = (slot: string): number => lengths.get(slot) ?? LENGTH_MAX;

const isSpoken = ({ formatKind }: CreativeBrief): boolean => /^(?:audio|video)_/.test(formatKind);

const subjectOf = ({ prompt, title, formatKind }: CreativeBrief): string =>
  /^[^.!?\n]+[.!?]?/.exec((prompt ?? '').trim())?.[0] ?? `${title}, as ${formatLabelOf(formatKind)}.`;

const written = (brief: CreativeBrief, { opening, cta }: Tone): VariantCopy =>
  fitting({ headline: opening(brief.title), body: subjectOf(brief), cta });

const spoken = (brief: CreativeBrief, { opening, cta }: Tone): VariantCopy =>
  fitting({ script: `${opening(brief.title)} ${subjectOf(brief)} ${cta}.`, cta });

const fitting = (copy: VariantCopy): VariantCopy =>
  Object.fromEntries(Object.entries(copy).map(([slot, text]) => [slot, firstOf(text, lengthOf(slot))]));

/** Counts code points, so that no surrogate pair is split. */
const firstOf = (text: string, length: number): string => {
  const points = Array.from(text);
  return points.length <= length ? text : `${points.slice(0, length - 1).join('')}…`;
};

/** Understands "shorter" and "louder"; other feedback is prepended to the longest text. */
const revised = (copy: VariantCopy, feedback: string): VariantCopy => {
  const each = (change: (text: string) => string): VariantCopy =>
    fitting(Object.fromEntries(Object.entries(copy).map(([slot, text]) => [slot, change(text)])));
  if (/\bshort/i.test(feedback)) return each(half);
  if (/\b(?:loud|bold|urgent)/i.test(feedback)) return each((text) => `${text.replace(/[.!?…]+$/, '')}!`);
  const [longest] = Object.entries(copy).sort(([, a], [, b]) => b.length - a.length)[0] ?? [];
  const note = feedback.trim();
  return fitting(
    Object.fromEntries(
      Object.entries(copy).map(([slot, text]) => [slot, slot === longest ? `${note} ${text}` : text]),
    ),
  );
};

const half = (text: string): string => {
  const words = text.split(/\s+/);
  return words.length < 4 ? text : words.slice(0, Math.ceil(words.length / 2)).join(' ');
};

const isLong = ([slot, text]: readonly [string, string]): boolean =>
  Array.from(text).length > lengthOf(slot) / 2;

/** Half for brevity, half a pseudo-random value derived from copy and stage. */
const scoreOf = (copy: VariantCopy, stage: string): number => {
  const texts = Object.entries(copy);
  const brief = texts.filter((one) => !isLong(one)).length / texts.length;
  const drawn =
    createHash('sha256')
      .update(JSON.stringify([stage, texts]))
      .digest()
      .readUInt16BE(0) / 0xffff;
  return Math.round(50 * brief + 50 * drawn);
};

const notesOf = (copy: VariantCopy): string | undefined => {
  const long = Object.entries(copy)
    .filter(isLong)
    .map(([slot]) => slot);
  return long.length === 0 ? undefined : `Long for its place: ${long.join(', ')}.`;
};

export const builtInEngines = (stores: ConnectionStores): CreativeEngines => ({
  engineOf: async (customerId, connectionId) => {
    const isConnected =
      connectionId === undefined ||
      (await findLiveConnection(stores, customerId, connectionId)) !== undefined;
    return isConnected ? builtInEngine : undefined;
  },
});
