import type { Command, Data } from '../command.ts';
import type { Random } from '../random.ts';
import type { Choice, ClientState, Area } from './client-state.ts';
import { createAdvertiser, commandOnAdvertiser } from './advertisers.ts';
import { commandOnAgent, registerAgent } from './agents.ts';
import { commandOnCampaign, createCampaign } from './campaigns.ts';
import { commandOnCreative, createCreative } from './creatives.ts';
import { commandOnEngine } from './engines.ts';
import { commandOnSession, startSession } from './sessions.ts';
import { commandOnAsset, reserveUpload } from './uploads.ts';

/** The probability of creating a resource instead of changing one. */
const CREATE_PROBABILITY = 0.25;
/** The probability of a command in the client's own area. */
const OWN_AREA_PROBABILITY = 0.75;
/** The probability of sending a command once, without a key. */
const ONCE_PROBABILITY = 0.15;
/**
 * Chooses the next command of a client, or a command that creates what it needs first.
 * @param key unique; also the name of a new resource
 */
export const nextCommand = (own: ClientState, key: string, random: Random): Command => {
  const { home } = own;
  if (home === undefined) return createHome(own, key);
  const command = commandOf(own, home, nextArea(own, random), key, random);
  // Commands that need no key are always repeated.
  return command.sent === 'keyed' && command.mayBeLost !== false && random.chance(ONCE_PROBABILITY)
    ? { ...command, sent: 'once' }
    : command;
};

const nextArea = ({ areas: [first, ...others] }: ClientState, random: Random): Area =>
  others.length === 0 || random.chance(OWN_AREA_PROBABILITY) ? first : random.pick(others);

const createHome = (own: ClientState, key: string): Command => {
  const command = createAdvertiser(own, key, { name: `Home of ${key}`, sandbox: true });
  return {
    ...command,
    done: (data: Data) => {
      own.home = { id: data['id'] as number, name: data['name'] as string };
      return undefined;
    },
  };
};

const commandOf = (
  own: ClientState,
  home: NonNullable<ClientState['home']>,
  area: Area,
  key: string,
  random: Random,
): Choice => {
  const isNew = random.chance(CREATE_PROBABILITY);
  switch (area) {
    case 'advertisers':
      return isNew || own.advertisers.length === 0
        ? createAdvertiser(own, key, { name: key })
        : commandOnAdvertiser(own, random.pick(own.advertisers), key, random);
    case 'agents':
      return isNew || own.agents.length === 0
        ? registerAgent(own, key)
        : commandOnAgent(own, random.pick(own.agents), key, random);
    case 'engines':
      return commandOnEngine(own, home, key, random);
    case 'uploads':
      return isNew || own.assets.length === 0
        ? reserveUpload(own, home, key, random)
        : commandOnAsset(own, home, random.pick(own.assets), random);
    case 'campaigns':
      return isNew || own.campaigns.length === 0
        ? createCampaign(own, home, key)
        : commandOnCampaign(own, random.pick(own.campaigns), key, random);
    case 'creatives':
    case 'sessions': {
      const campaign = random.pick(own.campaigns.filter(({ phase }) => phase !== 'archived'));
      if (campaign === undefined) return createCampaign(own, home, key);
      if (area === 'sessions') {
        const session = random.pick(own.sessions);
        return isNew || session === undefined
          ? startSession(own, campaign, key)
          : commandOnSession(own, session, key, random);
      }
      const creative = random.pick(own.creatives);
      return isNew || creative === undefined
        ? createCreative(own, home, random.chance(0.7) ? campaign : undefined, key)
        : commandOnCreative(own, home, creative, key, random);
    }
    default:
      return area satisfies never;
  }
};
