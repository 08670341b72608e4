import { pino } from 'pino';
import { readConfig } from '../../app/config.ts';
import { startService } from '../../app/service.ts';

interface WithExample {
  example?: unknown;
}
interface Operation {
  readonly parameters: readonly WithExample[];
  readonly requestBody?: { readonly content: Readonly<Record<string, WithExample>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, WithExample>> }>>;
}

/** Types do not depend on examples. */
const removeExamples = ({ parameters, requestBody, responses }: Operation): void => {
  const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
  const bodies = contents.flatMap((content) => Object.values(content ?? {}));
  for (const one of [...parameters, ...bodies]) delete one.example;
};

/** Reads the document from a service whose database cannot be reached: only the route definitions are needed. Without examples. */
export const readOpenApi = async (): Promise<unknown> => {
  const config = readConfig({ DATABASE_URL: 'postgres://127.0.0.1:1/none', PORT: '0' });
  const service = await startService(config, pino({ level: 'silent' }));
  try {
    const answer = await fetch(`${service.baseUrl}/openapi.json`);
    // The port is another each time.
    const text = (await answer.text()).replaceAll(service.baseUrl, 'http://127.0.0.1:3000');
    const document = JSON.parse(text) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    };
    Object.values(document.paths)
      .flatMap(Object.values<Operation>)
      .forEach(removeExamples);
    return document;
  } finally {
    await service.stop();
  }
};
