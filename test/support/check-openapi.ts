type Json = Record<string, unknown>;

const methods = new Set(['get', 'post', 'put', 'delete', 'patch', 'head', 'options', 'trace']);
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Problems in an OpenAPI 3.1 document: references, operation ids, path parameters, required members. */
export const checkOpenApi = (document: unknown): readonly string[] => {
  if (!isObject(document)) return ['no object'];
  const problems: string[] = [];
  const complain = (where: string, what: string): void => void problems.push(`${where}: ${what}`);
  if (!String(document['openapi']).startsWith('3.1.')) complain('openapi', 'not 3.1');
  const info = document['info'];
  if (!isObject(info) || typeof info['title'] !== 'string' || typeof info['version'] !== 'string')
    complain('info', 'title and version');
  checkReferences(document, document, '#', complain);
  const operationIds = new Set<unknown>();
  for (const [path, item] of Object.entries((document['paths'] ?? {}) as Record<string, Json>)) {
    for (const [method, operation] of Object.entries(item)) {
      const where = `${method} ${path}`;
      if (!methods.has(method)) complain(where, 'no method');
      if (isObject(operation)) checkOperation(where, path, operation, operationIds, complain);
    }
  }
  return problems;
};

type Complain = (where: string, what: string) => void;

const checkReferences = (root: Json, value: unknown, where: string, complain: Complain): void => {
  if (Array.isArray(value))
    value.forEach((item, at) => checkReferences(root, item, `${where}/${at}`, complain));
  if (!isObject(value)) return;
  const reference = value['$ref'];
  if (typeof reference === 'string' && resolve(root, reference) === undefined)
    complain(where, `${reference} leads nowhere`);
  for (const [name, member] of Object.entries(value))
    checkReferences(root, member, `${where}/${name}`, complain);
};

const resolve = (root: Json, reference: string): unknown =>
  reference
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (at, name) => (isObject(at) ? at[name.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
      root,
    );

const checkOperation = (
  where: string,
  path: string,
  operation: Json,
  operationIds: Set<unknown>,
  complain: Complain,
): void => {
  const id = operation['operationId'];
  if (typeof id !== 'string' || !/^[a-z][A-Za-z0-9]*$/.test(id)) complain(where, 'operationId');
  if (operationIds.has(id)) complain(where, `${String(id)} twice`);
  operationIds.add(id);
  const parameters = operation['parameters'] as Json[];
  const keys = parameters.map(({ in: place, name }) => `${String(place)} ${String(name)}`);
  if (new Set(keys).size !== keys.length) complain(where, 'a parameter twice');
  if (parameters.some(({ schema }) => !isObject(schema))) complain(where, 'a parameter without a schema');
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path ${name}`).sort();
  const declared = keys.filter((key) => key.startsWith('path ')).sort();
  if (inPath.join() !== declared.join()) complain(where, `path parameters ${declared.join()}`);
  const responses = operation['responses'];
  if (!isObject(responses) || !Object.keys(responses).some((status) => status.startsWith('2')))
    complain(where, 'no success');
  for (const [status, response] of Object.entries(isObject(responses) ? responses : {})) {
    const known = isObject(response) && ('description' in response || '$ref' in response);
    if (!known || !/^([1-5](\d\d|XX)|default)$/.test(status)) complain(where, `response ${status}`);
  }
};
