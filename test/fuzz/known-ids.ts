import { parameterNamesOf, type Operation, type Schema } from './read-operations.ts';

/** An id that is filled in when the request is sent, of something that was made before. */
export class Reference {
  readonly name: string;
  /** Which of the known ones; counted from the newest. */
  readonly index: number;
  readonly isForeign: boolean;
  /** Sent as long as there is none of that name. */
  readonly otherwise: unknown;
  readonly isNumber: boolean;

  constructor(name: string, index: number, isForeign: boolean, otherwise: unknown, isNumber: boolean) {
    this.name = name;
    this.index = index;
    this.isForeign = isForeign;
    this.otherwise = otherwise;
    this.isNumber = isNumber;
  }
}

type Owner = 'own' | 'foreign';

/** The value of one of the path's own parameters, again in the body. */
export class PathValue {
  /** Counted from 0. */
  readonly position: number;

  constructor(position: number) {
    this.position = position;
  }
}

/** Of each name, the newest few are enough: what was made long ago may be used up. */
const KEPT = 6;

/**
 * Ids of things that really exist, learnt from the answers: what a collection's answers list below `data`, by the
 * path of one of them; what one of them lists of its parts; whatever stands in a member that is named like a parameter; and addresses of this service,
 * with the query that they have (a token, say). So a route that is new finds the things that it refers to, wherever
 * its document names them consistently.
 */
export interface KnownIds {
  /** Learns from a success. @param values what the path's parameters were @param sent the request's body */
  learn(owner: Owner, operation: Operation, values: readonly string[], data: unknown, sent: unknown): void;
  /** Values for all parameters of a path: of one thing, and of those that it belongs to. */
  pathValues(path: string, index: number, isForeign: boolean): readonly string[];
  /** What the query of a path's address was, where an answer had one; otherwise empty. */
  queryOf(path: string, values: readonly string[]): Readonly<Record<string, string>>;
  /** What a reference stands for. */
  resolve(reference: Reference): unknown;
  /** Says that there is a thing of that path, made by other means. */
  give(path: string, values: readonly string[]): void;
}

/** @param keep ids that the run itself depends on: never offered, so that nothing revokes or deletes them */
export const createKnownIds = (operations: readonly Operation[], keep: ReadonlySet<string>): KnownIds => {
  const names = new Set(
    operations.flatMap(({ path }) => parameterNamesOf(path)).filter((name) => name !== 'id'),
  );
  const known = { own: new Map<string, string[][]>(), foreign: new Map<string, string[][]>() };
  const queries = new Map<string, Readonly<Record<string, string>>>();
  const addresses = [...new Set(operations.map(({ path }) => templateOf(path)))]
    .filter((template) => template.endsWith('{}'))
    .map((template) => ({ template, form: new RegExp(`^${template.replaceAll('{}', '([^/%]+)')}$`) }));
  const items = new Map(operations.map(({ path }) => [templateOf(upToLastParameter(path)), lastName(path)]));

  const add = (owner: Owner, name: string, values: string[]): void => {
    if (values.some((value) => keep.has(value))) return;
    const list = known[owner].get(name) ?? [];
    const others = list.filter((other) => other.join('/') !== values.join('/'));
    known[owner].set(name, [values, ...others].slice(0, KEPT));
  };
  const addItem = (owner: Owner, template: string, values: string[]): void => {
    add(owner, template, values);
    add(owner, `member ${singularOf(template)}Id`, values.slice(-1));
  };
  const learnAddress = (owner: Owner, text: string): void => {
    if (!/^https?:/.test(text) || !URL.canParse(text)) return;
    const { pathname, searchParams } = new URL(text);
    for (const { template, form } of addresses) {
      const [, ...values] = form.exec(pathname) ?? [];
      if (values.length === 0) continue;
      add(owner, template, values);
      queries.set(nameOf(template, values), Object.fromEntries(searchParams));
    }
  };
  const learnMembers = (owner: Owner, data: unknown, depth: number): void => {
    if (typeof data === 'string') learnAddress(owner, data);
    if (typeof data !== 'object' || data === null || depth > 4) return;
    const entries = Object.entries(data);
    for (const [name, value] of Array.isArray(data) ? entries.toReversed() : entries) {
      if (isId(value) && (names.has(name) || /(?:Id|_id)$/.test(name)))
        add(owner, `member ${camelCase(name)}`, [String(value)]);
      else learnMembers(owner, value, depth + 1);
    }
  };

  /** What a thing lists in a member is what its path has below that name. */
  const learnParts = (owner: Owner, item: string, values: readonly string[], thing: unknown): void => {
    if (typeof thing !== 'object' || thing === null) return;
    for (const [member, list] of Object.entries(thing)) {
      const part = `${item}/${member}/{}`;
      const name = items.get(part);
      if (name === undefined || !Array.isArray(list)) continue;
      for (const id of idsIn(list, name).toReversed()) addItem(owner, part, [...values, id]);
    }
  };

  return {
    learn: (owner, { method, path }, values, data, sent) => {
      const template = templateOf(path);
      if (method === 'PUT' && path.endsWith('}')) addItem(owner, template, [...values]);
      for (const collection of [template, withoutAction(template)]) {
        const item = `${collection}/{}`;
        const name = items.get(item);
        if (name === undefined) continue;
        const put = name === 'id' ? undefined : ownMember(sent, name);
        const found = isId(put) ? [String(put)] : idsIn(data, name);
        // Lists begin with the newest.
        for (const id of found.toReversed()) addItem(owner, item, [...values, id]);
        for (const thing of [data].flat().toReversed()) {
          const id = ownMember(thing, name) ?? ownMember(thing, 'id');
          if (isId(id)) learnParts(owner, item, [...values, String(id)], thing);
        }
      }
      for (const place of [template, withoutAction(template)]) {
        if (place.endsWith('{}')) learnParts(owner, place, values, data);
      }
      learnMembers(owner, data, 0);
    },
    pathValues: (path, index, isForeign) => {
      const owner = isForeign ? 'foreign' : 'own';
      // What was given for this very path first: most things are not in the state that it needs.
      const found =
        known[owner].get(templateOf(path)) ?? known[owner].get(templateOf(upToLastParameter(path)));
      if (found !== undefined) return found[index % found.length] ?? [];
      const thing = `${singularOf(templateOf(upToLastParameter(path)))}Id`;
      return parameterNamesOf(path).flatMap((name, at, { length }) => {
        // First what the path calls the thing: a member named `key` may be anything.
        const named = at === length - 1 ? known[owner].get(`member ${thing}`) : undefined;
        const values = named ?? known[owner].get(`member ${name}`) ?? [];
        return values[index % Math.max(1, values.length)] ?? [];
      });
    },
    resolve: ({ name, index, isForeign, otherwise, isNumber }) => {
      const found = known[isForeign ? 'foreign' : 'own'].get(`member ${camelCase(name)}`) ?? [];
      const [value] = found[index % Math.max(1, found.length)] ?? [];
      if (value === undefined) return otherwise;
      return isNumber ? Number(value) : value;
    },
    queryOf: (path, values) => queries.get(nameOf(templateOf(path), values)) ?? {},
    give: (path, values) => addItem('own', templateOf(path), [...values]),
  };
};

