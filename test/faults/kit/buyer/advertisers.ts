import { advertiserStream } from '../../../../domain/advertisers/advertiser.ts';
import { picked, type Command, type Data, type Reading } from '../command.ts';
import type { Random } from '../random.ts';
import { REFUSED_PROBABILITY, type Choice, type ClientState, type OwnAdvertiser } from './client-state.ts';

const path = '/api/v2/buyer/advertisers';

const reading = (data: Data): Reading => ({ url: `${path}/${String(data['id'])}`, shown: data });

export const createAdvertiser = (
  own: ClientState,
  key: string,
  body: { readonly name: string; readonly sandbox?: boolean },
): Command => ({
  kind: `create advertiser ${key}`,
  method: 'POST',
  url: path,
  body,
  sent: 'keyed',
  expected: 'ok',
  status: 201,
  event: 'AdvertiserCreated',
  stream: ({ id }) => advertiserStream(own.customerId, id as number),
  answer: ({ state }) => state,
  done: (data) => {
    own.advertisers.push({ id: data['id'] as number, status: 'ACTIVE' });
    return reading(data);
  },
  lost: () => undefined,
});

export const commandOnAdvertiser = (
  own: ClientState,
  target: OwnAdvertiser,
  key: string,
  random: Random,
): Choice => {
  const url = `${path}/${target.id}`;
  const isWrong = random.chance(REFUSED_PROBABILITY);
  const base = {
    sent: 'keyed',
    expected: isWrong ? 'refused' : 'ok',
    stream: () => advertiserStream(own.customerId, target.id),
    answer: ({ state }) => state,
    lost: () => void own.advertisers.splice(own.advertisers.indexOf(target), 1),
  } satisfies Partial<Command>;
  if ((target.status === 'ARCHIVED') !== isWrong) {
    return {
      ...base,
      kind: `restore advertiser ${target.id}`,
      method: 'POST',
      url: `${url}/restore`,
      status: 200,
      event: 'AdvertiserRestored',
      done: (data) => {
        target.status = 'ACTIVE';
        return reading(data);
      },
    };
  }
  if (random.chance(0.25) && !isWrong) {
    return {
      ...base,
      kind: `archive advertiser ${target.id}`,
      method: 'DELETE',
      url,
      status: 204,
      event: 'AdvertiserArchived',
      done: () => {
        target.status = 'ARCHIVED';
        return { url, shown: { id: target.id, status: 'ARCHIVED' } };
      },
    };
  }
  return {
    ...base,
    kind: `update advertiser ${target.id}`,
    method: 'PUT',
    url,
    body: { name: key },
    status: 200,
    event: 'AdvertiserUpdated',
    done: (data) => ({ url, shown: picked(data, 'id', 'name', 'status', 'updatedAt') }),
  };
};
