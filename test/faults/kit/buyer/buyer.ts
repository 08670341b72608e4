import type { Command, Data } from '../command.ts';
import type { Random } from '../random.ts';
import type { Choice, Own, Trade } from './own.ts';
import { createAdvertiser, commandOnAdvertiser } from './advertisers.ts';
import { commandOnCampaign, createCampaign } from './campaigns.ts';
import { commandOnCreative, createCreative } from './creatives.ts';
import { commandOnEngine } from './engines.ts';
import { commandOnSession, startSession } from './sessions.ts';
import { commandOnAsset, reserveUpload } from './uploads.ts';

/** How often something new is made instead of changing what is there. */
const NEW = 0.25;
/** How often a command is one of the client's trade. */
const OWN_TRADE = 0.75;
/** What is asked for without a key, now and then. */
const ONCE = 0.15;
/**
 * The next command of a client: what it needs first is made first.
 * @param key unique; things are named by it
 */
export const nextCommand = (own: Own, key: string, random: Random): Command => {
  const { home } = own;
  if (home === undefined) return createHome(own, key);
  const command = commandOf(own, home, tradeNow(own, random), key, random);
  // What a key is not needed for by itself is always sent again.
  return command.sent === 'keyed' && command.mayBeLost !== false && random.chance(ONCE)
    ? { ...command, sent: 'once' }
    : command;
};

const tradeNow = ({ trades: [first, ...others] }: Own, random: Random): Trade =>
  others.length === 0 || random.chance(OWN_TRADE) ? first : random.pick(others);

const createHome = (own: Own, key: string): Command => {
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
  own: Own,
  home: NonNullable<Own['home']>,
  trade: Trade,
  key: string,
  random: Random,
): Choice => {
  const isNew = random.chance(NEW);
  switch (trade) {
    case 'advertisers':
      return isNew || own.advertisers.length === 0
        ? createAdvertiser(own, key, { name: key })
        : commandOnAdvertiser(own, random.pick(own.advertisers), key, random);
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
      if (trade === 'sessions') {
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
      return trade satisfies never;
  }
};