/** `/things/{id}/parts/{partId}` as `/things/{}/parts/{}`: operations name one parameter differently. */
const templateOf = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');

const nameOf = (template: string, values: readonly string[]): string => `${template} ${values.join('/')}`;

/** Of `/things/{}/parts/create`: the collection that something is made in. */
const withoutAction = (template: string): string => template.replace(/\/[a-z-]+$/, '');

/** What a request puts into a collection by its id, e.g. `campaignId` below `/creatives/{}/campaigns`. */
const ownMember = (sent: unknown, name: string): unknown =>
  typeof sent === 'object' && sent !== null ? (sent as Readonly<Record<string, unknown>>)[name] : undefined;

const upToLastParameter = (path: string): string => path.slice(0, path.lastIndexOf('}') + 1);

const lastName = (path: string): string => parameterNamesOf(path).at(-1) ?? 'id';

/** Of `/audiences/{}`: `audience`; of `/event-sources/{}`: `eventSource`. */
const singularOf = (template: string): string =>
  camelCase((template.split('/').at(-2) ?? '').replace(/s$/, ''));

/** `event-source` and `event_source_id` as `eventSource` and `eventSourceId`. */
const camelCase = (text: string): string =>
  text.replaceAll(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());

const isId = (value: unknown): value is string | number =>
  (typeof value === 'string' && value !== '' && value.length <= 255) || Number.isSafeInteger(value);

/** The same, where everything refers to what the account made last: so things of one round belong together. */
export const newestOf = (known: KnownIds, isForeign: boolean): KnownIds => ({
  ...known,
  pathValues: (path) => known.pathValues(path, 0, isForeign),
  resolve: ({ name, otherwise, isNumber }) =>
    known.resolve(new Reference(name, 0, isForeign, otherwise, isNumber)),
});

/** The ids of what an answer is about: of its one object, or of each in its one list. */
export const idsIn = (data: unknown, name: string): readonly string[] => {
  if (typeof data !== 'object' || data === null) return [];
  if (Array.isArray(data)) return data.flatMap((item: unknown) => idsIn(item, name));
  const members = data as Readonly<Record<string, unknown>>;
  const id = members[name] ?? members['id'];
  if (isId(id)) return [String(id)];
  return Object.values(members).flatMap((member) => (Array.isArray(member) ? idsIn(member, name) : []));
};

/** True for a member that names another thing, and has a form that an id can have. */
export const isReferenceMember = (name: string, { type }: Schema): boolean =>
  /(?:Id|_id|Uid|Key)$/.test(name) && (type === 'string' || type === 'integer');
