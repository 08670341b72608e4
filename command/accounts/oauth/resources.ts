/** The REST API, and MCP with its versions. A token for the origin is good for both (RFC 8707). */
const surfaces = new Map([
  ['', ''],
  ['/mcp', '/mcp'],
  ['/mcp/v3', '/mcp'],
  ['/adcp/mcp', '/mcp'],
  ['/api/v2/buyer', '/api/v2/buyer'],
]);

/** With or without a slash at the end. Undefined for a resource that is not ours. */
export const canonicalResource = (baseUrl: string, resource: string): string | undefined => {
  if (!resource.startsWith(baseUrl)) return undefined;
  const surface = surfaces.get(resource.slice(baseUrl.length).replace(/\/$/, ''));
  return surface === undefined ? undefined : `${baseUrl}${surface}`;
};
