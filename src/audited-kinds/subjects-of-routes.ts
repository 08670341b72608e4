import type { RouteSubject } from '../command/audit/attempt-log.ts';
import type { AuditedKind } from '../query/history/audited-kind.ts';
import type { Route } from '../shared/http/route.ts';
import { buyer } from './places.ts';

/** Where routes have things that history has elsewhere. */
const otherPlaces = [
  { resourceType: 'CREATIVE', path: `${buyer}/campaigns/{id}/creatives/{cid}` },
  { resourceType: 'CREATIVE', path: `${buyer}/advertisers/{id}/creatives/{cid}` },
] as const;

/** Which thing the routes below each place are about: the longest path that a route begins with says so. */
export const subjectsOfRoutes = (
  kinds: readonly AuditedKind[],
): ((route: Pick<Route, 'path'>) => RouteSubject | undefined) => {
  const places = kinds
    .flatMap(({ resourceType, place }) => (place === undefined ? [] : [{ resourceType, path: place.path }]))
    .concat(otherPlaces)
    .filter(({ path }) => path.endsWith('}'))
    .map(({ resourceType, path }) => ({ resourceType, segments: path.split('/') }))
    .sort((a, b) => b.segments.length - a.segments.length);
  return ({ path }) => {
    const own = path.split('/');
    const found = places.find(({ segments }) => segments.every((one, n) => isAlike(one, own[n])));
    const idParameter = nameOfParameter(own[(found?.segments.length ?? 0) - 1]);
    if (found === undefined || idParameter === undefined) return undefined;
    const advertiserParameter = nameOfParameter(own[own.indexOf('advertisers') + 1]);
    const campaignParameter = nameOfParameter(own[own.indexOf('campaigns') + 1]);
    return {
      resourceType: found.resourceType,
      idParameter,
      ...(advertiserParameter === undefined ? {} : { advertiserParameter }),
      ...(campaignParameter === undefined ? {} : { campaignParameter }),
    };
  };
};

/** Of a segment of a path, e.g. `id` of `{id}`; undefined for one that is as it stands. */
const nameOfParameter = (segment: string | undefined): string | undefined =>
  /^\{(\w+)\}$/.exec(segment ?? '')?.[1];

/** Routes may call their parameters as they like. */
const isAlike = (one: string, other: string | undefined): boolean =>
  one === other || (nameOfParameter(one) !== undefined && nameOfParameter(other) !== undefined);
