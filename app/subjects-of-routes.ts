import type { RouteSubject } from '../command/audit/attempt-log.ts';
import type { AuditedKind } from '../query/resources/audited-kind.ts';
import type { Route } from '../shared/http/route.ts';
import { buyer } from '../query/resources/resource-paths.ts';

/** Resources whose routes differ from those of their history: one of them, or all of an owner. */
const otherPlaces: readonly PlaceOfRoutes[] = [
  { resourceType: 'CREATIVE', path: `${buyer}/campaigns/{id}/creatives/{cid}` },
  { resourceType: 'CREATIVE', path: `${buyer}/advertisers/{id}/creatives/{cid}` },
  { resourceType: 'EVENT_SOURCE', path: `${buyer}/advertisers/{id}/event-sources` },
  { resourceType: 'SYNDICATION', path: `${buyer}/advertisers/{id}/syndicate` },
  { resourceType: 'USER', path: '/auth' },
  { resourceType: 'SESSION', path: '/auth/sign-in' },
  { resourceType: 'SESSION', path: '/auth/sign-out' },
  { resourceType: 'USER', path: '/api/v2/accounts/current/user' },
  { resourceType: 'CONNECTED_APP', path: '/auth/register' },
  { resourceType: 'CONNECTED_APP', path: '/auth/token' },
  { resourceType: 'CONNECTED_APP', path: '/auth/revoke' },
  { resourceType: 'CONNECTED_APP', path: '/api/console/oauth' },
  // An upload's token names the asset and the advertiser, which the path does not.
  {
    resourceType: 'ASSET',
    path: `${buyer}/assets/uploads/{uploadId}`,
    named: { idParameter: 'assetId', advertiserParameter: 'advertiserId' },
  },
];

interface PlaceOfRoutes extends Pick<RouteSubject, 'resourceType'> {
  readonly path: string;
  /** Identified by a credential, not by the path. */
  readonly named?: Omit<RouteSubject, 'resourceType'>;
}

/** The longest known prefix decides. A route without an id below a collection concerns the kind. */
export const subjectsOfRoutes = (
  kinds: readonly AuditedKind[],
): ((route: Pick<Route, 'path'>) => RouteSubject | undefined) => {
  const places = kinds
    .flatMap(({ resourceType, place }): readonly PlaceOfRoutes[] =>
      place === undefined ? [] : [{ resourceType, path: place.path }],
    )
    .concat(otherPlaces)
    .map(({ path, ...of }) => ({ ...of, segments: path.split('/') }))
    .flatMap((place) =>
      nameOfParameter(place.segments.at(-1)) === undefined
        ? [place]
        : [place, { ...place, segments: place.segments.slice(0, -1) }],
    )
    .sort((a, b) => b.segments.length - a.segments.length);
  return ({ path }) => {
    const own = path.split('/');
    const found = places.find(({ segments }) => segments.every((one, n) => isAlike(one, own[n])));
    if (found === undefined) return undefined;
    const { resourceType, named } = found;
    if (named !== undefined) return { resourceType, ...named };
    const idParameter = nameOfParameter(own[found.segments.length - 1]);
    const advertiserParameter = nameOfParameter(own[own.indexOf('advertisers') + 1]);
    const campaignParameter = nameOfParameter(own[own.indexOf('campaigns') + 1]);
    return {
      resourceType,
      ...(idParameter === undefined ? {} : { idParameter }),
      ...(advertiserParameter === undefined ? {} : { advertiserParameter }),
      ...(campaignParameter === undefined ? {} : { campaignParameter }),
    };
  };
};

const nameOfParameter = (segment: string | undefined): string | undefined =>
  /^\{(\w+)\}$/.exec(segment ?? '')?.[1];

const isAlike = (one: string, other: string | undefined): boolean =>
  one === other || (nameOfParameter(one) !== undefined && nameOfParameter(other) !== undefined);
