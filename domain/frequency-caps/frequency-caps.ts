import { equalJson } from '../equal-json.ts';
import type { CapReplacement, FrequencyCap, RecordedCap } from './resource.ts';

export interface CapInput {
  readonly max_impressions: number;
  readonly window: FrequencyCap['window'];
}

const sameCap = (a: CapInput, b: CapInput): boolean =>
  a.max_impressions === b.max_impressions && equalJson(a.window, b.window);

const distinctCaps = (caps: readonly CapInput[]): readonly CapInput[] =>
  caps.filter((cap, index) => caps.findIndex((other) => sameCap(cap, other)) === index);

/** A cap equal to a live one keeps its id. @param newCapIds one unused id for each wanted cap */
export const capsOf = (
  wanted: readonly CapInput[],
  newCapIds: readonly string[],
  live: readonly FrequencyCap[],
): RecordedCap[] =>
  distinctCaps(wanted).map(({ max_impressions, window }, index) => {
    const kept = live.find((cap) => sameCap(cap, { max_impressions, window }));
    return { id: kept?.id ?? newCapIds[index] ?? '', max_impressions, window };
  });

/** @returns undefined if the set does not change */
export const capReplacement = (
  wanted: readonly CapInput[],
  newCapIds: readonly string[],
  live: readonly FrequencyCap[],
): CapReplacement | undefined => {
  const caps = capsOf(wanted, newCapIds, live);
  const ids = caps.map(({ id }) => id);
  const liveIds = live.map(({ id }) => id);
  if (equalJson(ids, liveIds)) return undefined;
  return { caps, archivedCapIds: liveIds.filter((id) => !ids.includes(id)) };
};

export const replacedCaps = (
  live: readonly FrequencyCap[],
  caps: readonly RecordedCap[],
  target: Pick<FrequencyCap, 'targetLevel' | 'targetId'>,
  at: string,
): FrequencyCap[] =>
  caps.map(
    ({ id, max_impressions, window }) =>
      live.find((cap) => cap.id === id) ?? {
        id,
        ...target,
        max_impressions,
        window,
        createdAt: at,
        updatedAt: at,
      },
  );
