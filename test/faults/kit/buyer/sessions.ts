import {
  creativeSessionDetail,
  creativeSessionResource,
  sessionIdOf,
  type CreativeSession,
} from '../../../../domain/creative-sessions/resource.ts';
import { creativeSessionStream } from '../../../../domain/creative-sessions/creative-session.ts';
import { shownCreativeId } from '../../../../domain/creatives/resource.ts';
import { derivedId } from '../../../../shared/aggregate/ids.ts';
import { FOREVER, picked, type Command, type Data, type Reading } from '../command.ts';
import type { Random } from '../random.ts';
import {
  REFUSED_PROBABILITY,
  type Choice,
  type ClientState,
  type OwnSession,
  type OwnCampaign,
} from './client-state.ts';

const VARIANTS_MAX = 20;
const STAGES_MAX = 10;

const pathOf = ({ id }: OwnCampaign): string => `/api/v2/buyer/campaigns/${id}/creative-sessions`;
const streamOf = (own: ClientState, shownId: string): string =>
  creativeSessionStream(own.customerId, sessionIdOf(shownId) ?? '');

const reading = (campaign: OwnCampaign, data: Data): Reading => ({
  url: `${pathOf(campaign)}/${String(data['id'])}`,
  shown: picked(data, 'id', 'title', 'status', 'revision', 'updatedAt'),
});

export const startSession = (own: ClientState, campaign: OwnCampaign, key: string): Command => ({
  kind: `start session ${key}`,
  method: 'POST',
  url: pathOf(campaign),
  body: { title: key, prompt: 'Something new.' },
  sent: 'keyed',
  expected: 'ok',
  status: 201,
  event: 'CreativeSessionStarted',
  stream: ({ id }) => streamOf(own, id as string),
  answer: ({ state }) => creativeSessionResource(state as CreativeSession),
  done: (data) => {
    own.sessions.push({ id: data['id'] as string, campaign, variants: [], stages: 0, isFinal: false });
    return reading(campaign, data);
  },
  lost: () => undefined,
});

export const commandOnSession = (
  own: ClientState,
  target: OwnSession,
  key: string,
  random: Random,
): Choice => {
  const { campaign, variants } = target;
  const path = `${pathOf(campaign)}/${target.id}`;
  const isOver = campaign.phase === 'archived' || target.isFinal;
  const base = {
    method: 'POST',
    sent: 'keyed',
    status: 200,
    stream: () => streamOf(own, target.id),
    answer: ({ state }) => creativeSessionDetail(state as CreativeSession),
    lost: () => void own.sessions.splice(own.sessions.indexOf(target), 1),
  } satisfies Partial<Command>;
  const done = (data: Data): Reading => {
    target.variants = (data['variants'] as readonly { readonly id: string }[]).map(({ id }) => id);
    return reading(campaign, data);
  };
  const [variant] = variants;
  const choice = random.next();
  if (variant !== undefined && choice < 0.3) {
    const isWrong = isOver || random.chance(REFUSED_PROBABILITY);
    return {
      ...base,
      kind: `finalize session ${target.id}`,
      url: `${path}/finalize`,
      body: { variantId: isWrong ? `var_${'0'.repeat(32)}` : variant },
      expected: isWrong ? 'refused' : 'ok',
      event: 'CreativeSessionFinalized',
      causedBy: (commandId) => derivedId(commandId, 'finalize-session'),
      otherEvents: {
        CreativeCreated: [1, 1],
        CreativeNameClaimed: [1, FOREVER],
        CreativeNameReleased: [0, FOREVER],
      },
      answer: ({ state }) => {
        const session = state as CreativeSession;
        return {
          session: creativeSessionResource(session),
          creativeId: shownCreativeId(session.final?.creativeId ?? ''),
        };
      },
      done: ({ session }) => {
        target.isFinal = true;
        return reading(campaign, session as Data);
      },
    };
  }
  if (variant !== undefined && choice < 0.65 && variants.length < VARIANTS_MAX) {
    return {
      ...base,
      kind: `refine session ${target.id}`,
      url: `${path}/variants/${random.pick(variants) ?? variant}/refine`,
      body: { feedback: 'Shorter.' },
      expected: isOver ? 'refused' : 'ok',
      event: 'CreativeVariantRefined',
      done,
    };
  }
  if (target.stages >= STAGES_MAX) return startSession(own, campaign, key);
  return {
    ...base,
    kind: `evaluate session ${target.id}`,
    url: `${path}/evaluate`,
    body: { stage: `stage ${target.stages}` },
    expected: isOver ? 'refused' : 'ok',
    event: 'CreativeVariantsEvaluated',
    done: (data) => {
      target.stages += 1;
      return done(data);
    },
  };
};
