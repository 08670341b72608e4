import { accept, refuse, type Decision } from '../decision.ts';
import { creativeNameEvents, type CreativeNameEvent } from './creative-name-events.ts';

/**
 * The names of a campaign's creatives: each is held by one of them. A creative holds its name before it is there under
 * it, so that two creatives of one name can never meet in a campaign; what a crash leaves held is held by a creative
 * that is not there under it, which whoever wants the name can see.
 */
export const CREATIVE_NAMES = 'creativeNames';

/**
 * The stream of one campaign's names; the account is part of its name.
 * @param campaignId UUID
 */
export const creativeNamesStream = (customerId: number, campaignId: string): string =>
  `${CREATIVE_NAMES}-${customerId}-${campaignId}`;

export interface NameClaim {
  readonly creativeId: string;
  readonly claimId: string;
  /** When it was claimed last. */
  readonly at: string;
  /** Nobody held the name then: no other request for the same creative, under way, can count on it by an older claim. */
  readonly isFirst: boolean;
}

/** Claims by name. */
export type CreativeNames = Readonly<Record<string, NameClaim>>;

/** So many names of a campaign can be held: each command on them folds them. */
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
  /** Each claim is a new one, also of a name that the creative holds: the older one may be taken for left behind. */
  | (Claiming & { readonly type: 'ClaimName'; readonly name: string })
  /** The first free one of the list, or the one that the creative holds. */
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

/** The name that a creative holds; the last claimed one, should it hold several. */
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

/**
 * Names of copies, in the order in which they are tried: `Name (copy)`, `Name (copy 2)`, ... A source that is a copy
 * itself loses its number first, and as many characters as the name would be too long (decisions.md section 4).
 */
export const copyNames = (source: string): ((nth: number) => string) => {
  const base = source.replace(/ \(copy(?: \d+)?\)$/, '');
  return (nth) => withEnding(base, nth === 1 ? ' (copy)' : ` (copy ${nth})`);
};

/** Names for what was given none. */
export const newNames =
  (base: string): ((nth: number) => string) =>
  (nth) =>
    nth === 1 ? base : withEnding(base, ` ${nth}`);

/** Counted in code points: nothing is cut in half. */
const withEnding = (base: string, ending: string): string =>
  Array.from(base)
    .slice(0, NAME_LENGTH_MAX - ending.length)
    .join('') + ending;
