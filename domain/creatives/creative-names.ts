import { z } from 'zod';
import { accept, refuse, type Decision, type EventsOf } from '../decision.ts';

/** A release must name this claim, not a later one of the same creative. */
const Claim = z.object({ creativeId: z.string(), name: z.string(), claimId: z.string() });

export const creativeNameEvents = {
  CreativeNameClaimed: { schemaVersion: 1, data: Claim },
  CreativeNameReleased: { schemaVersion: 1, data: Claim },
} as const;

type CreativeNameEvent = EventsOf<typeof creativeNameEvents>;

/**
 * A creative claims its name before it uses it, so two never have the same one in a campaign. A crash may
 * leave an unused claim; the next request for the name can see that and take it over.
 */
export const CREATIVE_NAMES = 'creativeNames';

export const creativeNamesStream = (customerId: number, campaignId: string): string =>
  `${CREATIVE_NAMES}-${customerId}-${campaignId}`;

export interface NameClaim {
  readonly creativeId: string;
  readonly claimId: string;
  readonly at: string;
  /** The name was free: no concurrent request for the same creative relies on an older claim. */
  readonly isFirst: boolean;
}

export type CreativeNames = Readonly<Record<string, NameClaim>>;

/** A bound, because each command folds all names of the campaign. */
const NAMES_MAX = 1_000;

const evolve = (names: CreativeNames, { type, data, occurredAt }: CreativeNameEvent): CreativeNames => {
  const { [data.name]: known, ...others } = names;
  switch (type) {
    case 'CreativeNameClaimed':
      return {
        ...others,
        [data.name]: {
          creativeId: data.creativeId,
          claimId: data.claimId,
          at: occurredAt,
          isFirst: !Object.hasOwn(names, data.name),
        },
      };
    case 'CreativeNameReleased':
      return known?.claimId === data.claimId ? others : names;
    default:
      return (type satisfies never, names);
  }
};

interface Claiming {
  readonly now: string;
  readonly creativeId: string;
  readonly claimId: string;
}

export type CreativeNamesCommand =
  /** Claims again although it holds the name: another request may see the older claim as abandoned. */
  | (Claiming & { readonly type: 'ClaimName'; readonly name: string })
  /** Claims the name that the creative holds, or the first free one of the list. */
  | (Claiming & { readonly type: 'ClaimFreeName'; readonly names: (nth: number) => string })
  | (Claiming & { readonly type: 'ReleaseName'; readonly name: string });

export type CreativeNamesRefusal =
  | { readonly reason: 'name-taken'; readonly name: string; readonly claim: NameClaim }
  | { readonly reason: 'too-many-creatives'; readonly limit: number };

type NamesDecision = Decision<CreativeNameEvent, CreativeNamesRefusal>;

const claim = ({ now, creativeId, claimId }: Claiming, name: string, names: CreativeNames): NamesDecision => {
  const known = Object.hasOwn(names, name) ? names[name] : undefined;
  if (known !== undefined && known.creativeId !== creativeId) {
    return refuse({ reason: 'name-taken', name, claim: known });
  }
  if (known === undefined && Object.keys(names).length >= NAMES_MAX) {
    return refuse({ reason: 'too-many-creatives', limit: NAMES_MAX });
  }
  return accept({ type: 'CreativeNameClaimed', data: { creativeId, name, claimId }, occurredAt: now });
};

const decide = (command: CreativeNamesCommand, names: CreativeNames): NamesDecision => {
  switch (command.type) {
    case 'ClaimName':
      return claim(command, command.name, names);
    case 'ClaimFreeName': {
      const held = nameHeldBy(command.creativeId, names);
      if (held !== undefined) return claim(command, held, names);
      let nth = 1;
      while (Object.hasOwn(names, command.names(nth))) nth += 1;
      return claim(command, command.names(nth), names);
    }
    case 'ReleaseName': {
      const { now, creativeId, claimId, name } = command;
      if (!Object.hasOwn(names, name) || names[name]?.claimId !== claimId) return accept();
      return accept({ type: 'CreativeNameReleased', data: { creativeId, name, claimId }, occurredAt: now });
    }
    default:
      return command satisfies never;
  }
};

/** The last claimed one. */
export const nameHeldBy = (creativeId: string, names: CreativeNames): string | undefined =>
  Object.entries(names)
    .filter(([, known]) => known.creativeId === creativeId)
    .sort(([, a], [, b]) => (a.at < b.at ? -1 : 1))
    .at(-1)?.[0];

export const creativeNamesAggregate = {
  category: CREATIVE_NAMES,
  stream: creativeNamesStream,
  events: creativeNameEvents,
  foldVersion: 2,
  initialState: {},
  evolve,
  decide,
};

const NAME_LENGTH_MAX = 255;

/** `Name (copy)`, `Name (copy 2)`, ... without the source's own number, cut to the maximum length. */
export const copyNames = (source: string): ((nth: number) => string) => {
  const base = source.replace(/ \(copy(?: \d+)?\)$/, '');
  return (nth) => withEnding(base, nth === 1 ? ' (copy)' : ` (copy ${nth})`);
};

export const newNames =
  (base: string): ((nth: number) => string) =>
  (nth) =>
    nth === 1 ? base : withEnding(base, ` ${nth}`);

/** Counts code points, so that no character is cut. */
const withEnding = (base: string, ending: string): string =>
  Array.from(base)
    .slice(0, NAME_LENGTH_MAX - ending.length)
    .join('') + ending;
