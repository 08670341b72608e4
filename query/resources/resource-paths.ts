import type { RequestParams, AuditedKind, FoundStream } from './audited-kind.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';

export const buyer = '/api/v2/buyer';
export const advertiserId = pathIntegerId('advertiser');

export const byShownId =
  (
    parameter: string,
    idOf: (shown: string) => string | undefined,
    streamOf: (customerId: number, id: string) => string,
  ) =>
  (customerId: number, asked: RequestParams): FoundStream | undefined => {
    const id = idOf(String(asked[parameter]));
    return id === undefined ? undefined : { stream: streamOf(customerId, id) };
  };

export const byKey =
  (parameter: string, category: string, streamOf: (customerId: number, id: string) => string) =>
  (customerId: number, asked: RequestParams): FoundStream => {
    const id = resourceIdOf(category, customerId, Number(asked['id']), String(asked[parameter]));
    return { stream: streamOf(customerId, id) };
  };

type StreamOf = (customerId: number, id: string) => string;

export const streamsByShownId =
  (idOf: (shown: string) => string | undefined, streamOf: StreamOf): AuditedKind['streamsOf'] =>
  (customerId, shown) => {
    const id = idOf(shown);
    return id === undefined ? [] : [streamOf(customerId, id)];
  };

/** A key is unique within one advertiser only. */
export const streamsByKey =
  (category: string, ...streams: readonly StreamOf[]): AuditedKind['streamsOf'] =>
  (customerId, shown, owner) => {
    if (owner === undefined) return [];
    const id = resourceIdOf(category, customerId, owner, shown);
    return streams.map((streamOf) => streamOf(customerId, id));
  };

export const listedOfAdvertiser = {
  resourceType: 'ADVERTISER',
  parameter: 'id',
  mustBeThere: true,
} as const;

export const listedOfCampaign = {
  resourceType: 'CAMPAIGN',
  parameter: 'id',
  idOf: (id: unknown) => campaignIdOf(String(id)),
  mustBeThere: true,
} as const;

export const lastFirst =
  <Live>(at: (live: Live) => string, idOf: (live: Live) => string | number) =>
  (one: Live, other: Live): number =>
    compare(at(other), at(one)) || compare(idOf(other), idOf(one));

/** Compares by characters, like the read models. */
export const compare = (one: string | number, other: string | number): number =>
  one < other ? -1 : Number(one > other);

export const ofAdvertiser = (one: { readonly advertiserId: number }, { id }: RequestParams): boolean =>
  one.advertiserId === id;

export const each =
  <Live>(shown: (live: Live) => unknown) =>
  (page: readonly Live[]): readonly unknown[] =>
    page.map((live) => shown(live));
