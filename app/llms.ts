/** `/llms.txt` (https://llmstxt.org): where a model finds what. @param baseUrl without a slash at its end */
export const llms = (baseUrl: string): string => `# Buyer Exchange

> The buyer side of an advertising exchange: advertisers, campaigns, creatives, assets, audiences, catalogs, event sources,
> conversion events, syndication to AdCP agents, with the whole history of every change.

- [How to use it](${baseUrl}/skill.md): authentication, idempotency, errors, the main calls in order
- [Tools](${baseUrl}/mcp/v3): the Model Context Protocol over streamable HTTP, with an API key or OAuth
- [AdCP](${baseUrl}/guides/adcp-agent.md): the connected sellers as one AdCP agent, at ${baseUrl}/adcp/mcp
- [API](${baseUrl}/openapi.yaml): every endpoint with its fields and bounds, OpenAPI 3.1

## Optional

- [The same as JSON](${baseUrl}/openapi.json)
- [Authorization server](${baseUrl}/.well-known/oauth-authorization-server): OAuth 2.1 metadata
`;
